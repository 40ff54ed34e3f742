"""Pod sets of which some tasks have machines: the waiting ones are pinned to the same flavor."""

from __future__ import annotations

from typing import Any

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Job, TaskClass
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class

FLAVORS = ("red", "green")
AMOUNTS = {each: {"cpu": 9000} for each in FLAVORS}


def core(*events: Event, same: bool = True, queue: str = "team") -> Scheduler:
    """Two red machines and a green one; a queue with quota in both flavors; class 1 of it, class 2 of none."""
    return scheduler(
        [shown("r1", "red"), shown("g1", "green"), shown("r2", "red"), machine("plain", cpu=9000)],
        [flavor(each, kind=each) for each in FLAVORS],
        quota("team", AMOUNTS, **({"podSetFlavors": "Same"} if same else {})),
        JobDefined(Job("g", min_members=2)),
        ClassDefined(1, task_class(100, queue=queue)),
        *events,
    )


def shown(name: str, kind: str) -> MachineUpserted:
    return machine(name, cpu=9000, labels={"kind": kind})


def pins(made: Scheduler) -> dict[str, list[str]]:
    """By the first task of each waiting class, the machines to which it is pinned."""
    opened = made.open_round()
    assert opened.snapshot is not None
    snapshot = opened.snapshot
    return {
        snapshot.uids[int(snapshot.first[cls])]: [snapshot.machine_names[row] for row in rows.tolist()]
        for cls, rows in snapshot.problem.pins.items()
    }


def waits(*uids: str, cls: int = 1, job: str = "g") -> TasksSubmitted:
    return TasksSubmitted(cls, uids, job=job)


def runs(where: str, *uids: str, cls: int = 1, job: str = "g") -> TasksBound:
    return TasksBound(where, cls, uids, job=job)


@pytest.mark.parametrize(
    ("where", "expected"), [("g1", {"w": ["g1"]}), ("r1", {"w": ["r1", "r2"]}), ("r2", {"w": ["r1", "r2"]})]
)
def test_they_go_to_the_machines_of_the_flavor_that_the_others_have(
    where: str, expected: dict[str, list[str]]
):
    assert pins(core(runs(where, "a"), waits("w", "x"))) == expected


def test_nobody_is_pinned_before_the_first_has_a_machine():
    assert pins(core(waits("w", "x"))) == {}


@pytest.mark.parametrize("settings", [{"same": False}, {"queue": ""}])
def test_nor_where_flavors_do_not_matter(settings: dict[str, Any]):
    assert pins(core(runs("g1", "a"), waits("w", "x"), **settings)) == {}


def test_those_that_run_in_several_flavors_are_left_alone():
    assert pins(core(runs("g1", "a"), runs("r1", "b"), waits("w"))) == {}


def test_tasks_of_other_sets_jobs_or_queues_do_not_count():
    other = ClassDefined(2, task_class(200, queue="team"))
    free = ClassDefined(3, task_class(100))
    late = JobDefined(Job("h", min_members=2))
    assert pins(core(other, runs("g1", "a", cls=2), waits("w", "x"))) == {}
    assert pins(core(free, runs("g1", "a", cls=3), waits("w", "x"))) == {}
    assert pins(core(late, runs("g1", "a", job="h"), waits("w", "x"))) == {}
    assert pins(core(other, runs("g1", "a"), waits("w"), waits("v", cls=2))) == {"w": ["g1"]}


def grouped(cpu: int, name: str = "lws") -> TaskClass:
    return task_class(cpu, queue="team", flavor_group=name)


def test_sets_of_one_group_count_together():
    both = ClassDefined(2, grouped(200)), ClassDefined(3, grouped(300))
    assert pins(core(*both, runs("g1", "a", cls=2), waits("w", "x", cls=3))) == {"w": ["g1"]}
    apart = ClassDefined(2, grouped(200)), ClassDefined(3, grouped(300, "other"))
    assert pins(core(*apart, runs("g1", "a", cls=2), waits("w", "x", cls=3))) == {}


def test_former_pins_hold_too():
    pinned = ClassDefined(2, task_class(100, queue="team", machine="r2"))
    assert pins(core(pinned, runs("r1", "a", cls=2), waits("w", cls=2))) == {"w": ["r2"]}
