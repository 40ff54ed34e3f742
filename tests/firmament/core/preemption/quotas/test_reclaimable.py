"""Queues that are not reclaimable keep what they borrow; their own rules, and those of others, go on."""

from __future__ import annotations

import pytest

from firmament.core.events import ClassDefined, TasksBound
from firmament.core.results import DeltaKind
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, placed, scheduler, task_class, tasks

ANY = {"within": "LowerPriority", "reclaim": "Any", "borrow": {"policy": "LowerPriority"}}


def _class(queue: str):
    return task_class(1000, queue=queue)


def _play(*, fair: bool, keeps: tuple[str, ...], waiting: str = "left", priority: int = 0):
    """Let a task of ``waiting`` come where ``right`` (older tasks) and ``third`` borrow all that ``left`` has."""
    return scheduler(
        machine("a", cpu=20_000),
        flavor("any"),
        quota("cohort", fair=fair),
        *(
            quota(
                name,
                {"any": {"cpu": cpu}},
                parent="cohort",
                preemption=ANY,
                fair=fair,
                **({"reclaimable": False} if name in keeps else {}),
            )
            for name, cpu in (("left", 2000), ("right", 1000), ("third", 1000))
        ),
        ClassDefined(1, _class("right")),
        TasksBound("a", 1, ("r1", "r2")),
        ClassDefined(2, _class("third")),
        TasksBound("a", 2, ("t1", "t2")),
        tasks(3, "late", content=_class(waiting), priority=priority),
    ).run_round()


def _list_evicted(result) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT}


@pytest.mark.parametrize("fair", [False, True])
def test_a_queue_takes_back_from_reclaimable_queues_only(fair: bool):
    result = _play(fair=fair, keeps=("right",))
    assert len(_list_evicted(result)) == 1
    assert _list_evicted(result) <= {"t1", "t2"}
    assert _list_evicted(_play(fair=fair, keeps=("third",))) <= {"r1", "r2"}


@pytest.mark.parametrize("fair", [False, True])
def test_a_queue_waits_if_all_that_borrow_keep_it(fair: bool):
    result = _play(fair=fair, keeps=("right", "third"))
    assert not _list_evicted(result)
    assert not placed(result)


def test_a_borrower_evicts_nobody_of_such_a_queue_either():
    """By its policy of borrowing, a more important task evicts less important ones of queues that borrow."""
    assert _list_evicted(_play(fair=False, keeps=(), waiting="third", priority=5)) != set()
    result = _play(fair=False, keeps=("right",), waiting="third", priority=5)
    assert _list_evicted(result) <= {"t1", "t2"}


def test_within_such_a_queue_the_more_important_still_evict():
    result = _play(fair=False, keeps=("right", "third"), waiting="right", priority=5)
    assert len(_list_evicted(result)) == 1
    assert _list_evicted(result) <= {"r1", "r2"}
