"""What the gangs of tasks on machines can lose, also by groups in their trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job, JobGroup
from firmament.core.snapshot.victim_gangs import describe_gangs
from firmament.core.state.cluster import Cluster
from firmament.core.state.transitions import assume
from tests.support.core import machine, task_class

PLAIN, FIRST, SECOND, LEAVING = 1, 2, 3, 4


def cluster(*events: Event) -> Cluster:
    made = Cluster()
    classes = [
        ClassDefined(PLAIN, task_class(1)),
        ClassDefined(FIRST, task_class(1, group="first")),
        ClassDefined(SECOND, task_class(1, group="second")),
        ClassDefined(LEAVING, task_class(1, terminating=True)),
    ]
    apply_events(made, [machine("m"), *classes, *events], 0.0)
    return made


def on(job: str, *uids: str, cls: int = PLAIN) -> TasksBound:
    return TasksBound("m", cls, uids, job=job)


def describe(made: Cluster, uids: Sequence[str], jobs: Sequence[str] = ()) -> dict[str, list[object]]:
    rows = np.array([made.tasks.row_of[uid] for uid in uids], dtype=np.int64)
    return {name: column.tolist() for name, column in describe_gangs(made, rows, jobs).items()}


def gang(name: str, least: int, **more: object) -> JobDefined:
    return JobDefined(Job(name, min_members=least, **more))  # type: ignore[arg-type]  # fields by name


def test_gangs_are_numbered_by_their_names_and_those_without_tasks_there_left_out():
    made = cluster(
        gang("b", 2), gang("a", 2), gang("c", 3), gang("empty", 2), JobDefined(Job("single", min_members=1)),
        on("c", "c1", "c2", "c3"), on("a", "a1", "a2", "a3"), on("single", "s"), on("", "alone"),
        TasksSubmitted(PLAIN, ("b1", "b2"), job="b"),
    )  # fmt: skip
    found = describe(made, ["alone", "c1", "a1", "c2", "s", "a2", "a3", "c3"], ["c", "", "b", "a", "x"])
    assert found == {
        "gang": [-1, 1, 0, 1, -1, 0, 0, 1],
        "spare": [1, 0],
        "together": [True, True],
        "own": [1, -1, -1, 0, -1],
    }


@pytest.mark.parametrize(("least", "members", "spare"), [(2, 2, 0), (2, 3, 1), (2, 5, 3), (3, 2, 0)])
def test_what_is_beyond_the_least_can_be_spared(least: int, members: int, spare: int):
    uids = [f"t{number}" for number in range(members)]
    made = cluster(gang("g", least), on("g", *uids))
    assert describe(made, uids)["spare"] == [spare]
    whole = cluster(gang("g", least, disrupted_whole=True), on("g", *uids))
    assert describe(whole, uids)["spare"] == [0]


def test_members_that_do_not_take_part_count_but_cannot_leave():
    made = cluster(gang("g", 2), on("g", "a", "b", "c"))
    assert describe(made, ["a", "b"]) == {"gang": [0, 0], "spare": [1], "together": [False], "own": []}


def test_members_that_are_assumed_count_as_there_and_those_that_wait_or_leave_do_not():
    made = cluster(
        gang("g", 2),
        on("g", "a", "b"),
        on("g", "gone", cls=LEAVING),
        TasksSubmitted(PLAIN, ("soon", "later"), job="g"),
    )
    assert describe(made, ["a", "b"]) == {"gang": [0, 0], "spare": [0], "together": [True], "own": []}
    assert describe(made, ["a", "b", "gone"])["spare"] == [0]
    assume(made, np.array([made.tasks.row_of["soon"]]), np.array([0]))
    found = describe(made, ["a", "b"])
    assert (found["spare"], found["together"]) == ([1], [False])
    assert describe(made, ["a", "b", "soon"])["together"] == [False], (
        "it has not arrived, so it cannot be evicted"
    )


def test_without_gangs_there_is_nothing_to_say():
    made = cluster(on("", "a"))
    assert describe(made, ["a"], [""]) == {"gang": [-1], "spare": [], "together": [], "own": [-1]}


class TestTrees:
    GROUPS = (
        JobGroup("first", least=1),
        JobGroup("second", least=1),
    )

    def made(self, *events: Event, least: int = 2) -> Cluster:
        return cluster(
            gang("flat", 2),
            gang("tree", least, groups=self.GROUPS),
            on("flat", "f1", "f2", "f3"),
            on("tree", "t1", "t2", cls=FIRST),
            on("tree", "u1", cls=SECOND),
            *events,
        )

    ALL = ("f1", "t1", "u1", "t2", "f2", "f3")

    def test_groups_that_may_leave_by_themselves_are_gangs_too(self):
        found = describe(self.made(), self.ALL, ["tree", "flat", ""])
        assert found == {
            "gang": [0, 2, 3, 2, 0, 0],
            "spare": [1, 0, 1, 0],
            "together": [True, True, True, True],
            "own": [1, 0, -1],
            "above": [-1, -1, 1, 1],
            "counted": [False, False, True, True],
        }

    def test_a_tree_that_needs_more_than_its_groups_is_one_gang(self):
        found = describe(self.made(least=3), self.ALL)
        assert (found["gang"], found["spare"]) == ([0, 1, 1, 1, 0, 0], [1, 0])
        assert (found["above"], found["counted"]) == ([-1, -1], [False, False])

    def test_a_group_with_tasks_elsewhere_cannot_leave_as_a_whole_nor_can_what_contains_it(self):
        found = describe(self.made(), ["f1", "t1", "u1", "f2", "f3"])
        assert found["together"] == [True, False, False, True]
        assert found["spare"] == [1, 0, 1, 0]
        assert describe(self.made(), ["f1", "t1", "u1", "t2", "f2"])["together"] == [False, True, True, True]
        assert describe(self.made(), ["t1", "t2"])["together"] == [False, True, False]

    def test_tasks_without_a_gang_have_none_beside_trees_either(self):
        made = self.made(on("", "alone"))
        assert describe(made, ["alone", "t1", "f1"])["gang"] == [-1, 2, 0]

    def test_trees_come_in_the_order_of_their_names(self):
        made = cluster(
            gang("b", 2, groups=self.GROUPS),
            gang("a", 2, groups=self.GROUPS),
            on("a", "a1", cls=FIRST), on("a", "a2", cls=SECOND),
            on("b", "b1", cls=FIRST), on("b", "b2", cls=SECOND),
        )  # fmt: skip
        found = describe(made, ["b2", "a1", "b1", "a2"], ["b", "a"])
        assert found["gang"] == [5, 1, 4, 2]
        assert found["above"] == [-1, 0, 0, -1, 3, 3]
        assert found["own"] == [3, 0]
