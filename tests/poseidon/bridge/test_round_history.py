"""The solver's last rounds, for people who ask: what is kept of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.bridge.round_history import RoundHistory
from protos.firmament.v1 import scheduler_pb2 as pb


def make_round(number: int, deltas: int = 1) -> pb.RoundResult:
    result = pb.RoundResult(round=number)
    for at in range(deltas):
        result.deltas.add(kind=pb.Delta.PLACE, task=f"t{at}", machine="m")
    return result


def read(history: RoundHistory, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(history.page(str(number)))
    return found


def test_a_round_is_shown_with_its_deltas():
    history = RoundHistory(lambda: 5.0)
    result = make_round(3)
    result.deltas.add(kind=pb.Delta.PREEMPT, task="u", machine="n")
    result.stats.tasks = 7
    history.add(result)
    assert read(history, 3) == {
        "round": 3,
        "at": 5.0,
        "stats": {"tasks": 7},
        "deltas": 2,
        "first": [
            {"kind": "PLACE", "pod": "t0", "node": "m"},
            {"kind": "PREEMPT", "pod": "u", "node": "n"},
        ],
    }
    assert history.page("4") == ""


def test_the_last_64_rounds_are_kept():
    history = RoundHistory(lambda: 0.0)
    for number in range(65):
        history.add(make_round(number))
    assert history.page("0") == ""
    assert [read(history, number)["round"] for number in (1, 64)] == [1, 64]


def test_of_a_long_round_the_first_deltas_are_kept():
    history = RoundHistory(lambda: 0.0)
    for number, deltas in ((1, 500), (2, 501)):
        history.add(make_round(number, deltas))
        found = read(history, number)
        assert (found["deltas"], len(found["first"])) == (deltas, 500)


def test_what_is_not_shown_is_not_kept():
    history = RoundHistory(lambda: 0.0)
    cases: tuple[dict[str, Any], ...] = (
        {"unscheduled": [pb.UnscheduledTasks(tasks=["t"])]},
        {"queues": [pb.QueueState(name="q")]},
    )
    for more in cases:
        result = pb.RoundResult(round=1, **more)
        result.stats.tasks = 1
        history.add(result)
        kept = history._rounds["1"].first
        assert not kept.unscheduled
        assert not kept.queues
        assert kept.stats.tasks == 1
    plain = make_round(2)
    history.add(plain)
    assert history._rounds["2"].first is plain, "a short one is not copied"


@pytest.mark.parametrize(("deltas", "shown"), [(500, 500), (501, 500)])
def test_a_long_round_is_shown_with_its_first_500_deltas(deltas, shown):
    history = RoundHistory(lambda: 5.0)
    result = make_round(3, deltas)
    result.stats.tasks = 7
    history.add(result)
    found = read(history, 3)
    assert (found["deltas"], len(found["first"]), found["stats"]) == (deltas, shown, {"tasks": 7})


def test_what_else_a_round_says_is_not_kept():
    history = RoundHistory(lambda: 5.0)
    result = make_round(3)
    result.unscheduled.add(tasks=["a"], message="no room")
    history.add(result)
    assert read(history, 3)["deltas"] == 1
    assert "\n  " in history.page("3")
