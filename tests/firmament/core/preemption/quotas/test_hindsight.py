"""Victims that those who came later have made needless stay."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks.judge.drawn_queues.drawing import draw_case
from benchmarks.judge.drawn_queues.this_scheduler import decide_here
from benchmarks.judge.queues.rules import list_faults
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound
from firmament.core.model import Job
from firmament.core.results import DeltaKind, RoundResult
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks, uids

WITHIN = {"within": "LowerPriority"}
RECLAIMING = {"reclaim": "Any"}


def _list_evicted(result: RoundResult) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT}


def _list_come(result: RoundResult) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PLACE}


def _scene(*more: list[Event], left: int, right: int):
    return scheduler(
        [machine("a", cpu=20_000), flavor("any"), quota("cohort")],
        quota("left", {"any": {"cpu": left}}, parent="cohort", preemption=WITHIN),
        quota("right", {"any": {"cpu": right}}, parent="cohort", preemption=RECLAIMING),
        *more,
    )


def test_what_a_victim_leaves_over_is_used_before_others_leave():
    """The first victim frees six cores for a task of two; the second task needs four, and the other victim stays."""
    core = _scene(
        [ClassDefined(1, task_class(6000, queue="left")), TasksBound("a", 1, ("large",), priority=0)],
        [ClassDefined(2, task_class(4000, queue="left")), TasksBound("a", 2, ("other",), priority=1)],
        tasks(3, "first", content=task_class(2000, queue="left"), priority=5),
        tasks(4, "second", content=task_class(4000, queue="left"), priority=4),
        left=10_000,
        right=0,
    )
    result = core.run_round()
    assert _list_evicted(result) == {"large"}
    assert _list_come(result) == {"first", "second"}


def test_a_victim_stays_if_one_that_leaves_for_another_task_is_enough_for_both():
    core = _scene(
        [ClassDefined(1, task_class(6000, queue="left")), TasksBound("a", 1, ("large",), priority=3)],
        [ClassDefined(2, task_class(2000, queue="left")), TasksBound("a", 2, ("small",), priority=0)],
        tasks(3, "l", content=task_class(2000, queue="left"), priority=2),
        tasks(4, "r", content=task_class(1000, queue="right")),
        left=5000,
        right=3000,
    )
    result = core.run_round()
    assert _list_come(result) == {"l", "r"}
    assert _list_evicted(result) == {"large"}


def test_members_of_a_gang_that_has_to_leave_as_a_whole_stay_or_leave_together():
    """The first task takes the member that the gang can spare, the second one the others, of which none may stay."""
    core = scheduler(
        [machine("a", cpu=50_000), machine("b", cpu=3000), flavor("any"), quota("cohort")],
        quota("left", {"any": {"cpu": 3000}}, parent="cohort", preemption=WITHIN),
        [JobDefined(Job("run", size=3, min_members=2)), ClassDefined(1, task_class(1000, queue="left"))],
        TasksBound("b", 1, uids("run", 3), job="run", priority=0),
        tasks(2, "first", content=task_class(1000, queue="left"), priority=5),
        tasks(3, "second", content=task_class(1000, queue="left"), priority=4),
    )
    result = core.run_round()
    assert _list_come(result) == {"first", "second"}
    assert _list_evicted(result) == set(uids("run", 3))


@pytest.mark.parametrize(
    "seed",
    [600046, 600444, 600561, 600827, 601075, 601608, 601757, 602481, 602679, 602875, 604534],
)
def test_nobody_leaves_in_vain_by_a_judge_that_shares_no_code(seed: int):
    case = draw_case(seed)
    found = decide_here(case)
    assert len(found.comes) > 1
    assert list_faults(msgspec.structs.replace(case.make_case(), decisions={"here": found}), found) == []
