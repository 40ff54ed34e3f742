"""Quota is dealt out in the order of queues, before a flow says where the tasks go."""

from __future__ import annotations

from collections import Counter

from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids


def _class(queue: str, cpu: int = 1000):
    return task_class(cpu, queue=queue)


def _scene(order: str):
    return scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 3000}}, order=order),
        tasks(1, "large", content=_class("team", 4000), priority=1),
        tasks(2, "small", content=_class("team")),
        tasks(3, "other", content=task_class(1000)),
    )


def test_only_in_a_strict_queue_those_behind_the_first_wait_for_it():
    assert set(placed(_scene("StrictFIFO").run_round())) == {"other"}
    assert set(placed(_scene("BestEffortFIFO").run_round())) == {"small", "other"}


def _count_by_queue(*events) -> Counter[str]:
    there = placed(scheduler(machine("a", cpu=30_000), flavor("any"), *events).run_round())
    return Counter(uid[0] for uid in there)


def test_whose_turn_is_put_off_gets_its_share_nevertheless():
    """Of a queue's two classes the second one stands behind the other queue once the first has been given quota."""
    assert _count_by_queue(
        quota("cohort", {"any": {"cpu": 8000}}),
        quota("left", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        quota("right", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        tasks(1, *uids("l", 2), content=_class("left"), priority=1),
        tasks(2, *uids("l2", 9), content=_class("left")),
        tasks(3, *uids("r", 9), content=_class("right")),
    ) == {"l": 4, "r": 4}


def test_what_is_a_queues_own_is_dealt_at_once_and_the_rest_by_turns():
    assert _count_by_queue(
        quota("cohort", {"any": {"cpu": 4000}}),
        quota("left", {"any": {"cpu": 2000}}, parent="cohort", fair=True),
        quota("right", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        tasks(1, *uids("l", 9), content=_class("left"), priority=1),
        tasks(2, *uids("r", 9), content=_class("right")),
    ) == {"l": 4, "r": 2}
