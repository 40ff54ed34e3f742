"""Waiting tasks that lack quota: no round places them, and no machine is kept for them."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.queue.lacking_quota import find_lacking_quota
from firmament.core.scheduler import Scheduler
from firmament.core.state.tasks import TaskPhase
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.firmament.core.rules.quotas.test_never_over_quota import World
from tests.support.core import machine, scheduler, task_class
from tests.support.effort import examples

ONE, TWO = task_class(cpu=1, queue="q"), task_class(cpu=2, queue="q")


def make_core(*more: Event, cpu: int = 5) -> Scheduler:
    """A machine with much room, and a queue with a quota of ``cpu``."""
    events: list[Event] = [flavor("any"), quota("q", {"any": {"cpu": cpu}}), machine("m", cpu=100)]
    return scheduler(
        *events, ClassDefined(1, ONE), ClassDefined(2, TWO), ClassDefined(3, task_class(cpu=1)), *more
    )


def find_lacking(core: Scheduler) -> set[str]:
    """Uids of the pending tasks that lack quota."""
    tasks = core._cluster.tasks
    rows = tasks.in_state(TaskPhase.PENDING)
    return {tasks.uid[row] for row in rows[find_lacking_quota(core._cluster, rows)].tolist()}


def test_a_task_lacks_quota_that_others_use() -> None:
    core = make_core(TasksBound("m", 2, ("a", "b")), TasksSubmitted(2, ("two",)), TasksSubmitted(1, ("one",)))
    core.apply([TasksSubmitted(3, ("in-no-queue",))])
    assert find_lacking(core) == {"two"}
    core.apply([TaskRemoved("a")])
    assert find_lacking(core) == set()


def test_a_gang_lacks_quota_as_a_whole() -> None:
    gangs: list[Event] = [
        JobDefined(Job("alike", min_members=4)),
        JobDefined(Job("mixed", min_members=4)),
        JobDefined(Job("partly", min_members=2)),
        TasksSubmitted(1, ("a0", "a1", "a2", "a3"), job="alike"),
        TasksSubmitted(1, ("m0", "m1"), job="mixed"),
        TasksSubmitted(2, ("m2", "m3"), job="mixed"),
        TasksSubmitted(2, ("p0", "p1"), job="partly"),
    ]
    assert find_lacking(make_core(*gangs, cpu=5)) == set(), (
        "classes are counted one by one: no more than a bound"
    )
    assert find_lacking(make_core(*gangs, cpu=3)) == {
        "a0",
        "a1",
        "a2",
        "a3",
        "m0",
        "m1",
        "m2",
        "m3",
        "p0",
        "p1",
    }
    there = TasksBound("m", 2, ("p0",), job="partly")
    assert find_lacking(make_core(*gangs[:6], gangs[2], there, TasksSubmitted(2, ("p1",), job="partly"), cpu=4)) == {
        "a0", "a1", "a2", "a3", "m0", "m1", "m2", "m3",
    }, "one more member is all that the third gang needs"  # fmt: skip


@pytest.mark.parametrize("part", range(2))
def test_no_round_places_what_lacks_quota(part: int) -> None:
    said = 0
    for seed in range(part, 2 * examples(60, least=12, slow=True), 2):
        world = World(seed)
        for _ in range(world.draw.randint(2, 6)):
            world.core.apply([event for _ in range(world.draw.randint(1, 4)) for event in world.happen()])
            world.clock.now += world.draw.choice([0.1, 5, 100])
            lacking = find_lacking(world.core)
            said += len(lacking)
            opened = world.core.open_round()
            if opened.snapshot is not None:
                snapshot, placement = opened.snapshot, opened.solve()
                taken = np.zeros(len(snapshot.members), dtype=np.int64)
                for cls, _, count in placement.assignments.entries():
                    rows = snapshot.members[cls][taken[cls] : taken[cls] + count]
                    taken[cls] += count
                    found = {world.core._cluster.tasks.uid[row] for row in rows.tolist()}
                    assert not found & lacking, seed
                world.core.close_round(opened, placement)
            world.run_round()
    assert said > 20
