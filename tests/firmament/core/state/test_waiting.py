"""What is noted of tasks while they wait, and how a driver's description of a task is stored."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.state import task_description, waiting
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED
from tests.support.core import machine, task_class
from tests.support.rules import ints


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    classes = [ClassDefined(1, task_class()), ClassDefined(2, task_class(200))]
    apply_events(made, [machine("m"), *classes, *events], 0.0)
    return made


THREE = TasksSubmitted(1, ("a", "b", "c"), job="j")


def flags(made: Cluster, name: str) -> list[bool]:
    return getattr(made.tasks, name)[: len(made.tasks.uid)].tolist()


def test_only_pending_tasks_become_unschedulable_and_are_owed_nothing_more():
    made = cluster(TasksBound("m", 1, ("r",)), THREE)
    made.tasks.owed[:] = True
    waiting.mark_unschedulable(made, ints(0, 1, 3))
    assert flags(made, "unschedulable") == [False, True, False, True]
    assert flags(made, "owed") == [True, False, True, False]


def test_who_is_held_back_is_still_owed_room():
    made = cluster(THREE)
    made.tasks.owed[:] = True
    waiting.hold_back(made, [0, 2])
    assert flags(made, "unschedulable") == [True, False, True]
    assert flags(made, "owed") == [True] * 3
    waiting.activate(made, ints(2))
    assert flags(made, "unschedulable") == [True, False, False]


def test_who_is_set_aside_is_refused_and_told_why():
    made = cluster(THREE)
    waiting.set_aside(made, 1, "no")
    assert (flags(made, "unschedulable"), flags(made, "refused")) == ([False, True, False],) * 2
    assert made.tasks.message == ["", "no", ""]
    waiting.readmit(made, ints(1))
    assert not any(flags(made, "unschedulable") + flags(made, "refused"))


def test_members_of_a_job_are_activated_unless_they_were_refused():
    made = cluster(THREE, TasksSubmitted(1, ("d",), job="k"), TasksSubmitted(1, ("e",)))
    waiting.hold_back(made, [0, 1, 2, 3, 4])
    waiting.set_aside(made, 1, "no")
    waiting.activate_members(made, "j")
    assert flags(made, "unschedulable") == [False, True, False, True, True]
    waiting.activate_members(made, "")
    assert flags(made, "unschedulable") == [False, True, False, True, True]


def test_a_task_that_changed_is_tried_again_and_open_rounds_do_not_apply_to_it():
    made = cluster(THREE)
    made.tasks.begin_round()
    waiting.set_aside(made, 0, "no")
    waiting.reconsider(made, 0)
    assert flags(made, "unschedulable") == flags(made, "refused") == [False] * 3
    assert flags(made, "revised") == [True, False, False]


def test_rounds_that_pass_over_tasks_are_counted():
    made = cluster(THREE)
    waiting.pass_over(made, ints(0, 1), anew=np.array([False, False]), now=5.0)
    waiting.pass_over(made, ints(0, 1), anew=np.array([False, True]), now=7.0)
    assert made.tasks.passed_over[:3].tolist() == [2, 1, 0]
    assert made.tasks.passed_at[:3].tolist() == [7.0, 7.0, 0.0]
    waiting.count_anew(made, 0)
    assert made.tasks.passed_over[:3].tolist() == [0, 1, 0]


def test_messages_and_rounds_that_left_tasks_out():
    made = cluster(THREE)
    waiting.set_message(made, [0, 2], "wait")
    assert made.tasks.message == ["wait", "", "wait"]
    waiting.note_put_off(made, ints(1, 2), 4)
    assert made.tasks.put_off[:3].tolist() == [0, 4, 4]


# --- descriptions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "tried"),
    [
        ({}, False),
        ({"priority": 1}, True),
        ({"group_priority": 0}, True),
        ({"task_class": 2}, True),
        ({"names": ("ns/other",)}, False),
        ({"spread_group": "s"}, False),
    ],
    ids=str,
)
def test_a_task_is_tried_again_if_its_description_makes_a_difference(change: dict[str, object], tried: bool):
    made = cluster(TasksSubmitted(1, ("a",)))
    waiting.hold_back(made, [0])
    given = {"task_class": 1, "uids": ("a",), **change}
    event = TasksSubmitted(**given)  # type: ignore[arg-type]  # fields by name
    task_description.describe(made, 0, made.classes.row(event.task_class), event, 0)
    assert flags(made, "unschedulable") == [not tried]
    assert made.tasks.cls[0] == made.classes.row(event.task_class)
    assert made.tasks.name == [event.names[0] if event.names else "a"]


def test_a_task_that_was_refused_for_good_is_tried_again_after_any_description():
    made = cluster(TasksSubmitted(1, ("a",)))
    waiting.set_aside(made, 0, "no")
    task_description.describe(made, 0, 0, TasksSubmitted(1, ("a",)), 0)
    assert flags(made, "refused") == flags(made, "unschedulable") == [False]


def test_ranks_are_stored_and_compared():
    made = cluster(TasksSubmitted(1, ("a",)))
    assert len(made.tasks.group_priorities) == 0
    assert not task_description.rank(made, 0, TasksSubmitted(1, ("a",)))
    assert task_description.rank(made, 0, TasksSubmitted(1, ("a",), priority=3, group_priority=7))
    assert not task_description.rank(made, 0, TasksSubmitted(1, ("a",), priority=3, group_priority=7))
    assert (made.tasks.priority[0], made.tasks.group_priority[0]) == (3, 7)
    assert made.tasks.group_priorities.tolist() == [7]
    assert task_description.rank(made, 0, TasksSubmitted(1, ("a",), priority=3))
    assert made.tasks.group_priority[0] == UNGROUPED


def test_names_are_those_of_the_place_in_the_event():
    made = cluster(TasksSubmitted(1, ("a", "b"), names=("n/a", "n/b")))
    assert made.tasks.name == ["n/a", "n/b"]
    task_description.rename(made, 0, TasksSubmitted(1, ("x", "y"), names=("n/x", "n/y")), 1)
    task_description.rename(made, 1, TasksSubmitted(1, ("x", "y")), 1)
    assert made.tasks.name == ["n/y", "y"]


def test_a_task_that_joins_a_gang_wakes_its_members():
    made = cluster(
        JobDefined(Job("g", min_members=2)), TasksSubmitted(1, ("a",), job="g"), TasksSubmitted(1, ("b",))
    )
    waiting.hold_back(made, [0, 1])
    made.tasks.begin_round()
    task_description.enlist(made, 1, "g")
    assert made.jobs.members("g") == [0, 1]
    assert flags(made, "unschedulable") == [False, False]
    assert flags(made, "revised") == [False, True]
    waiting.hold_back(made, [0])
    made.tasks.begin_round()
    task_description.enlist(made, 1, "g")
    assert flags(made, "unschedulable") == [True, False], "nothing has changed"
    task_description.enlist(made, 1, "")
    assert made.jobs.members("g") == [0]


def test_groups_of_tasks_that_prefer_to_be_apart_are_counted():
    made = cluster(TasksSubmitted(1, ("a", "b"), spread_group="s"), TasksSubmitted(1, ("c",)))
    number = made.spread_groups.values["s"]
    assert made.tasks.spread[:3].tolist() == [number, number, 0]
    assert made.spread_groups.counts[number] == 2
    task_description.regroup(made, 0, "t")
    task_description.regroup(made, 2, "s")
    task_description.regroup(made, 1, "s")
    assert [made.spread_groups.by_code[code] for code in made.tasks.spread[:3]] == ["t", "s", "s"]
    assert made.spread_groups.counts[number] == 2
    task_description.regroup(made, 1, "")
    task_description.regroup(made, 2, "")
    assert "s" not in made.spread_groups.values


def test_times_are_stored_as_far_as_they_are_known():
    made = cluster(
        TasksBound("m", 1, ("a", "b"), assigned=(5.0, 0.0), initialized=(6.0, 7.0), created=(1.0, 2.0)),
        TasksBound("m", 1, ("c",)),
    )
    tasks = made.tasks
    assert tasks.assigned[:3].tolist() == [5.0, 0.0, 0.0]
    assert tasks.dated[:3].tolist() == [True, False, False]
    assert tasks.initialized[:3].tolist() == [6.0, 7.0, 0.0]
    assert tasks.created[:3].tolist() == [1.0, 2.0, 0.0]
    task_description.store_stated_times(made, 1, TasksBound("m", 1, ("x", "b"), assigned=(9.0, 8.0)), 1)
    assert (tasks.assigned[1], tasks.dated[1], tasks.initialized[1]) == (8.0, True, 7.0)
    task_description.store_times(made, ints(1, 2), np.array([0.0, 3.0]), np.array([1.0, 2.0]))
    assert tasks.assigned[:3].tolist() == [5.0, 8.0, 3.0]
    assert tasks.dated[:3].tolist() == [True, True, True]
    assert tasks.initialized[:3].tolist() == [6.0, 1.0, 2.0]
    task_description.store_times(made, ints(0), None, None)
    assert (tasks.assigned[0], tasks.initialized[0]) == (5.0, 6.0)


def test_a_bound_task_is_described_by_the_event_that_would_report_it():
    event = TasksBound(
        "m",
        1,
        ("a",),
        names=("n/a",),
        priority=3,
        job="j",
        assigned=(5.0,),
        initialized=(6.0,),
        created=(1.0,),
        group_priority=4,
        spread_group="s",
    )
    made = cluster(event, TasksBound("m", 1, ("b",)))
    found = task_description.describe_bound(made, 0)
    assert found.task_class == 0
    assert [getattr(found, name) for name in event.__dataclass_fields__ if name != "task_class"] == [
        getattr(event, name) for name in event.__dataclass_fields__ if name != "task_class"
    ]
    assert task_description.describe_bound(made, 1).group_priority is None
