"""Less important tasks give back places of the same round that more important ones need."""

from __future__ import annotations

from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.results import DeltaKind, RoundResult
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks, uids

WITHIN = {"within": "LowerPriority"}


def _bound(number: int, queue: str, uid: str, cpu: int, priority: int = 0) -> list[Event]:
    content = task_class(cpu, queue=queue)
    return [ClassDefined(number, content), TasksBound("a", number, (uid,), priority=priority)]


def _waits(number: int, queue: str, uid: str, cpu: int, priority: int) -> list[Event]:
    return tasks(number, uid, content=task_class(cpu, queue=queue), priority=priority)


def _decide(*events: Event | list[Event], left: int, right: int = 0) -> tuple[set[str], set[str]]:
    """Return who comes and who is evicted."""
    core = scheduler(
        [machine("a", cpu=50_000), flavor("any"), quota("cohort")],
        quota("left", {"any": {"cpu": left}}, parent="cohort", preemption=WITHIN),
        quota("right", {"any": {"cpu": right}}, parent="cohort", preemption=WITHIN),
        *events,
    )
    result: RoundResult = core.run_round()
    return (
        {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PLACE},
        {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT},
    )


def test_a_less_important_task_of_the_queue_does_not_take_quota_from_one_that_has_to_evict():
    came, gone = _decide(
        _bound(1, "left", "runs", 3000),
        _waits(2, "left", "important", 5000, priority=2),
        _waits(3, "left", "small", 2000, priority=1),
        left=5000,
    )
    assert came == {"important"}
    assert gone == {"runs"}


def test_who_still_fits_keeps_its_place():
    came, gone = _decide(
        _bound(1, "left", "runs", 4000),
        _waits(2, "left", "important", 5000, priority=2),
        _waits(3, "left", "small", 1000, priority=1),
        _waits(4, "left", "smaller", 900, priority=0),
        left=6000,
    )
    assert came == {"important", "small"}
    assert gone == {"runs"}


def test_nobody_gives_a_place_back_in_vain():
    came, gone = _decide(
        _bound(1, "left", "runs", 3000, priority=9),
        _waits(2, "left", "important", 5000, priority=2),
        _waits(3, "left", "small", 2000, priority=1),
        left=5000,
    )
    assert came == {"small"}
    assert gone == set()


def test_a_task_of_another_queue_gives_its_place_back_if_it_borrows_as_far():
    for right, expected in ((0, {"important"}), (2000, {"other"})):
        came, _ = _decide(
            _bound(1, "left", "runs", 3000),
            _waits(2, "left", "important", 5000, priority=2),
            _waits(3, "right", "other", 2000, priority=1),
            left=5000 - right,
            right=right,
        )
        assert came == expected


def test_a_gang_gives_all_of_its_places_back():
    came, gone = _decide(
        _bound(1, "left", "runs", 4000),
        _waits(2, "left", "important", 5000, priority=2),
        [JobDefined(Job("gang", size=3, min_members=3)), ClassDefined(3, task_class(1000, queue="left"))],
        [TasksSubmitted(3, uids("gang", 3), job="gang", priority=1)],
        left=7000,
    )
    assert came == {"important"}
    assert gone == {"runs"}
