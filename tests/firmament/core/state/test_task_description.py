"""A task described anew: rank, name, job, group and times, and when it is tried again for that."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.state.cluster import Cluster
from firmament.core.state.task_description import (
    describe,
    describe_bound,
    enlist,
    group_new,
    rank,
    regroup,
    rename,
    store_stated_times,
    store_times,
)
from firmament.core.state.tasks import UNGROUPED
from tests.support.core import machine, task_class


def cluster(*events: Event) -> Cluster:
    """The task t of class 1 and job j waits, refused by nobody."""
    made = Cluster()
    given: list[Event] = [
        machine("m"),
        ClassDefined(1, task_class(1)),
        ClassDefined(2, task_class(2)),
        TasksSubmitted(1, ("t",), job="j", priority=3, names=("n",), spread_group="g"),
    ]
    apply_events(made, [*given, *events], 5.0)
    return made


def group_of(made: Cluster, task: int = 0) -> str:
    return made.spread_groups.by_code[made.tasks.spread[task]]


SAME = {"job": "j", "priority": 3, "names": ("n",), "spread_group": "g"}


@pytest.mark.parametrize(
    ("cls", "change", "again"),
    [
        (1, {}, False),
        (2, {}, True),
        (1, {"priority": 4}, True),
        (1, {"group_priority": 3}, True),
        (1, {"names": ("other",)}, False),
        (1, {"spread_group": "h"}, False),
    ],
)
def test_a_task_is_tried_again_if_class_or_rank_differ(cls: int, change: dict[str, object], again: bool):
    made = cluster()
    made.tasks.unschedulable[0] = True
    event = TasksSubmitted(cls, ("t",), **{**SAME, **change})  # type: ignore[arg-type]  # fields by name
    describe(made, 0, made.classes.row(cls), event, 0)
    assert bool(made.tasks.unschedulable[0]) is not again
    assert made.tasks.cls[0] == made.classes.row(cls)
    assert made.tasks.name[0] == event.names[0]
    assert group_of(made) == event.spread_group


def test_one_that_was_refused_for_good_is_tried_again_in_any_case():
    made = cluster()
    made.tasks.unschedulable[0] = made.tasks.refused[0] = True
    describe(made, 0, int(made.tasks.cls[0]), TasksSubmitted(1, ("t",), **SAME), 0)  # type: ignore[arg-type]
    assert not made.tasks.unschedulable[0]
    assert not made.tasks.refused[0]


def test_ranks():
    made = cluster()
    assert not rank(made, 0, TasksSubmitted(1, ("t",), priority=3))
    assert rank(made, 0, TasksSubmitted(1, ("t",), priority=4))
    assert (made.tasks.priority[0], made.tasks.group_priority[0]) == (4, UNGROUPED)
    assert rank(made, 0, TasksSubmitted(1, ("t",), priority=4, group_priority=0))
    assert made.tasks.group_priority[0] == 0
    assert not rank(made, 0, TasksSubmitted(1, ("t",), priority=4, group_priority=0))


def test_names_are_uids_where_there_are_none():
    made = cluster()
    rename(made, 0, TasksSubmitted(1, ("a", "b"), names=("x", "y")), 1)
    assert made.tasks.name[0] == "y"
    rename(made, 0, TasksSubmitted(1, ("a", "b")), 1)
    assert made.tasks.name[0] == "b"


def test_a_task_changes_its_job():
    made = cluster(JobDefined(Job("k", min_members=2)), TasksSubmitted(1, ("other",), job="k"))
    made.tasks.revised[:] = False
    made.tasks.unschedulable[0] = made.tasks.unschedulable[1] = True
    enlist(made, 0, "j")
    assert (bool(made.tasks.unschedulable[0]), bool(made.tasks.revised[0])) == (True, False)
    enlist(made, 0, "k")
    assert made.tasks.job[0] == "k"
    assert sorted(made.jobs.members("k")) == [0, 1]
    assert made.jobs.members("j") == []
    assert not made.tasks.unschedulable[0]
    assert not made.tasks.unschedulable[1], "a gang that waits for members is tried again"
    assert made.tasks.revised[0]


def test_one_that_is_refused_stays_so_in_its_new_job():
    made = cluster()
    made.tasks.unschedulable[0] = made.tasks.refused[0] = True
    enlist(made, 0, "k")
    assert made.tasks.unschedulable[0]


def test_groups_are_left_and_joined():
    made = cluster()
    number = int(made.tasks.spread[0])
    regroup(made, 0, "h")
    assert group_of(made) == "h"
    regroup(made, 0, "")
    assert (group_of(made), int(made.tasks.spread[0])) == ("", 0)
    regroup(made, 0, "new")
    assert group_of(made) == "new"
    assert number > 0


def test_new_tasks_join_groups_in_their_order():
    made = cluster(TasksSubmitted(1, ("a", "b", "c")))
    group_new(made, np.array([3, 1, 2]), ["x", ""], [2, 1])
    assert [group_of(made, row) for row in (1, 2, 3)] == ["x", "", "x"]


TIMES = TasksBound("m", 1, ("a", "b"), assigned=(0.0, 2.0), initialized=(3.0, 4.0), created=(5.0, 6.0))


@pytest.mark.parametrize(("index", "assigned", "dated"), [(0, 9.0, False), (1, 2.0, True)])
def test_times_are_kept_as_far_as_they_are_known(index: int, assigned: float, dated: bool):
    made = cluster()
    made.tasks.assigned[0], made.tasks.dated[0] = 9.0, False
    store_stated_times(made, 0, TIMES, index)
    assert (made.tasks.assigned[0], bool(made.tasks.dated[0])) == (assigned, dated)
    assert (made.tasks.initialized[0], made.tasks.created[0]) == (3.0 + index, 5.0 + index)
    before = made.tasks.initialized[0], made.tasks.created[0]
    store_stated_times(made, 0, TasksBound("m", 1, ("a", "b")), index)
    assert (made.tasks.initialized[0], made.tasks.created[0]) == before


def test_times_of_many_tasks():
    made = cluster(TasksSubmitted(1, ("a", "b")))
    made.tasks.assigned[:3], made.tasks.dated[:3] = 9.0, False
    store_times(made, np.array([2, 0]), np.array([0.0, 7.0]), None)
    assert made.tasks.assigned[:3].tolist() == [7.0, 9.0, 9.0]
    assert made.tasks.dated[:3].tolist() == [True, False, False]
    store_times(made, np.array([1]), None, np.array([8.0]))
    assert (made.tasks.initialized[1], bool(made.tasks.dated[1])) == (8.0, False)


def test_a_bound_task_is_described_as_it_was_reported():
    event = TasksBound(
        "m", 1, ("b",), ("x",), 4, "k", (1.0,), (2.0,), (3.0,), group_priority=0, spread_group="s"
    )
    made = cluster(event)
    found = describe_bound(made, made.tasks.row_of["b"])
    assert (found.machine, found.task_class, found.uids, found.names) == ("m", 0, ("b",), ("x",))
    assert (found.priority, found.job, found.group_priority, found.spread_group) == (4, "k", 0, "s")
    assert (found.assigned, found.initialized, found.created) == ((1.0,), (2.0,), (3.0,))
    plain = cluster(TasksBound("m", 1, ("b",)))
    assert describe_bound(plain, plain.tasks.row_of["b"]).group_priority is None
