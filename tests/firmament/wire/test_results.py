from __future__ import annotations

from dataclasses import fields

import pytest

from firmament.core.reasons import Cause, Reason, lack_of
from firmament.core.results import (
    Delta,
    DeltaKind,
    Explanation,
    MachineState,
    MachineVerdict,
    ModelVerdict,
    RoundResult,
    RoundStats,
    TaskState,
    Unscheduled,
)
from firmament.wire.rounds import (
    explanation_to_proto,
    machine_state_to_proto,
    round_to_proto,
    task_state_to_proto,
)
from protos.firmament.v1 import scheduler_pb2 as pb


def test_a_round():
    stats = RoundStats(
        machines=4, tasks=3, arcs=12, certified=False, gap=0.5, cost=-7, placed=2, time_limited=True
    )
    result = RoundResult(
        round=9,
        deltas=(
            Delta(DeltaKind.PLACE, "a", "m1"),
            Delta(DeltaKind.PLACE, "b", "m1", depends_on=("a",)),
            Delta(DeltaKind.PREEMPT, "c", "m2"),
            Delta(DeltaKind.MIGRATE, "d", "m1", from_machine="m2"),
        ),
        unscheduled=(Unscheduled(("e", "f"), "0/4 nodes", (("Insufficient cpu", 4),)),),
        stats=stats,
    )
    message = round_to_proto(result)
    assert message == pb.RoundResult(
        round=9,
        deltas=[
            pb.Delta(kind=pb.Delta.PLACE, task="a", machine="m1"),
            pb.Delta(kind=pb.Delta.PLACE, task="b", machine="m1", depends_on=["a"]),
            pb.Delta(kind=pb.Delta.PREEMPT, task="c", machine="m2"),
            pb.Delta(kind=pb.Delta.MIGRATE, task="d", machine="m1", from_machine="m2"),
        ],
        unscheduled=[
            pb.UnscheduledTasks(
                tasks=["e", "f"],
                message="0/4 nodes",
                reasons=[pb.ReasonCount(reason="Insufficient cpu", machines=4)],
            )
        ],
        stats=pb.RoundStats(
            machines=4, tasks=3, arcs=12, certified=False, gap=0.5, cost=-7, placed=2, time_limited=True
        ),
    )


def test_every_figure_of_a_round_has_its_field():
    assert {field.name for field in fields(RoundStats)} == set(pb.RoundStats.DESCRIPTOR.fields_by_name)


@pytest.mark.parametrize("kind", list(DeltaKind))
def test_every_kind_of_delta_has_its_value(kind):
    message = round_to_proto(RoundResult(round=1, deltas=(Delta(kind, "a", "m"),)))
    assert pb.Delta.Kind.Name(message.deltas[0].kind) == kind.value


def test_an_explanation():
    verdicts = (
        ModelVerdict("cpu_mem", True, 2500.0, 10.0, 90.0),
        ModelVerdict("kubernetes", True, 0.0, None, 0.0),
    )
    explanation = Explanation(
        uid="u",
        name="ns/n",
        state="PENDING",
        machine="",
        machines=(
            MachineVerdict("m1", True, (), 90.0, verdicts),
            MachineVerdict("m2", False, (lack_of("cpu"), lack_of("pods")), 0.0, ()),
            MachineVerdict("m3", False, (lack_of("cpu"), Cause(Reason.CORDONED)), 0.0, ()),
        ),
    )
    message = explanation_to_proto(explanation)
    assert (message.task, message.name, message.state) == ("u", "ns/n", "PENDING")
    first, second, third = message.machines
    assert [model.HasField("score") for model in first.models] == [True, False]
    assert first.models[0].score == 10.0
    assert (second.feasible, list(second.reasons)) == (False, ["Insufficient cpu", "Too many pods"])
    assert [each.lacks_only_room for each in message.machines] == [False, True, False]
    assert list(third.reasons)[-1] == "node(s) were unschedulable"


def test_states():
    assert task_state_to_proto(TaskState("u", "n", "BOUND", "m", 5, "")) == pb.TaskState(
        uid="u", name="n", state="BOUND", machine="m", priority=5
    )
    state = MachineState("m", {"pods": 2, "cpu": 1}, {"cpu": -1}, 3)
    assert machine_state_to_proto(state) == pb.MachineState(
        name="m",
        allocatable=[pb.Quantity(resource="cpu", amount=1), pb.Quantity(resource="pods", amount=2)],
        free=[pb.Quantity(resource="cpu", amount=-1)],
        tasks=3,
    )
