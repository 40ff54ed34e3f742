"""Nobody is evicted through a chain of evictions that began with them."""

from __future__ import annotations

from typing import Any

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.preemption.problem import NO_ORIGINS
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot import preemption_candidates
from firmament.core.state.eviction_chains import MEMORY
from tests.firmament.core.preemption.quotas.test_reclaim import list_evicted
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import Clock, machine, messages, placed, scheduler, task_class

LEFT, RIGHT = 1, 2


def _scene(clock: Clock, right: str = "Any") -> Scheduler:
    """``l1`` has taken its own quota back from the queue of ``r1``, ``r2`` and ``r3``; ``r3`` has left for it."""
    core = scheduler(
        machine("m", cpu=20),
        flavor("any"),
        quota("cohort"),
        quota("left", {"any": {"cpu": 1}}, parent="cohort", preemption={"reclaim": "Any"}),
        quota("right", {"any": {"cpu": 2}}, parent="cohort", preemption={"reclaim": right}),
        ClassDefined(LEFT, task_class(1, queue="left")),
        ClassDefined(RIGHT, task_class(1, queue="right")),
        JobDefined(Job("owner")),
        *(TasksBound("m", RIGHT, (uid,), priority=1, job="owner") for uid in ("r1", "r2", "r3")),
        TasksSubmitted(LEFT, ("l1",), priority=0),
        clock=clock,
    )
    result = core.run_round()
    assert list_evicted(result) == {"r3"}
    assert placed(result)["l1"] == "m"
    core.apply([TaskRemoved("r3"), TasksBound("m", LEFT, ("l1",), priority=0)])
    return core


def _come_again(uid: str) -> Event:
    return TasksSubmitted(RIGHT, (uid,), priority=1, job="owner")


OTHERS: list[Event] = [
    TaskRemoved("r1"),
    TaskRemoved("r2"),
    TasksBound("m", LEFT, ("guest",), priority=5),
    TasksBound("m", LEFT, ("firm",), priority=9),
]
"""Two more important tasks use what ``r1`` and ``r2`` leave; their queue's own quota covers ``firm``."""


@pytest.mark.parametrize("uid", ["r3", "created-again"])
def test_who_began_a_chain_stays_and_another_goes(uid: str):
    core = _scene(Clock())
    core.apply([*OTHERS, _come_again(uid)])
    assert list_evicted(core.run_round()) == {"guest"}


def test_who_was_not_evicted_takes_from_the_least_important():
    core = _scene(Clock())
    core.apply([*OTHERS, TasksSubmitted(RIGHT, ("new",), priority=1)])
    assert list_evicted(core.run_round()) == {"l1"}


def test_who_may_evict_only_those_who_began_waits_is_told_so_and_tries_again_in_time():
    clock = Clock()
    core = _scene(clock, right="LowerPriority")
    core.apply([*OTHERS, _come_again("r3")])
    result = core.run_round()
    assert list_evicted(result) == set()
    assert "It may not evict l1 now" in messages(result, preemption=True)["r3"]
    wait = core.next_round_in()
    assert wait == MEMORY
    clock.advance(MEMORY - 1)
    assert core.next_round_in() == 1
    clock.advance(1)
    assert core.next_round_in() == 0
    assert list_evicted(core.run_round()) == {"l1"}


def test_a_decision_that_would_close_a_circle_is_dropped_and_not_made_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    """As if the search had not known it: several decisions of a round may close a circle together."""
    monkeypatch.setattr(preemption_candidates, "_find_origins", lambda *_: NO_ORIGINS)
    core = _scene(Clock(), right="LowerPriority")
    core.apply([*OTHERS, _come_again("r3")])
    assert list_evicted(core.run_round()) == set()
    assert core.next_round_in() == MEMORY


@pytest.mark.parametrize(
    "change",
    [
        quota("right", {"any": {"cpu": 2}}, parent="cohort", preemption={"reclaim": "LowerPriority"}),
        flavor("other"),
    ],
)
def test_a_change_of_quotas_or_flavors_begins_anew(change: Any):
    core = _scene(Clock(), right="LowerPriority")
    core.apply([*OTHERS, _come_again("r3")])
    assert list_evicted(core.run_round()) == set()
    core.apply([change])
    assert list_evicted(core.run_round()) == {"l1"}


@pytest.mark.parametrize("place", [0, 1])
def test_a_gang_is_one_workload(place: int):
    """Two tasks leave for the members of a gang; neither may evict the gang."""
    core = scheduler(
        machine("m", cpu=20),
        flavor("any"),
        quota("cohort"),
        quota("left", {"any": {"cpu": 2}}, parent="cohort", preemption={"reclaim": "Any"}),
        quota("right", {"any": {"cpu": 3}}, parent="cohort", preemption={"reclaim": "LowerPriority"}),
        JobDefined(Job("gang", size=2, min_members=2)),
        ClassDefined(LEFT, task_class(1, queue="left")),
        ClassDefined(RIGHT, task_class(1, queue="right")),
        TasksBound("m", RIGHT, ("r1", "r2", "r3", "r4", "r5"), priority=1),
        TasksSubmitted(LEFT, ("g1", "g2"), job="gang"),
    )
    gone = sorted(list_evicted(core.run_round()))
    assert len(gone) == 2
    core.apply([TaskRemoved(f"r{number}") for number in range(1, 6)])
    core.apply([TasksBound("m", LEFT, ("g1", "g2"), job="gang")])
    core.apply([TasksBound("m", LEFT, ("x", "y", "z"), priority=5)])
    core.apply([TasksSubmitted(RIGHT, (gone[place],), priority=1)])
    assert list_evicted(core.run_round()) == set()
    core.apply([TasksSubmitted(RIGHT, ("new",), priority=1)])
    assert list_evicted(core.run_round()) == {"g1", "g2"}
