"""What keeps a gang from being placed as a whole although each machine has room: as few constraints as explain it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from firmament.core.diagnosis.gang_constraints import GangConstraints
from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job, TaskClass
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, messages, scheduler, task_class, uids
from tests.support.rules import near, spread

HOST = "kubernetes.io/hostname"
HERE: dict[str, Any] = {"labels": (("app", "g"),), "affinity": near("g")}
APART: dict[str, Any] = {"labels": (("app", "g"),), "anti_affinity": near("g", HOST)}
SPREAD: dict[str, Any] = {"labels": (("app", "g"),), "spread": spread("g")}
BOTH: dict[str, Any] = {**HERE, **APART}


def gang(content: TaskClass, count: int, *rooms: int, more: tuple[Event, ...] = ()) -> Scheduler:
    """A gang of so many tasks, and machines with these rooms, in turn in zones a and b."""
    return scheduler(
        *(
            machine(f"m{at}", cpu=room, labels={"zone": "ab"[at % 2], HOST: f"m{at}"})
            for at, room in enumerate(rooms)
        ),
        *more,
        ClassDefined(1, content),
        JobDefined(Job("g", min_members=count)),
        TasksSubmitted(1, uids("t", count), job="g"),
    )


def lack(core: Scheduler) -> str:
    """What the gang is told it found no places for, "" if it is not told."""
    told = messages(core.run_round())
    [message] = {each for uid, each in told.items() if uid.startswith("t-")}
    found = re.search(r"but not for all at once \(because of (.*?)\)", message)
    return found[1] if found else ""


@pytest.mark.parametrize(
    ("content", "count", "rooms", "expected"),
    [
        (HERE, 3, (2, 2), "the topology constraint by zone or cpu"),
        (HERE, 4, (2, 2, 1), "the topology constraint by zone or cpu"),
        (APART, 3, (2, 2), "pod anti-affinity rules"),
        (SPREAD, 4, (1, 9), "pod topology spread constraints or cpu"),
        (BOTH, 2, (2, 2), "the topology constraint by zone or pod anti-affinity rules"),
        (BOTH, 3, (2, 1), "the topology constraint by zone and pod anti-affinity rules"),
    ],
)
def test_what_would_have_to_be_dropped_is_named_and_no_more(
    content: dict[str, Any], count: int, rooms: tuple[int, ...], expected: str
):
    assert lack(gang(task_class(1, **content), count, *rooms)) == expected


def test_what_others_of_the_round_have_taken_is_in_the_way():
    first: tuple[Event, ...] = (
        ClassDefined(2, task_class(2, machine="m0")),
        TasksSubmitted(2, ("first",), priority=9),
    )
    assert lack(gang(task_class(1, **HERE), 3, 3, 2, more=first)) == "the topology constraint by zone or cpu"


def test_a_gang_without_rules_between_its_tasks_simply_lacks_room():
    assert lack(gang(task_class(1), 5, 2, 2)) == ""


def test_a_quota_is_named_if_the_gang_would_have_places_without_it():
    content = task_class(1, queue="team")
    short = (flavor("any"), quota("team", {"any": {"cpu": 2}}))
    assert lack(gang(content, 3, 9, 9, more=short)) == "the quota of team"
    enough = (flavor("any"), quota("team", {"any": {"cpu": 9}}))
    ruled = task_class(1, queue="team", **HERE)
    assert lack(gang(ruled, 3, 2, 2, more=enough)) == "the topology constraint by zone or cpu"


def test_only_so_many_tasks_times_machines_are_tried_in_a_round():
    opened = gang(task_class(1, **HERE), 3, 2, 2).open_round()
    snapshot = opened.snapshot
    assert snapshot is not None
    examined = GangConstraints(
        snapshot.problem,
        opened.solve().assignments,
        ("cpu", "pods"),
        lambda _: task_class(1, **HERE),
        snapshot.gangs,
    )
    before = examined.cells
    assert examined.describe_lack(0)
    taken = before - examined.cells
    assert taken >= 3 * 2, "each task on each machine at least once"
    examined.cells = taken
    assert examined.describe_lack(0)
    assert examined.cells == 0
    examined.cells = taken - 1
    assert examined.describe_lack(0) == ""
    assert examined.cells == taken - 1
