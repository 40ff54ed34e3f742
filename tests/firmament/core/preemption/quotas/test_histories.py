"""Random histories of arrivals, ends and quotas that change: after each of these steps evictions end."""

from __future__ import annotations

import random
from typing import Any

import pytest

from firmament.core.events import ClassDefined, Event, RecordUpserted, TaskRemoved, TasksBound, TasksSubmitted
from tests.firmament.core.preemption.quotas.test_reclaim import list_evicted, settle
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, placed, scheduler, task_class
from tests.support.effort import examples

QUEUES = {"q0": "left", "q1": "left", "q2": "root", "q3": "root"}
MOST = 12


class World:
    """A scheduler with a tree of quotas, and tasks that come again whenever they are evicted."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.fair = self.draw.random() < 0.4
        self.number = 0
        self.classes: dict[str, tuple[int, Any, int]] = {}
        self.core = scheduler(
            machine("a", cpu=self.draw.randint(4, 12)),
            machine("b", cpu=self.draw.randint(2, 6)),
            flavor("any"),
            quota("root", {"any": {"cpu": self.draw.randint(0, 4)}}),
            quota("left", {"any": {"cpu": self.draw.randint(0, 3)}}, parent="root", fair=self.fair),
            *(self.state_quota(name) for name in QUEUES),
        )

    def state_quota(self, name: str) -> RecordUpserted:
        """State a queue's quota anew."""
        draw = self.draw
        policy = {
            "within": draw.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            "reclaim": draw.choice(["Never", "LowerPriority", "Any"]),
            "borrow": {"policy": draw.choice(["Never", "LowerPriority"])},
        }
        stated: dict[str, Any] = {"parent": QUEUES[name], "preemption": policy, "fair": self.fair}
        for limit in ("borrowing", "lending"):
            if draw.random() < 0.25:
                stated[limit] = {"any": {"cpu": draw.randint(0, 4)}}
        return quota(
            name, {"any": {"cpu": draw.randint(0, 5)}}, weight=draw.choice((1.0, 1.0, 2.0)), **stated
        )

    def step(self) -> None:
        """Let one thing happen, and see that evictions end."""
        draw, chance = self.draw, self.draw.random()
        events: list[Event]
        if chance < 0.15:
            events = [self.state_quota(draw.choice([*QUEUES]))]
        elif self.classes and (chance < 0.45 or len(self.classes) >= MOST):
            uid = draw.choice(sorted(self.classes))
            del self.classes[uid]
            events = [TaskRemoved(uid)]
        else:
            self.number += 1
            content = task_class(draw.randint(1, 4), queue=draw.choice([*QUEUES]))
            uid, priority = f"t{self.number}", draw.randint(0, 2)
            self.classes[uid] = self.number, content, priority
            events = [
                ClassDefined(self.number, content),
                TasksSubmitted(self.number, (uid,), priority=priority),
            ]
        self.core.apply(events)
        settle(self.core, self.classes, 60)


def run(seed: int, steps: int) -> None:
    world = World(seed)
    for _ in range(steps):
        world.step()


def test_evictions_end_after_each_step():
    for seed in range(examples(100, least=6, slow=True)):
        run(seed, 20)


def test_room_is_not_taken_from_whom_its_own_quota_lets_take_it_back():
    """A more important task that borrows has quota, but no room; a less important one takes quota back by right."""
    run(200_003, 20)


def test_who_may_evict_nobody_for_quota_takes_no_room_from_whom_quotas_cover():
    """A borrower whose own queue takes nothing back, and one of another queue that does."""
    run(300_044, 30)


@pytest.mark.parametrize("waits", [True, False])
def test_nobody_goes_for_quota_that_would_be_taken_back_for_the_victim_to_come_again(waits: bool):
    """`large` takes the place of `small`, `guest` that of `large`, and `small` that of `guest`: its queue's own."""
    own = {"within": "LowerPriority", "reclaim": "Any"}
    core = scheduler(
        machine("m", cpu=20),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 1}}),
        quota("host", {"any": {"cpu": 1}}, parent="cohort", preemption=own),
        quota(
            "other", {"any": {"cpu": 0}}, parent="cohort", preemption={"borrow": {"policy": "LowerPriority"}}
        ),
        ClassDefined(1, task_class(1, queue="host")),
        ClassDefined(2, task_class(2, queue="host")),
        ClassDefined(3, task_class(2, queue="other")),
        TasksBound("m", 2, ("large",), priority=1),
        TasksSubmitted(3, ("guest",), priority=2),
    )
    if waits:
        core.apply([TasksSubmitted(1, ("small",), priority=0)])
    assert list_evicted(core.run_round()) == (set() if waits else {"large"})


def test_evictions_end_where_a_queue_has_places_within_and_beyond_its_own_quota():
    run(300_022, 45)


def test_evictions_end_where_the_same_happens_for_room():
    run(300_139, 95)


def test_evictions_end_where_shares_decide_and_a_queue_is_within_its_own_quota_below_one_that_borrows():
    """Whoever takes a place beyond the own quota may lose it, and those whose quota that was take it back."""
    run(10_016_855, 20)


def test_evictions_end_where_quota_that_is_never_lent_is_taken_back():
    run(10_024_235, 20)


@pytest.mark.parametrize("first", ["a", "b"])
def test_quota_that_leaves_bit_by_bit_goes_to_nobody_else(first: str):
    """Whoever waits for several to leave keeps what the first of them gives back; those who come again wait."""
    policy = {"within": "LowerPriority", "reclaim": "LowerPriority", "borrow": {"policy": "LowerPriority"}}
    core = scheduler(
        machine("m", cpu=20),
        flavor("any"),
        quota("cohort"),
        quota("beta", {"any": {"cpu": 0}}, parent="cohort", preemption=policy),
        quota("gamma", {"any": {"cpu": 0}}, parent="cohort", preemption=policy),
        quota("delta", {"any": {"cpu": 4}}, parent="cohort", preemption=policy),
        ClassDefined(1, task_class(1, queue="beta")),
        ClassDefined(2, task_class(3, queue="gamma")),
        ClassDefined(3, task_class(1, queue="gamma")),
        ClassDefined(4, task_class(4, queue="delta")),
        TasksBound("m", 1, ("a",), priority=1),
        TasksBound("m", 2, ("b",), priority=1),
        TasksSubmitted(3, ("thief",), priority=0),
    )
    assert list_evicted(core.run_round()) == set()
    core.apply([TasksSubmitted(4, ("large",), priority=9)])
    result = core.run_round()
    evicted = list_evicted(result)
    assert evicted == {"a", "b"}
    assert "large" in placed(result)
    for uid in sorted(evicted, reverse=first == "b"):
        core.apply([TaskRemoved(uid), TasksSubmitted({"a": 1, "b": 2}[uid], (f"{uid}-again",), priority=1)])
        result = core.run_round()
        assert list_evicted(result) == set()
        assert set(placed(result)) <= {"large"}
    core.apply([TasksBound("m", 4, ("large",), priority=9)])
    for _ in range(3):
        assert list_evicted(core.run_round()) == set()


@pytest.mark.full
def test_evictions_end_after_each_of_many_thousand_steps():
    for seed in range(10_000, 10_400):
        run(seed, 50)
