"""What an audit says of costs: the bound, the sentence, the rows of the table, and rounding for programs."""

from __future__ import annotations

from poseidon.offline.audit.costs import Bounded, Costs
from poseidon.offline.move_costs import PaidMove

FRONTIER = (Bounded(1, 10.004, 20.006), Bounded(3, 30.0, 400.5))


def test_the_last_point_of_the_frontier_bounds_the_cost():
    found = Costs(1500.0, 1234.4, (PaidMove("a/p", "n1", "n2", 265.6),), FRONTIER)
    assert found.lowest == 1099.5
    assert found.summary == (
        "The pods that may move cost 1,500 points; 1 move would bring that to 1,234. "
        "No plan of moves could bring it below 1,100."
    )
    assert found.rows() == [("a/p", "n1", "n2", "266")]


def test_that_no_move_pays_is_said():
    found = Costs(1500.0, 1500.0, (), FRONTIER)
    assert "cost 1,500 points; no move pays. No plan" in found.summary
    assert found.rows() == []


def test_a_table_shows_the_twenty_moves_that_save_most():
    moves = tuple(PaidMove(f"a/p{each}", "n1", "n2", 50.0 - each) for each in range(21))
    found = Costs(1500.0, 1000.0, moves, FRONTIER)
    assert [row[0] for row in found.rows()] == [f"a/p{each}" for each in range(20)]
    assert len(found.as_json()["moves"]) == 21
    assert "21 moves would bring" in found.summary


def test_amounts_are_rounded_to_hundredths_for_programs():
    found = Costs(100.006, 90.004, (PaidMove("a/p", "n1", "n2", 10.006),), FRONTIER[:1]).as_json()
    assert found == {
        "now": 100.01,
        "after": 90.0,
        "lowest": 80.0,
        "moves": [{"pod": "a/p", "from": "n1", "to": "n2", "saves": 10.01}],
        "frontier": [{"moves": 1, "saved": 10.0, "mostSaved": 20.01}],
    }
