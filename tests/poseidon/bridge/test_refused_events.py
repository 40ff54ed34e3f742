"""Which events a solver is spared that refused them before."""

from __future__ import annotations

import pytest

from poseidon.bridge.solver_stream.refused_events import RefusedEvents
from poseidon.kube.quarantine import Quarantine
from protos.firmament.v1 import scheduler_pb2 as pb

pytestmark = pytest.mark.usefixtures("may_set_aside")


def solver(refusals, events, takes):
    """Tell events until the solver takes them all; returns those, and how often it refused."""
    refused = 0
    while True:
        told = list(refusals.filter_refused(events))
        bad = next((each for each in told if not takes(each)), None)
        if bad is None:
            return told, refused
        refused += 1
        assert refused < 50, "it goes on for ever"
        refusals.note(bad, "is odd")


def tasks(*uids, created=None):
    times = created or [float(index) for index, _ in enumerate(uids)]
    return pb.Event(
        tasks=pb.TaskBatch(task_class=1, uids=uids, names=[f"ns/{uid}" for uid in uids], created=times)
    )


def test_of_many_tasks_only_the_one_at_fault_is_left_out():
    refusals = RefusedEvents(Quarantine())
    uids = [f"u{index}" for index in range(1000)]
    other = pb.Event(machine_removed="m")

    def takes(event):
        return "u77" not in event.tasks.uids and "u500" not in event.tasks.uids

    told, refused = solver(refusals, [other, tasks(*uids)], takes)
    assert told[0] == other
    found = [uid for each in told for uid in each.tasks.uids]
    assert sorted(found) == sorted({*uids} - {"u77", "u500"})
    assert refused <= 25, "as often as it takes to halve a thousand, twice"
    for each in told[1:]:
        assert [f"ns/{uid}" for uid in each.tasks.uids] == list(each.tasks.names)
        assert [float(uid[1:]) for uid in each.tasks.uids] == list(each.tasks.created)
    # From here on it is known, whoever else comes in the same event.
    told, refused = solver(refusals, [tasks(*uids, "new")], takes)
    assert refused == 0
    assert sum(len(each.tasks.uids) for each in told) == 999


def test_what_changes_is_told_again():
    refusals = RefusedEvents(Quarantine())
    refusals.note(tasks("a", created=[1.0]), "is odd")
    assert [*refusals.filter_refused([tasks("a", created=[1.0])])] == []
    assert [*refusals.filter_refused([tasks("a", created=[2.0])])] == [tasks("a", created=[2.0])]
    record = pb.Event(record=pb.Record(key=pb.RecordKey(kind="k", name="n"), payload=b"1"))
    refusals.note(record, "is odd")
    assert [*refusals.filter_refused([record])] == []
    record.record.payload = b"2"
    assert [*refusals.filter_refused([record])] == [record]


def test_of_a_class_its_requests_are_told_as_long_as_they_can_be():
    refusals = RefusedEvents(Quarantine())
    amounts = [pb.Quantity(resource="cpu", amount=5)]
    event = pb.Event(task_class=pb.TaskClass(id=3, requests=amounts, labels={"a": "b"}))

    def no_labels(found):
        return not found.task_class.labels

    (told,), _ = solver(refusals, [event], no_labels)
    assert told.task_class.invalid.startswith("the solver does not take the pod: is odd")
    assert list(told.task_class.requests) == amounts
    (told,), _ = solver(refusals, [event], lambda found: not found.task_class.requests)
    assert told.task_class.id == 3


def test_where_pods_run_is_halved_too():
    refusals = RefusedEvents(Quarantine())
    event = pb.Event(
        bound=pb.BoundTasks(
            machine="m",
            task_class=1,
            uids=["a", "b", "c"],
            names=["n/a", "n/b", "n/c"],
            assigned=[1.0, 2.0, 3.0],
        )
    )
    told, _ = solver(refusals, [event], lambda found: "b" not in found.bound.uids)
    assert {
        uid: time for each in told for uid, time in zip(each.bound.uids, each.bound.assigned, strict=True)
    } == {
        "a": 1.0,
        "c": 3.0,
    }
