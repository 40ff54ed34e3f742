"""The pages beside the bridge's metrics: whether it is ready, and what was decided in a round."""

from __future__ import annotations

import json

from poseidon.bridge.round_history import RoundHistory
from protos.firmament.v1 import scheduler_pb2 as pb


def result(number: int, deltas: int = 1) -> pb.RoundResult:
    return pb.RoundResult(
        round=number,
        deltas=[pb.Delta(kind=pb.Delta.PLACE, task=f"p{each}", machine="n") for each in range(deltas)],
        stats=pb.RoundStats(placed=deltas, certified=True),
    )


def test_a_round_is_told_by_its_number():
    history = RoundHistory(lambda: 12.0)
    history.add(result(7))
    assert json.loads(history.page("7")) == {
        "round": 7,
        "at": 12.0,
        "stats": {"placed": 1, "certified": True},
        "deltas": 1,
        "first": [{"kind": "PLACE", "pod": "p0", "node": "n"}],
    }
    assert history.page("8") == ""
    assert history.page("seven") == ""


def test_only_the_last_rounds_and_their_first_deltas_are_kept():
    history = RoundHistory(lambda: 0.0)
    for number in range(100):
        history.add(result(number))
    assert [number for number in range(100) if history.page(str(number))] == list(range(36, 100))
    history.add(result(100, deltas=2000))
    found = json.loads(history.page("100"))
    assert (found["deltas"], len(found["first"])) == (2000, 500)


def test_a_kind_that_a_newer_solver_sends_is_told_too():
    history = RoundHistory(lambda: 0.0)
    history.add(pb.RoundResult(round=1, deltas=[pb.Delta(kind=99, task="p")]))  # type: ignore[arg-type]
    assert json.loads(history.page("1"))["first"][0]["kind"] == "UNKNOWN"
