"""A cluster described by events: a cluster that is made of them is described by the same events."""

from __future__ import annotations

import numpy as np

from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    Event,
    JobDefined,
    MachineRemoved,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.intake.cluster_events import ClusterEvents, list_events
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.record_kinds import BUDGET_RECORD, DEVICE_SLICE_RECORD
from firmament.core.state.cluster import Cluster
from firmament.core.state.transitions import assume
from tests.support.core import machine, task_class

SMALL, LARGE = task_class(1), task_class(2)


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    apply_events(made, events, 5.0)
    return made


def listed(*events: Event) -> ClusterEvents:
    return list_events(cluster(*events))


def test_nothing_is_described_by_nothing():
    assert listed() == ([], [], [], [], [], [])


def test_machines_classes_gangs_and_slices():
    single, gang = Job("single", min_members=1), Job("gang", min_members=2)
    a, b = machine("a"), machine("b", cordoned=True)
    found = listed(
        b, a, ClassDefined(7, LARGE), ClassDefined(3, SMALL), JobDefined(single), JobDefined(gang),
        RecordUpserted(DEVICE_SLICE_RECORD, "s", b"{}"), RecordUpserted(BUDGET_RECORD, "x", b"{}"),
    )  # fmt: skip
    assert found.machines == [b, a]
    assert sorted(found.classes, key=lambda each: each.id) == [
        ClassDefined(3, SMALL),
        ClassDefined(7, LARGE),
    ]
    assert found.jobs == [JobDefined(gang)]
    assert found.slices == [RecordUpserted(DEVICE_SLICE_RECORD, "s", b"{}")]
    assert (found.placed, found.waiting) == ([], [])


BOUND = TasksBound(
    "b", 7, ("t",), ("ns/t",), 4, "j", (1.0,), (2.0,), (3.0,), group_priority=9, spread_group="g"
)


def test_tasks_on_machines_keep_all_that_is_known_of_them():
    found = listed(machine("a"), machine("b"), ClassDefined(7, LARGE), BOUND)
    assert found.placed == [BOUND]
    assert found.waiting == []
    plain = listed(machine("b"), ClassDefined(7, LARGE), TasksBound("b", 7, ("u",), assigned=(1.0,)))
    assert plain.placed[0].group_priority is None
    assert plain.placed[0].spread_group == ""


def test_they_come_one_by_one_in_order_of_arrival_with_those_that_are_assumed():
    made = cluster(
        machine("a"),
        machine("b"),
        ClassDefined(1, SMALL),
        TasksSubmitted(1, ("late", "early")),
        TasksBound("a", 1, ("first", "second")),
    )
    row = made.tasks.row_of
    assume(made, np.array([row["early"]]), np.array([1]))
    assume(made, np.array([row["late"]]), np.array([0]))
    found = list_events(made)
    assert [(each.uids, each.machine) for each in found.placed] == [
        (("first",), "a"), (("second",), "a"), (("early",), "b"), (("late",), "a"),
    ]  # fmt: skip
    assert found.waiting == []


def test_tasks_on_machines_that_are_not_known_are_left_out():
    found = listed(machine("b"), ClassDefined(7, LARGE), BOUND, MachineRemoved("b"))
    assert (found.machines, found.placed) == ([], [])


def test_alike_tasks_wait_in_one_event_and_others_in_their_own():
    given = [
        TasksSubmitted(1, ("a", "b"), job="j", priority=2, names=("x", "y"), created=(7.0, 8.0)),
        TasksSubmitted(2, ("c",), job="j", priority=2),
        TasksSubmitted(1, ("d",), job="k", priority=2),
        TasksSubmitted(1, ("e",), job="j", priority=3),
        TasksSubmitted(1, ("f",), job="j", priority=2, group_priority=5),
        TasksSubmitted(1, ("g",), job="j", priority=2, spread_group="s"),
        TasksSubmitted(1, ("h",), job="j", priority=2, names=("z",), created=(9.0,)),
    ]
    found = listed(ClassDefined(1, SMALL), ClassDefined(2, LARGE), *given)
    assert [each.uids for each in found.waiting] == [
        ("a", "b", "h"), ("c",), ("d",), ("e",), ("f",), ("g",),
    ]  # fmt: skip
    first = found.waiting[0]
    assert (first.names, first.created) == (("x", "y", "z"), (7.0, 8.0, 9.0))
    assert (first.task_class, first.job, first.priority, first.group_priority) == (1, "j", 2, None)
    assert [each.task_class for each in found.waiting] == [1, 2, 1, 1, 1, 1]
    assert found.waiting[4].group_priority == 5
    assert [each.spread_group for each in found.waiting] == ["", "", "", "", "", "s"]


def test_classes_without_a_number_get_one_as_long_as_they_have_tasks():
    """The number 1 comes to mean something else while tasks of its former class are there."""
    found = listed(
        ClassDefined(1, SMALL),
        TasksSubmitted(1, ("old",)),
        ClassRemoved(1),
        ClassDefined(1, LARGE),
        TasksSubmitted(1, ("new",)),
    )
    content = {each.id: each.task_class for each in found.classes}
    number = {each.uids: each.task_class for each in found.waiting}
    assert number["new",] == 1
    assert number["old",] >= 2**61
    assert content == {1: LARGE, number["old",]: SMALL}
    gone = listed(
        ClassDefined(1, SMALL),
        TasksSubmitted(1, ("old",)),
        ClassRemoved(1),
        ClassDefined(1, LARGE),
        TaskRemoved("old"),
    )
    assert gone.classes == [ClassDefined(1, LARGE)]


def test_a_cluster_made_of_them_is_described_by_the_same():
    made = cluster(
        machine("a"), machine("b"), ClassDefined(7, LARGE), ClassDefined(1, SMALL),
        JobDefined(Job("j", min_members=2)), BOUND, TasksBound("a", 1, ("u", "v")),
        TasksSubmitted(1, ("w", "x"), job="j"), TasksSubmitted(7, ("y",), priority=3),
    )  # fmt: skip
    found = list_events(made)
    again = cluster(*(event for part in found for event in part))
    assert list_events(again) == found
