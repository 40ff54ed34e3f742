"""Large rounds are carried out part by part, in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from poseidon.lifecycle.placements import parts_of
from protos.firmament.v1 import scheduler_pb2 as pb


def round_of(count: int, *others: pb.Delta) -> pb.RoundResult:
    placed = [pb.Delta(kind=pb.Delta.PLACE, task=f"t{index}", machine="m") for index in range(count)]
    return pb.RoundResult(
        round=7,
        deltas=[*placed, *others],
        unscheduled=[pb.UnscheduledTasks(tasks=["u"], message="no room")],
        gangs=[pb.GangState(job="j", state=pb.GangState.PLACED)],
        stats=pb.RoundStats(pending=3),
    )


@given(st.integers(0, 30), st.integers(1, 12))
def test_nothing_is_lost_or_told_twice(count: int, most: int) -> None:
    result = round_of(count)
    parts = list(parts_of(result, most))
    assert [delta for part in parts for delta in part.deltas] == list(result.deltas)
    assert all(len(part.deltas) <= most and part.round == 7 for part in parts)
    assert len(parts) == max(1, -(-count // most))
    *before, last = parts
    assert all(not part.unscheduled and not part.gangs for part in before)
    assert (list(last.unscheduled), list(last.gangs), last.stats) == (
        list(result.unscheduled),
        list(result.gangs),
        result.stats,
    )


def test_who_makes_way_for_whom_is_one_decision() -> None:
    result = round_of(9, pb.Delta(kind=pb.Delta.PREEMPT, task="v", machine="m"))
    assert list(parts_of(result, 3)) == [result]
