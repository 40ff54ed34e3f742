from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.interface import Bool, Int64, JointRows
from firmament.core.constraints.ruleset import ClassRules, RuleSet
from firmament.core.flow.heights_and_prices import NO_HEIGHTS
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.cost import placement_cost
from firmament.core.search.moves.exchange import exchange_sizes
from firmament.core.tree_solver.groups import GroupTerms, TreeGroup
from firmament.core.tree_solver.solver import ExactSolver
from firmament.core.tree_solver.tree import build_tree
from tests.firmament.core.placement.rules import apart, proposed, units
from tests.support.core import problem
from tests.support.heights import with_heights
from tests.support.rules import counter, ints
from tests.support.tuning import PLACING

SMALL, LARGE = 0, 1
UNEVEN = proposed((SMALL, 0), (LARGE, 1))
EVEN = [(SMALL, 1), (LARGE, 0)]


def given(start=(10, 12), **more: object) -> PlacementProblem:
    """A small and a large task, and two machines of which the second is used more."""
    fields = {"tasks": [1, 1], "requests": [[1], [2]], "free": [[2], [2]]} | more
    return with_heights(problem(**fields), start, (2, 4))  # type: ignore[arg-type]  # fields by name


def outcome(case: PlacementProblem, placed: Assignments = UNEVEN) -> list[tuple[int, int]]:
    return sorted(units(exchange_sizes(case, placed, tuning=PLACING.exchange, log=[])))


def test_the_large_task_goes_where_less_is_used():
    assert outcome(given()) == EVEN


def test_what_is_even_stays_as_it_is():
    assert exchange_sizes(given(start=(14, 12)), UNEVEN, tuning=PLACING.exchange, log=[]) is UNEVEN
    assert exchange_sizes(given(), Assignments.empty(), tuning=PLACING.exchange, log=[]).cls.tolist() == []


def test_nothing_moves_where_no_model_states_heights():
    assert (
        exchange_sizes(replace(given(), heights=NO_HEIGHTS), UNEVEN, tuning=PLACING.exchange, log=[])
        is UNEVEN
    )


def test_other_costs_count():
    # Exchanging saves 2 x (12 + 4 - 10 - 2 - 2) / 3 units.
    dearer = [[0, 0], [1, 0]]
    assert outcome(given(cost=dearer)) == EVEN
    assert outcome(given(cost=[[0, 0], [2, 0]])) == units(UNEVEN)


@pytest.mark.parametrize(("rates", "start"), [((1, 1), (10, 12)), ((1, 2), (10, 24)), ((2, 1), (10, 24))])
def test_what_the_network_charges_for_heights_is_no_other_cost(rates, start):
    outcomes = []
    for dearer in range(20):
        case = problem(tasks=[1, 1], requests=[[1], [2]], free=[[2], [2]], cost=[[0, 0], [dearer, 0]])
        case = with_heights(case, start, (2, 4), rates)
        placed = exchange_sizes(case, UNEVEN, tuning=PLACING.exchange, log=[])
        other = proposed(*EVEN) if placed is UNEVEN else UNEVEN
        assert placement_cost(case, placed) <= placement_cost(case, other) + 0.001
        outcomes.append(placed is UNEVEN)
    assert outcomes == sorted(outcomes)
    assert {*outcomes} == {False, True}, "not everywhere the same"


def test_room_is_kept():
    assert outcome(given(free=[[1], [2]])) == units(UNEVEN)
    # Another task of the round has taken what the exchange would need.
    crowded = given(tasks=[2, 1], free=[[2], [2]])
    assert outcome(crowded, proposed((SMALL, 0, 2), (LARGE, 1))) == [(SMALL, 0), (SMALL, 0), (LARGE, 1)]


def test_room_for_one_exchange_is_none_for_two():
    placed = proposed((SMALL, 0, 2), (LARGE, 1, 2))
    for free, moved in ((2, 0), (3, 1), (4, 2)):
        case = given(start=(10, 90), tasks=[2, 2], free=[[free], [99]])
        on_first = [cls for cls, machine in outcome(case, placed) if machine == 0]
        assert on_first == [SMALL] * (2 - moved) + [LARGE] * moved


def test_overcommitted_machines_may_take_smaller_tasks():
    assert outcome(given(free=[[3], [-1]])) == EVEN


def test_filters_are_kept():
    assert outcome(given(feasible=[[True, True], [False, True]])) == units(UNEVEN)
    assert outcome(given(feasible=[[True, False], [True, True]])) == units(UNEVEN)


def test_pinned_tasks_stay():
    assert outcome(given(pins={LARGE: [0, 1]})) == units(UNEVEN)


def test_joint_rows_of_single_machines_are_kept():
    for limit, expected in (([3, 3], EVEN), ([2, 3], units(UNEVEN))):
        rows = JointRows(row_of=ints(0, 1), amount=ints(1, 3), limit=ints(*limit), reason="full")
        assert outcome(given(joint=[rows])) == expected


def test_what_machines_share_does_not_change():
    for row_of, amount, expected in (
        ((0, 0, 1), (1, 3), EVEN),
        ((0, 1, 1), (1, 3), units(UNEVEN)),
        ((0, 1, 1), (2, 2), EVEN),
    ):
        rows = JointRows(row_of=ints(*row_of), amount=ints(*amount), limit=ints(99, 99), reason="full")
        three = given(start=(10, 12, 99), free=[[2], [2], [0]], joint=[rows])
        assert outcome(three) == expected


def test_tasks_that_rules_know_stay():
    for of in ({SMALL: apart(0)}, {LARGE: ClassRules(adds=(0,))}):
        assert outcome(replace(given(), rules=RuleSet([counter([0, 1])], of))) == units(UNEVEN)
    assert outcome(replace(given(), rules=RuleSet([counter([0, 1])]))) == EVEN


def test_tasks_of_groups_over_a_tree_stay():
    tree = build_tree(("node",), {("a",): 0, ("b",): 1})
    terms = GroupTerms(tree, ExactSolver(), {0: TreeGroup("g", 1, (), ints(0, 0), ints(LARGE))}, ints(0, 1))
    with_gang = replace(given(), gang=ints(-1, 0), gang_need=ints(1))
    assert outcome(replace(with_gang, topology=terms)) == units(UNEVEN)
    assert outcome(with_gang) == EVEN


def test_the_order_of_tasks_that_stay_is_kept():
    rows = [(2, 1), (SMALL, 0), (2, 0), (LARGE, 1)]
    case = with_heights(
        problem(tasks=[1, 1, 2], requests=[[1], [2], [0]], free=[[2], [2]], pins={2: [0, 1]}),
        (10, 12),
        (2, 4, 3),
    )
    assert units(exchange_sizes(case, proposed(*rows), tuning=PLACING.exchange, log=[]))[:2] == [
        (2, 1),
        (2, 0),
    ]


def test_many_machines_end_nearly_level():
    rng = np.random.default_rng(5)
    machines, sizes = 200, (20.0, 30.0, 40.0, 50.0)
    plain = problem(tasks=[300] * 4, requests=[[1]] * 4, free=[[99]] * machines)
    start = rng.uniform(0, 35, machines)
    case = with_heights(plain, start.tolist(), sizes)
    cls = rng.permutation(np.repeat(np.arange(4), 300))
    placed = Assignments(cls, np.arange(1200) % machines, np.ones(1200, dtype=np.int64))
    after = exchange_sizes(case, placed, tuning=PLACING.exchange, log=[])
    height = start + np.bincount(after.machine, weights=np.array(sizes)[after.cls] * after.count)
    before = start + np.bincount(placed.machine, weights=np.array(sizes)[placed.cls])
    assert height.std() < before.std() / 7
    # Sizes differ by 10: nearly all machines end within one such step.
    median, high = np.percentile(height, [50, 99])
    assert high - median < 10
    assert placement_cost(case, after) < placement_cost(case, placed)


class Books:
    """A ledger with so much room for the large task, and any for the small one."""

    reason = "books are full"

    def __init__(self, room: int) -> None:
        self._room = {SMALL: 2**60, LARGE: room}

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        return np.zeros(len(shapes), dtype=np.bool_)

    def count_room(self, shape: int) -> Int64:
        return np.full(2, self._room[shape])

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        return np.array([self._room[shape] for shape in shapes.tolist()], dtype=np.int64)

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        return counts

    def copy(self) -> Books:
        return self


def test_tasks_for_which_a_ledger_keeps_books_stay():
    assert outcome(replace(given(), ledgers=(Books(5),))) == units(UNEVEN)
    assert outcome(replace(given(), ledgers=(Books(2**60),))) == EVEN
