"""Tasks that quotas keep out are not tried in vain, and none stays behind for which there is quota and room."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job, JobGroup, TaskClass
from firmament.core.requeue.quota_bounds import QuotaBounds
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.firmament.core.rules.quotas.test_never_over_quota import World
from tests.support.core import machine, placed, scheduler, task_class
from tests.support.effort import examples


def count_decided(core: Scheduler, content: TaskClass) -> int:
    """Return for how many tasks of a class a round has a place, or evicts others, if it is about all of the class."""
    opened = core.open_round(frozenset({content}))
    placement = opened.solve()
    return int(placement.assignments.count.sum()) + len(placement.evictions)


def check_bounds(core: Scheduler) -> int:
    """Check that a round decides about at most as many tasks of each class as selected; return how many are not.

    The scheduler is of no use afterwards.
    """
    cluster = core._cluster
    tasks = cluster.tasks
    waiting = tasks.list_unschedulable()
    classes = np.unique(tasks.cls[waiting]).tolist()
    bounds, spared = QuotaBounds(cluster, classes), 0
    chosen = {cls: bounds.select(cls, waiting[tasks.cls[waiting] == cls]) for cls in classes}
    core.try_all_again()
    for cls, some in chosen.items():
        members = waiting[tasks.cls[waiting] == cls]
        assert np.isin(some, members).all()
        spared += len(members) - len(some)
        if len(some) < len(members):
            decided = count_decided(core, cluster.classes.rows[cls].content)
            assert decided <= len(some), (cls, members.tolist(), some.tolist())
    return spared


@pytest.mark.parametrize("part", range(2))
def test_no_round_places_more_than_are_selected(part: int) -> None:
    spared = 0
    for seed in range(part, 2 * examples(60, least=12, slow=True), 2):
        world = World(seed)
        for _ in range(world.draw.randint(2, 6)):
            world.core.apply([event for _ in range(world.draw.randint(1, 4)) for event in world.happen()])
            world.clock.now += world.draw.choice([0.1, 5, 100])
            world.run_round()
        spared += check_bounds(world.core)
    assert spared, "or nothing was tested"


def begin_full_queue(gangs: int, **policy: str) -> Scheduler:
    """Return a scheduler with a queue that two running tasks fill, and gangs of two that have found no quota."""
    core = scheduler(
        machine("m", cpu=100),
        flavor("any"),
        quota("q", {"any": {"cpu": 4}}, preemption=policy),
        ClassDefined(1, task_class(2, queue="q")),
        TasksBound("m", 1, ("first", "second"), priority=5),
    )
    for number in range(gangs):
        members = f"{number}-a", f"{number}-b"
        core.apply(
            [
                JobDefined(Job(f"gang-{number}", size=2, min_members=2)),
                TasksSubmitted(1, members, job=f"gang-{number}", priority=5),
            ]
        )
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None
    return core


def test_a_gang_is_not_tried_until_there_is_quota_for_all_of_it() -> None:
    core = begin_full_queue(1)
    core.apply([TaskRemoved("first")])
    assert core.next_round_in() is None, "quota for one of two"
    core.apply([TaskRemoved("second")])
    assert core.next_round_in() == 0.0
    assert set(placed(core.run_round())) == {"0-a", "0-b"}


@pytest.mark.parametrize("policy", [{}, {"within": "LowerPriority"}])
def test_only_as_many_gangs_are_tried_as_there_is_quota_for(policy: dict[str, str]) -> None:
    core = begin_full_queue(6, **policy)
    core.apply([TaskRemoved("first"), TaskRemoved("second")])
    assert core.next_round_in() == 0.0
    opened = core.open_round()
    assert opened.snapshot is not None
    assert len(opened.snapshot.tasks) == 2, "there is quota for two tasks"
    assert set(placed(core.close_round(opened, opened.solve()))) == {"0-a", "0-b"}


def test_all_gangs_get_their_turn_as_others_end() -> None:
    core = begin_full_queue(5)
    running, order = ["first", "second"], []
    while running:
        core.apply([TaskRemoved(uid) for uid in running])
        running = []
        while core.next_round_in() == 0.0:
            running += placed(core.run_round())
        order += running
    assert order == [f"{number}-{member}" for number in range(5) for member in "ab"]


def select_one_by_one(core: Scheduler, members: list[int], units: int) -> list[int]:
    """Return the oldest ``units`` tasks of each kind, and the rest of their gangs: the rule, task by task."""
    tasks, jobs = core._cluster.tasks, core._cluster.jobs
    taken: Counter[object] = Counter()
    begun: set[str] = set()
    found = []
    for row in sorted(members, key=lambda row: (tasks.created[row], tasks.sequence[row])):
        name = tasks.job[row]
        gang = jobs.gang(name)
        needs = gang and (len(jobs.members(name)), gang.min_members)
        kind = needs, int(tasks.priority[row])
        if taken[kind] < units or name in begun:
            found.append(row)
            begun |= {name} if gang else set()
        taken[kind] += 1
    return found


@given(st.data())
def test_the_oldest_of_each_kind_are_selected_as_one_by_one(data: st.DataObject) -> None:
    core = scheduler(
        machine("m", cpu=1),
        flavor("any"),
        quota("q", {"any": {"cpu": 4}}),
        ClassDefined(1, task_class(2, queue="q")),
    )
    for number in range(data.draw(st.integers(1, 8))):
        size, job = data.draw(st.integers(1, 3)), f"job-{number}"
        if data.draw(st.booleans()):
            core.apply([JobDefined(Job(job, size=size, min_members=size))])
        for member in range(size):
            uid, priority = f"{number}-{member}", data.draw(st.integers(4, 5))
            core.apply([TasksSubmitted(1, (uid,), job=job, priority=priority)])
    core.run_round()
    cluster = core._cluster
    members = cluster.tasks.list_unschedulable()
    units = data.draw(st.integers(1, 6))
    found = QuotaBounds(cluster, [int(cluster.tasks.cls[members[0]])])._select_oldest(members, units)
    assert found.tolist() == select_one_by_one(core, members.tolist(), units)


@pytest.mark.parametrize(("groups", "chosen"), [((), 2), ((JobGroup("w", least=1),), 1)])
def test_trees_of_groups_count_on_no_evictions(groups: tuple[JobGroup, ...], chosen: int) -> None:
    core = scheduler(
        machine("m", cpu=100),
        flavor("any"),
        quota("q", {"any": {"cpu": 4}}, preemption={"within": "LowerPriority"}),
        ClassDefined(1, task_class(2, queue="q", group="w")),
        TasksBound("m", 1, ("first", "second"), priority=1),
        *(JobDefined(Job(name, min_members=1, groups=groups)) for name in "abc"),
        *(TasksSubmitted(1, (f"{name}-0",), job=name, priority=5) for name in "abc"),
    )
    tasks = core._cluster.tasks
    members = np.array([tasks.row_of[f"{name}-0"] for name in "abc"])
    cls = int(tasks.cls[members[0]])
    assert len(QuotaBounds(core._cluster, [cls]).select(cls, members)) == chosen
