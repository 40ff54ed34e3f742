"""How a round's tasks are grouped: by age, by how long they wait, by claims to shares, and by reservations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.constraints.pairs import NO_PAIRS
from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job
from firmament.core.queue.gang_reservations import GangReservation, KeptPart
from firmament.core.queue.reservations import Reservation
from firmament.core.rules.gangs.lifecycle import AdmittedTasks
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.grouping import PLACED, TaskGroups, group_admitted
from firmament.core.state import transitions
from tests.support.core import START, Clock, machine, scheduler, task_class, tasks
from tests.support.rules import ints


def grouped(
    core: Scheduler, *uids: str, gangs: dict[str, str] | None = None, now: float = START
) -> TaskGroups:
    """The groups of tasks, in their order; ``gangs``: the job of each task in a gang."""
    of = gangs or {}
    jobs = tuple(dict.fromkeys(of.values()))
    rows = ints(*(core._cluster.tasks.row_of[uid] for uid in uids))
    number = ints(*(jobs.index(of[uid]) if uid in of else -1 for uid in uids))
    return group_admitted(
        core._profile.context, AdmittedTasks(rows, number, ints(*(1 for _ in jobs)), jobs), now
    )


def names(core: Scheduler, groups: TaskGroups) -> list[list[str]]:
    return [[core._cluster.tasks.uid[row] for row in rows.tolist()] for rows in groups.members]


def test_members_are_in_order_of_age_then_of_arrival():
    core = scheduler(machine("m"), ClassDefined(1, task_class()), ClassDefined(2, task_class(200)))
    core.apply([TasksSubmitted(1, ("late", "early", "also-early"), created=(9.0, 3.0, 3.0))])
    core.apply([TasksSubmitted(2, ("other",), created=(1.0,)), TasksSubmitted(1, ("important",), priority=1)])
    found = grouped(core, "important", "also-early", "other", "late", "early")
    assert names(core, found) == [["early", "also-early", "late"], ["important"], ["other"]]
    assert found.priority.tolist() == [0, 1, 0]
    assert found.first.tolist() == [0, 3, 4]
    assert found.waiting().tolist() == [4, 1]


@pytest.mark.parametrize(
    ("waited", "bucket"),
    [(0.0, 3), (0.99, 3), (1.0, 2), (9.9, 2), (10.0, 1), (59.9, 1), (60.0, 0), (1e6, 0)],
)
def test_tasks_are_counted_by_how_long_they_have_waited(waited: float, bucket: int):
    clock = Clock()
    core = scheduler(machine("m"), tasks(1, "old"), clock=clock)
    clock.advance(2e6)
    core.apply([TasksSubmitted(1, ("t", "u"))])
    found = grouped(core, "old", "t", "u", now=clock.now + waited)
    expected = [1, 0, 0, 0]
    expected[bucket] += 2
    assert found.counts.tolist() == [expected]


def test_tasks_that_have_a_place_are_apart_from_those_without():
    core = scheduler(machine("m"), tasks(1, "t", "placed"))
    transitions.assume(core._cluster, ints(core._cluster.tasks.row_of["placed"]), ints(0))
    found = grouped(core, "t", "placed")
    assert dict(zip(map(tuple, names(core, found)), found.level.tolist(), strict=True)) == {
        ("placed",): PLACED,
        ("t",): 0,
    }
    assert found.rank_groups(core._cluster, NO_PAIRS, by_quality=False)[found.level == PLACED].tolist() == [0]


def test_gangs_are_groups_of_their_own_and_machines_kept_for_one_are_closed_to_others():
    """Also if there is no other reservation than that of the gang."""
    core = scheduler(
        *(machine(name) for name in "abc"),
        ClassDefined(1, task_class()),
        *(JobDefined(Job(job, min_members=2)) for job in "gh"),
        TasksSubmitted(1, ("g-0", "g-1"), job="g"),
        TasksSubmitted(1, ("h-0",), job="h"),
        TasksSubmitted(1, ("single",)),
        TasksSubmitted(1, ("above",), priority=1),
    )
    reservations = core._requeue.reservations
    of = {"g-0": "g", "g-1": "g", "h-0": "h"}
    every = ("g-0", "g-1", "h-0", "single", "above")

    def closed() -> dict[str, set[int]]:
        found = grouped(core, *every, gangs=of)
        shut = [set(found.closed[shape]) for shape in found.shape.tolist()]
        return {group[0]: rows for group, rows in zip(names(core, found), shut, strict=True)}

    assert closed() == {"g-0": set(), "h-0": set(), "single": set(), "above": set()}
    reservations.gangs.held["g"] = GangReservation("g", 0, [KeptPart("b", 0, 1), KeptPart("c", 0, 1)], 9, 1e9)
    assert closed() == {"g-0": set(), "h-0": {1, 2}, "single": {1, 2}, "above": set()}
    reservations.held = [Reservation("single", "a", 0, 0, 9, 1e9)]
    assert closed() == {"g-0": {0}, "h-0": {0, 1, 2}, "single": {1, 2}, "above": set()}


def test_quality_does_not_divide_applications():
    """The order of their workloads decides about those: they count as of unknown quality."""
    events: list[Event] = []
    for number, quality in enumerate(("Guaranteed", "Burstable", "BestEffort", ""), 1):
        events += tasks(number, f"t{number}", content=task_class(qos=quality))
    core = scheduler(machine("m"), events, options=RoundOptions(by_quality=True))
    found = grouped(core, "t1", "t2", "t3", "t4")

    def rank(*paired: int, by_quality: bool = True) -> list[int]:
        pairs: Any = type("Paired", (), {"find_paired": lambda _, count: np.isin(np.arange(count), paired)})()
        return found.rank_groups(core._cluster, pairs, by_quality=by_quality).tolist()

    assert rank() == [2, 1, 0, 1]
    assert rank(0, 2) == [0, 0, 0, 0]
    assert rank(0) == [1, 1, 0, 1]
    assert rank(by_quality=False) == [0, 0, 0, 0]
