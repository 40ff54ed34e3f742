"""What the messages of a stream add up to, one message at a time."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.recording.stream_state import StreamState
from protos.firmament.v1 import scheduler_pb2 as pb


def sent(state: StreamState, *events: pb.Event, at: float = 50.0, reports: Any = ()) -> None:
    state.note_sent(pb.ClientMessage(events=pb.EventBatch(events=events, reports=reports)), at)


def waiting(*uids: str, number: int = 1, **more: Any) -> pb.Event:
    return pb.Event(tasks=pb.TaskBatch(task_class=number, uids=uids, **more))


def bound(machine: str, *uids: str, **more: Any) -> pb.Event:
    return pb.Event(bound=pb.BoundTasks(machine=machine, task_class=1, uids=uids, **more))


def bodies(state: StreamState) -> list[str]:
    return [str(event.WhichOneof("body")) for event in state.list_events()]


def place(state: StreamState, task: str, machine: str, at: float, kind: Any = pb.Delta.PLACE) -> None:
    result = pb.RoundResult(round=1)
    result.deltas.add(kind=kind, task=task, machine=machine)
    state.note_round(result, at)


def report(task: str, machine: str, *, ok: bool) -> pb.BindingReport:
    return pb.BindingReport(task=task, machine=machine, bound=ok)


THINGS = [
    pb.Event(machine=pb.Machine(name="m")),
    pb.Event(job=pb.Job(id="j")),
    pb.Event(task_class=pb.TaskClass(id=1)),
    waiting("a"),
    pb.Event(record=pb.Record(key=pb.RecordKey(kind="k", name="n"), payload=b"{}")),
    pb.Event(machine_sample=pb.MachineSample(machine="m")),
    pb.Event(task_sample=pb.TaskSample(task="a")),
]
REMOVALS = {
    "machine": pb.Event(machine_removed="m"),
    "job": pb.Event(job_removed="j"),
    "task_class": pb.Event(class_removed=1),
    "tasks": pb.Event(task_removed="a"),
    "record": pb.Event(record_removed=pb.RecordKey(kind="k", name="n")),
    "machine_sample": pb.Event(machine_sample_removed="m"),
}


def test_things_are_listed_in_the_order_in_which_a_solver_needs_them():
    state = StreamState()
    sent(state, *reversed(THINGS))
    assert bodies(state) == [str(each.WhichOneof("body")) for each in THINGS[:5]] + [
        "task_sample",
        "machine_sample",
    ]
    sent(state, *THINGS)
    assert len(bodies(state)) == len(THINGS), "each is there once"


@pytest.mark.parametrize("what", REMOVALS)
def test_what_is_removed_is_gone_and_the_rest_stays(what):
    state = StreamState()
    sent(state, *THINGS)
    sent(state, REMOVALS[what])
    gone = {what} | {"machine": {"machine_sample"}, "tasks": {"task_sample"}}.get(what, set())
    assert {*bodies(state)} == {str(each.WhichOneof("body")) for each in THINGS} - gone
    sent(state, REMOVALS[what])


def test_a_snapshot_begins_with_nothing():
    state = StreamState()
    sent(state, *THINGS)
    found = state.find_class(1)
    assert found is not None
    assert found.id == 1
    state.note_sent(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()), 1.0)
    assert bodies(state) == []
    assert state.find_class(1) is None
    state.note_sent(pb.ClientMessage(snapshot_end=pb.SnapshotEnd()), 1.0)


def test_a_task_is_placed_by_a_round_and_bound_or_waits_by_a_report():
    state = StreamState()
    sent(state, waiting("a", "b", names=["x/a", "x/b"], created=[1.0, 2.0]))
    place(state, "a", "m", 60.0)
    place(state, "b", "m", 61.0)
    place(state, "unknown", "m", 61.0)
    place(state, "a", "other", 70.0, pb.Delta.PREEMPT)
    assert (state.tasks["a"].machine, state.tasks["a"].placed, state.tasks["a"].assumed) == ("m", 60.0, True)
    sent(
        state,
        reports=[report("a", "m", ok=True), report("b", "elsewhere", ok=False), report("x", "m", ok=True)],
    )
    assert (state.tasks["a"].machine, state.tasks["a"].assumed) == ("m", False)
    assert (state.tasks["b"].machine, state.tasks["b"].assumed) == ("m", True)
    reports = pb.BindingReports(reports=[report("b", "m", ok=False)])
    state.note_sent(pb.ClientMessage(reports=reports), 80.0)
    assert (state.tasks["b"].machine, state.tasks["b"].placed, state.tasks["b"].assumed) == ("", 0.0, False)


def test_a_task_that_is_submitted_again_keeps_its_name_and_machine():
    state = StreamState()
    sent(state, waiting("a", names=["x/a"], created=[1.0]))
    place(state, "a", "m", 60.0)
    sent(state, waiting("a", number=2, names=["other"], created=[9.0]))
    task = state.tasks["a"]
    assert (task.kind.task_class, task.name, task.created, task.machine) == (2, "x/a", 1.0, "m")
    batch = pb.TaskBatch(task_class=3, uids=["a"])
    sent(state, pb.Event(tasks_updated=pb.TasksUpdated(batches=[batch])))
    assert state.tasks["a"].kind.task_class == 3
    sent(state, waiting("bare"))
    assert (state.tasks["bare"].name, state.tasks["bare"].created) == ("", 0.0)


@pytest.mark.parametrize(
    ("before", "machine", "assigned", "placed", "told"),
    [
        ("", "m", 0.0, 50.0, True),  # it waited, so the solver did not place it
        ("", "m", 7.0, 7.0, True),
        ("m", "m", 0.0, 60.0, False),
        ("m", "m", 7.0, 7.0, False),
        ("m", "n", 0.0, 50.0, False),
    ],
)
def test_a_bound_task_has_the_time_that_is_known(before, machine, assigned, placed, told):
    state = StreamState()
    sent(state, waiting("a", names=["x/a"]))
    if before:
        place(state, "a", before, 60.0)
    sent(state, bound(machine, "a", names=["y"], **({"assigned": [assigned]} if assigned else {})))
    task = state.tasks["a"]
    assert (task.machine, task.placed, task.reported, task.assumed, task.name) == (
        machine,
        placed,
        told,
        False,
        "x/a",
    )


def test_a_task_that_was_never_submitted_may_be_bound():
    state = StreamState()
    sent(state, bound("m", "a", "b", names=["x/a", "x/b"], created=[1.0, 2.0], assumed=True))
    task = state.tasks["b"]
    assert (task.name, task.created, task.assumed, task.reported) == ("x/b", 2.0, True, True)
    sent(state, bound("m", "b"))
    assert state.tasks["b"].reported


def test_tasks_are_listed_together_that_have_all_in_common():
    state = StreamState()
    sent(
        state,
        waiting("a", "b", job="j", priority=5, group_priority=0, spread_group="s", created=[1.0, 0.0]),
        waiting("c", job="j", priority=5, spread_group="s", names=["x/c"]),
        bound("m", "d", assigned=[7.0]),
        bound("m", "e", assumed=True),
        waiting("f"),
    )
    first, second, third, fourth, fifth = state.list_events()
    assert (list(first.tasks.uids), list(first.tasks.created), list(first.tasks.names)) == (
        ["a", "b"],
        [1.0, 0.0],
        [],
    )
    assert (first.tasks.job, first.tasks.priority, first.tasks.spread_group) == ("j", 5, "s")
    assert (first.tasks.HasField("group_priority"), second.tasks.HasField("group_priority")) == (True, False)
    assert (list(second.tasks.names), list(second.tasks.created)) == (["x/c"], [])
    assert (third.bound.machine, list(third.bound.assigned), third.bound.assumed) == ("m", [7.0], False)
    assert (list(fourth.bound.uids), fourth.bound.assumed) == (["e"], True)
    assert list(fifth.tasks.uids) == ["f"]
