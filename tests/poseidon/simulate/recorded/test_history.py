"""The history in a recording: when machines and tasks came, where tasks ran, and when they went."""

from __future__ import annotations

import pytest

from poseidon.simulate.recorded.history import RecordedHistory, read_history
from protos.firmament.v1 import scheduler_pb2 as pb


def machine(name: str, cpu: int = 4) -> pb.Event:
    return pb.Event(machine=pb.Machine(name=name, allocatable=[pb.Quantity(resource="cpu", amount=cpu)]))


CLASS = pb.Event(task_class=pb.TaskClass(id=1, requests=[pb.Quantity(resource="cpu", amount=1)]))


def tasks(*uids: str, priority: int = 0) -> pb.Event:
    created = [0.0] * len(uids)
    return pb.Event(
        tasks=pb.TaskBatch(task_class=1, priority=priority, uids=uids, names=uids, created=created)
    )


class Recording:
    """Entries of a recording, which begins at 100 s since the epoch."""

    def __init__(self) -> None:
        self.entries = [pb.Recorded(at=100.0, stream=pb.RecordedStream(cluster="prod"))]

    def snapshot(self, at: float, *events: pb.Event) -> None:
        self.send(at, snapshot_begin=pb.SnapshotBegin())
        self.tell(at, *events)
        self.send(at, snapshot_end=pb.SnapshotEnd())

    def tell(self, at: float, *events: pb.Event, reports: tuple[pb.BindingReport, ...] = ()) -> None:
        self.send(at, events=pb.EventBatch(events=events, reports=reports))

    def send(self, at: float, **body: object) -> None:
        self.entries.append(pb.Recorded(at=100.0 + at, sent=pb.ClientMessage(**body)))  # type: ignore[arg-type]

    def round(self, at: float, *deltas: pb.Delta) -> None:
        self.entries.append(pb.Recorded(at=100.0 + at, round=pb.RoundResult(deltas=deltas)))

    def read(self) -> RecordedHistory:
        return read_history(self.entries)


def place(uid: str, node: str) -> pb.Delta:
    return pb.Delta(kind=pb.Delta.PLACE, task=uid, machine=node)


def test_a_recording_without_a_whole_snapshot_says_so():
    recording = Recording()
    recording.send(0.0, snapshot_begin=pb.SnapshotBegin())
    recording.tell(0.0, machine("n1"))
    with pytest.raises(ValueError, match="has no whole snapshot of the cluster; record for longer"):
        recording.read()


def test_times_begin_with_the_first_snapshot():
    recording = Recording()
    recording.snapshot(5.0, machine("n1"), CLASS, tasks("a"))
    recording.tell(8.0, tasks("b", priority=7))
    recording.round(9.0, place("a", "n1"))
    recording.tell(12.0, pb.Event(task_removed="a"))
    recording.tell(13.0, machine("n2"), pb.Event(machine_removed="n1"))
    found = recording.read()
    assert (found.begin, found.horizon, found.configuration.cluster) == (105.0, 8.0, "prod")
    a, b = found.tasks["a"], found.tasks["b"]
    assert (a.arrival, a.began, a.machine, a.ended, a.foreign) == (0.0, 4.0, "n1", 7.0, False)
    assert (b.arrival, b.began, b.machine, b.ended) == (3.0, None, "", None)
    assert [found.kinds[each.kind].priority for each in (a, b)] == [0, 7]
    facts = [(at, event.machine.name or event.machine_removed) for at, event in found.script]
    assert facts == [(0.0, "n1"), (8.0, "n2"), (8.0, "n1")]


def test_a_placement_that_was_not_bound_did_not_begin():
    recording = Recording()
    recording.snapshot(0.0, machine("n1"), CLASS, tasks("a", "b"))
    recording.round(1.0, place("a", "n1"), place("b", "n1"))
    refused = pb.BindingReport(task="a", machine="n1", bound=False)
    others = (
        pb.BindingReport(task="b", machine="n2", bound=False),
        pb.BindingReport(task="b", machine="n1", bound=True),
    )
    recording.tell(2.0, reports=(refused, *others))
    found = recording.read().tasks
    assert (found["a"].began, found["a"].machine) == (None, "")
    assert (found["b"].began, found["b"].machine) == (1.0, "n1")


def test_evictions_that_were_withdrawn_do_not_count():
    recording = Recording()
    recording.snapshot(0.0, machine("n1"), CLASS, tasks("a"))
    recording.round(1.0, pb.Delta(kind=pb.Delta.PREEMPT, task="a"))
    recording.round(2.0, pb.Delta(kind=pb.Delta.PREEMPT, task="a", withdrawn=True))
    assert recording.read().preempted == 1


def test_of_another_snapshot_only_what_differs_is_new():
    recording = Recording()
    recording.snapshot(0.0, machine("n1"), machine("n2"), machine("n3"), CLASS, tasks("a", "b"))
    recording.snapshot(10.0, machine("n1"), machine("n3", cpu=8), CLASS, tasks("a"))
    found = recording.read()
    later = [(event.machine.name or event.machine_removed, at) for at, event in found.script if at]
    assert later == [("n2", 10.0), ("n3", 10.0)]
    assert (found.tasks["a"].arrival, found.tasks["a"].ended) == (0.0, None)
    assert found.tasks["b"].ended == 10.0


def test_a_task_that_somebody_else_placed_is_foreign_unless_it_was_there_at_first():
    def bound(uid: str) -> pb.Event:
        return pb.Event(bound=pb.BoundTasks(machine="n1", task_class=1, uids=[uid], names=[uid]))

    recording = Recording()
    recording.snapshot(0.0, machine("n1"), CLASS, bound("first"))
    recording.tell(3.0, bound("theirs"))
    found = recording.read().tasks
    assert [(found[uid].began, found[uid].foreign) for uid in ("first", "theirs")] == [
        (0.0, False),
        (3.0, True),
    ]
