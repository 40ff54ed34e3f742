"""Round results as bytes, against protobuf's own encoding of messages that are built field by field."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.model import ClaimAllocation
from firmament.core.results import (
    Delta,
    DeltaKind,
    GangPhase,
    GangState,
    QueueState,
    QuotaUse,
    RoundResult,
    RoundStats,
    Unscheduled,
)
from firmament.wire.rounds import encode_round, round_to_proto
from protos.firmament.v1 import scheduler_pb2 as pb

# Lengths around the borders of what one and two bytes can say, and of what is joined by hand.
LENGTHS = (1, 36, 125, 126, 127, 128, 129, 253, 254, 255, 256, 300)

long_names = st.sampled_from(LENGTHS).map(lambda length: "x" * length)
names = st.one_of(
    st.text(st.characters(codec="ascii"), min_size=0, max_size=12),
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.from_regex(r"node-[0-9]{1,5}", fullmatch=True),
    long_names,
)
plain = st.builds(Delta, st.just(DeltaKind.PLACE), names, names)
lengths = st.integers(1, 260)
even = st.tuples(st.integers(1, 10), lengths, lengths).map(
    lambda sizes: [
        Delta(DeltaKind.PLACE, str(number).rjust(sizes[1], "u"), str(number).rjust(sizes[2], "m"))
        for number in range(sizes[0])
    ]
)
deltas = st.builds(
    Delta,
    st.sampled_from(DeltaKind),
    names,
    names,
    from_machine=names,
    depends_on=st.lists(names, max_size=2).map(tuple),
    beyond_budget=st.booleans(),
    withdrawn=st.booleans(),
    allocations=st.lists(st.builds(ClaimAllocation, names, names, names), max_size=2).map(tuple),
)
results = st.builds(
    RoundResult,
    round=st.integers(0, 2**64 - 1),
    deltas=st.one_of(
        even, st.lists(plain, max_size=12), st.lists(st.one_of(plain, plain, deltas), max_size=12)
    ).map(tuple),
    unscheduled=st.lists(
        st.builds(
            Unscheduled,
            st.lists(names, max_size=3).map(tuple),
            names,
            st.lists(st.tuples(names, st.integers(0, 9)), max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    stats=st.builds(
        RoundStats, machines=st.integers(0, 2**32 - 1), cost=st.integers(-5, 5), gap=st.floats(0, 1)
    ),
    gangs=st.lists(
        st.builds(
            GangState, names, st.sampled_from(GangPhase), names, *(st.integers(0, 300) for _ in range(3))
        ),
        max_size=2,
    ).map(tuple),
    queues=st.lists(
        st.builds(
            QueueState,
            names,
            st.lists(
                st.builds(QuotaUse, names, names, *(st.integers(-300, 300) for _ in range(3))), max_size=2
            ).map(tuple),
            st.integers(0, 300),
            st.integers(0, 300),
            names,
        ),
        max_size=2,
    ).map(tuple),
)


def as_message(result: RoundResult) -> pb.RoundResult:
    """The slow, obvious way."""
    return pb.RoundResult(
        round=result.round,
        deltas=[
            pb.Delta(
                kind=pb.Delta.Kind.Value(delta.kind.value),
                task=delta.uid,
                machine=delta.machine,
                from_machine=delta.from_machine,
                depends_on=delta.depends_on,
                beyond_budget=delta.beyond_budget,
                withdrawn=delta.withdrawn,
                allocations=[
                    pb.ClaimAllocation(name=name, claim=claim, allocation=allocation)
                    for name, claim, allocation in delta.allocations
                ],
            )
            for delta in result.deltas
        ],
        unscheduled=[
            pb.UnscheduledTasks(
                tasks=group.uids,
                message=group.message,
                reasons=[pb.ReasonCount(reason=reason, machines=count) for reason, count in group.reasons],
            )
            for group in result.unscheduled
        ],
        stats=pb.RoundStats(**asdict(result.stats)),
        gangs=[
            pb.GangState(
                job=gang.job,
                state=pb.GangState.State.Value(gang.phase.value),
                message=gang.message,
                members=gang.members,
                running=gang.running,
                needed=gang.needed,
            )
            for gang in result.gangs
        ],
        queues=[
            pb.QueueState(
                name=queue.name,
                uses=[pb.QuotaUse(**use._asdict()) for use in queue.uses],
                waiting=queue.waiting,
                admitted=queue.admitted,
                message=queue.message,
            )
            for queue in result.queues
        ],
    )


@given(results)
def test_bytes_are_those_of_protobuf(result):
    encoded, expected = encode_round(result), as_message(result)
    assert encoded.body == expected.SerializeToString()
    assert encoded.message() == pb.ServerMessage(round=expected).SerializeToString()
    assert encoded.deltas == len(result.deltas)
    assert round_to_proto(result) == expected


@pytest.mark.parametrize("machine", LENGTHS)
@pytest.mark.parametrize("uid", LENGTHS)
def test_lengths(uid, machine):
    result = RoundResult(round=1, deltas=(Delta(DeltaKind.PLACE, "u" * uid, "m" * machine),) * 2)
    assert encode_round(result).body == as_message(result).SerializeToString()


def test_many_placements():
    """Longer than one and two bytes can say, in all."""
    many = tuple(Delta(DeltaKind.PLACE, f"task-{number}", f"node-{number % 997}") for number in range(20_001))
    result = RoundResult(round=300, deltas=many)
    encoded, expected = encode_round(result), as_message(result)
    assert encoded.body == expected.SerializeToString()
    assert encoded.message() == pb.ServerMessage(round=expected).SerializeToString()
