"""Machines that a task may not use only because capacity is kept there for a gang that restarts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from firmament.core.diagnosis.restart_room import add_kept, refuse_kept_room
from firmament.core.events import Event
from firmament.core.scheduler import Scheduler
from tests.firmament.core.state.restarts.test_room_records import UNTIL, gang, kept, tasks
from tests.support.core import machine, scheduler

OURS = f"node(s) kept room for restarting gang ours/g until {UNTIL}"
FOREIGN = f"node(s) kept room for a restarting gang of another namespace until {UNTIL}"
FURTHER = "node(s) kept room for further restarting gangs"


def refused(made: Scheduler, *uids: str, job: str = "") -> dict[str, list[str]]:
    """By reason, the machines that equal tasks may not use because of what is kept."""
    cluster = made._cluster
    rows = [cluster.tasks.row_of[uid] for uid in uids]
    free = add_kept(cluster, np.array(rows), None, cluster.free(rows))
    names = cluster.machines.names
    return {
        str(each.cause.reason.text): [names[row] for row in np.flatnonzero(each.refused).tolist()]
        for each in refuse_kept_room(cluster, rows, job, free)
    }


def scene(*events: Event | Sequence[Event]) -> Scheduler:
    """Machines of 4, 4 and 1 cores; 3 of the first and 2 of the second are kept for gang g."""
    return scheduler(
        [machine("m", cpu=4), machine("n", cpu=4), machine("o", cpu=1)],
        [kept("old-0", "m", cpu=3, priority=5), kept("old-1", "n", cpu=2, priority=5)],
        *events,
    )


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [(1, {}), (2, {OURS: ["m"]}), (3, {OURS: ["m", "n"]}), (4, {OURS: ["m", "n"]}), (5, {})],
)
def test_machines_count_that_would_take_the_task_if_nothing_were_kept(
    cpu: int, expected: dict[str, list[str]]
):
    assert refused(scene(tasks(1, "t", cpu=cpu)), "t") == expected


@pytest.mark.parametrize(("priority", "expected"), [(4, {OURS: ["m"]}), (5, {OURS: ["m"]}), (6, {})])
def test_room_is_kept_from_tasks_that_are_no_more_important(priority: int, expected: dict[str, list[str]]):
    assert refused(scene(tasks(1, "t", cpu=2, priority=priority)), "t") == expected


def test_the_gang_s_own_tasks_may_use_it():
    made = scene([gang()], tasks(1, "t", cpu=2, job="g"))
    assert refused(made, "t", job="g") == {}
    assert refused(made, "t", job="other") == {OURS: ["m"]}


def test_a_gang_is_named_only_if_all_tasks_are_in_its_namespace():
    made = scene(tasks(1, "t", "u", cpu=2), tasks(1, "v", cpu=2, namespace="theirs"))
    assert refused(made, "t", "u") == {OURS: ["m"]}
    assert refused(made, "v") == {FOREIGN: ["m"]}
    assert refused(made, "t", "v") == {FOREIGN: ["m"]}


def test_each_machine_is_named_for_one_gang():
    later = "2026-01-01T00:02:00Z"
    made = scene([kept("old-2", "n", cpu=1, job="h", priority=5, until=later)], tasks(1, "t", cpu=3))
    assert refused(made, "t") == {OURS: ["m", "n"]}
    other = scheduler(
        [machine("m", cpu=4), machine("n", cpu=4)],
        [kept("a", "m", cpu=4), kept("b", "n", cpu=4, job="h", until=later)],
        tasks(1, "t", cpu=1),
    )
    assert refused(other, "t") == {
        OURS: ["m"],
        f"node(s) kept room for restarting gang ours/h until {later}": ["n"],
    }


def test_of_very_many_gangs_those_with_the_most_machines_are_named():
    made = scheduler(
        [machine(f"m{index:02}", cpu=4) for index in range(14)],
        [kept(f"old-{index}", f"m{index:02}", cpu=4, job=f"g{max(index, 1)}") for index in range(14)],
        tasks(1, "t", cpu=4),
    )
    found = refused(made, "t")
    assert found[f"node(s) kept room for restarting gang ours/g1 until {UNTIL}"] == ["m00", "m01"]
    assert found[FURTHER] == ["m11", "m12", "m13"]
    assert len(found) == 11


def test_without_kept_room_nothing_is_refused_or_added():
    made = scheduler([machine("m", cpu=4)], tasks(1, "t", cpu=2))
    assert refused(made, "t") == {}
    free = np.array([[1, 2, 3]])
    assert add_kept(made._cluster, np.array([0]), None, free) is free


def test_what_is_kept_is_added_to_what_is_free():
    made = scene(tasks(1, "t", cpu=2))
    cluster = made._cluster
    task = np.array([cluster.tasks.row_of["t"]])
    free = cluster.free(task.tolist())
    column = cluster.resources.names.index("cpu")
    rows = [cluster.machines.row_of[name] for name in ("m", "n", "o")]
    assert free[rows, column].tolist() == [1, 2, 1]
    assert add_kept(cluster, task, None, free)[rows, column].tolist() == [4, 4, 1]
