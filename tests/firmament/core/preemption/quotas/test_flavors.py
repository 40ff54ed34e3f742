"""Tasks that rather evict in one flavor than take a place in another, by the settings of their queue."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.judge.drawn_queues.drawing import draw_case
from benchmarks.judge.drawn_queues.this_scheduler import decide_here
from firmament.core.events import ClassDefined, Event, JobDefined, RecordUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.preemption.quotas import test_histories as histories
from tests.firmament.core.preemption.quotas.test_reclaim import list_evicted
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks, uids
from tests.support.effort import examples

OWN = {"within": "LowerPriority", "reclaim": "Any", "borrow": {"policy": "LowerPriority"}}


def _scene(first: int, second: int, lent: int = 0, **stated: Any) -> Scheduler:
    """A queue with two flavors; ``lent``: what a cohort lends of the second one."""
    return scheduler(
        machine("one", cpu=20, labels={"kind": "one"}),
        machine("two", cpu=20, labels={"kind": "two"}),
        flavor("one", kind="one"),
        flavor("two", kind="two"),
        quota("cohort", {"one": {"cpu": 0}, "two": {"cpu": lent}}),
        quota(
            "team",
            {"one": {"cpu": first}, "two": {"cpu": second}},
            parent="cohort",
            preemption=OWN,
            **stated,
        ),
        ClassDefined(1, task_class(1, queue="team")),
    )


def _places(result: RoundResult) -> dict[str, str]:
    return {delta.uid: delta.machine for delta in result.deltas if delta.kind is DeltaKind.PLACE}


@pytest.mark.parametrize(("policy", "at"), [("TryNextFlavor", "two"), ("MayStopSearch", "one")])
def test_a_queue_says_whether_its_tasks_evict_before_they_take_a_later_flavor(policy: str, at: str):
    core = _scene(2, 2, whenCanPreempt=policy)
    core.apply([TasksBound("one", 1, ("old", "older"), priority=0)])
    core.apply([*tasks(1, "new", content=task_class(1, queue="team"), priority=1)])
    result = core.run_round()
    assert _places(result) == {"new": at}
    assert len(list_evicted(result)) == (at == "one")


def test_who_finds_nobody_to_evict_takes_the_later_flavor():
    core = _scene(2, 2, whenCanPreempt="MayStopSearch")
    core.apply([TasksBound("one", 1, ("old", "older"), priority=5)])
    core.apply([*tasks(1, *uids("new", 2), content=task_class(1, queue="team"), priority=1)])
    result = core.run_round()
    assert _places(result) == dict.fromkeys(uids("new", 2), "two")
    assert not list_evicted(result)


def test_of_many_only_those_go_to_the_first_flavor_for_whom_others_can_leave():
    core = _scene(3, 9, whenCanPreempt="MayStopSearch")
    core.apply([TasksBound("one", 1, ("low",), priority=0), TasksBound("one", 1, ("x", "y"), priority=9)])
    core.apply([*tasks(1, *uids("new", 4), content=task_class(1, queue="team"), priority=1)])
    result = core.run_round()
    assert list_evicted(result) == {"low"}
    assert sorted(_places(result).values()) == ["one", "two", "two", "two"]


@pytest.mark.parametrize(
    ("preference", "borrow", "at"),
    [
        ("BorrowingOverPreemption", "TryNextFlavor", "two"),
        ("PreemptionOverBorrowing", "TryNextFlavor", "one"),
        ("PreemptionOverBorrowing", "MayStopSearch", "one"),
    ],
)
def test_a_queue_says_whether_its_tasks_rather_borrow_or_evict(preference: str, borrow: str, at: str):
    core = _scene(1, 1, lent=5, preference=preference, whenCanBorrow=borrow)
    core.apply([TasksBound("one", 1, ("a",), priority=0), TasksBound("two", 1, ("b",), priority=9)])
    core.apply([*tasks(1, "new", content=task_class(1, queue="team"), priority=1)])
    result = core.run_round()
    assert _places(result) == {"new": at}
    assert list_evicted(result) == ({"a"} if at == "one" else set())


def test_a_queue_evicts_for_those_that_would_borrow_and_not_for_those_within_its_quota():
    """Two tasks are within the quota of the second flavor; the third, the least important, would borrow."""
    core = _scene(1, 2, lent=5, preference="PreemptionOverBorrowing", whenCanBorrow="TryNextFlavor")
    core.apply([TasksBound("one", 1, ("old",), priority=0)])
    for uid, priority in (("first", 3), ("second", 2), ("third", 1)):
        core.apply([*tasks(1, uid, content=task_class(1, queue="team"), priority=priority)])
    result = core.run_round()
    assert list_evicted(result) == {"old"}
    assert _places(result) == {"first": "two", "second": "two", "third": "one"}


@pytest.mark.parametrize("victims", [2, 1])
def test_a_gang_evicts_for_all_its_tasks_or_for_none(victims: int):
    core = _scene(2, 2, whenCanPreempt="MayStopSearch")
    core.apply([TasksBound("one", 1, uids("old", victims), priority=0)])
    core.apply([TasksBound("one", 1, uids("firm", 2 - victims), priority=9)] if victims < 2 else [])
    core.apply([JobDefined(Job("gang", size=2, min_members=2))])
    core.apply([TasksSubmitted(1, ("g0", "g1"), job="gang", priority=1)])
    result = core.run_round()
    assert set(_places(result).values()) == ({"one"} if victims == 2 else {"two"})
    assert len(list_evicted(result)) == (2 if victims == 2 else 0)


def test_a_gang_with_a_task_outside_the_queue_is_not_divided():
    core = _scene(2, 2, whenCanPreempt="MayStopSearch")
    core.apply([TasksBound("one", 1, ("old", "older"), priority=0)])
    core.apply([JobDefined(Job("gang", size=2, min_members=2)), ClassDefined(2, task_class(1))])
    core.apply([TasksSubmitted(1, ("g0",), job="gang", priority=1)])
    core.apply([TasksSubmitted(2, ("g1",), job="gang", priority=1)])
    result = core.run_round()
    assert _places(result).keys() == {"g0", "g1"}
    assert not list_evicted(result)


class World(histories.World):
    """Two flavors, and queues that choose among them in all ways."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        self.fair = draw.random() < 0.3
        self.number = 0
        self.classes = {}
        events: list[Event] = [
            machine("a", cpu=draw.randint(3, 9), labels={"kind": "one"}),
            machine("b", cpu=draw.randint(3, 9), labels={"kind": "two"}),
            flavor("one", kind="one"),
            flavor("two", kind="two"),
            quota("root", self._draw_amounts(3)),
            quota("left", self._draw_amounts(3), parent="root", fair=self.fair),
        ]
        self.core = scheduler(*events, *(self.state_quota(name) for name in histories.QUEUES))

    def _draw_amounts(self, most: int) -> dict[str, dict[str, int]]:
        return {name: {"cpu": self.draw.randint(0, most)} for name in ("one", "two")}

    def state_quota(self, name: str) -> RecordUpserted:
        draw = self.draw
        policy = {
            "within": draw.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            "reclaim": draw.choice(["Never", "LowerPriority", "Any"]),
            "borrow": {"policy": draw.choice(["Never", "LowerPriority"])},
        }
        return quota(
            name,
            self._draw_amounts(4),
            parent=histories.QUEUES[name],
            fair=self.fair,
            preemption=policy,
            whenCanBorrow=draw.choice(["MayStopSearch", "TryNextFlavor"]),
            whenCanPreempt=draw.choice(["MayStopSearch", "TryNextFlavor"]),
            preference=draw.choice(["BorrowingOverPreemption", "PreemptionOverBorrowing"]),
        )


def run(seed: int, steps: int) -> None:
    world = World(seed)
    for _ in range(steps):
        world.step()


def test_evictions_end_whatever_flavors_queues_prefer():
    for seed in range(examples(100, least=15)):
        run(seed, 20)


def test_evictions_end_where_each_of_four_tasks_took_the_place_of_the_next():
    """One takes the place of another of its queue, and borrows; the third reclaims from it, and so on."""
    run(20_001_390, 20)


@pytest.mark.parametrize(("own", "goes"), [(4, False), (0, True)])
def test_a_gang_that_borrows_of_another_flavor_stays(own: int, goes: bool):
    """A part of it runs on the only machine of the first flavor; of that its queue uses its own quota, or borrows."""
    core = scheduler(
        machine("a", cpu=4, labels={"kind": "one"}),
        machine("b", cpu=4, labels={"kind": "two"}),
        flavor("one", kind="one"),
        flavor("two", kind="two"),
        quota("cohort", {"one": {"cpu": 1}, "two": {"cpu": 4}}),
        quota("guest", {"one": {"cpu": own}, "two": {"cpu": 0}}, parent="cohort"),
        quota(
            "host",
            {"one": {"cpu": 4}, "two": {"cpu": 0}},
            parent="cohort",
            preemption={"reclaim": "Any", "borrow": {"policy": "LowerPriority"}},
        ),
        JobDefined(Job("gang", size=2, min_members=2, disrupted_whole=True)),
        ClassDefined(1, task_class(1, queue="guest")),
        TasksBound("a", 1, ("g0",), job="gang", priority=2),
        TasksBound("b", 1, ("g1",), job="gang", priority=2),
        ClassDefined(2, task_class(4, queue="host", node_selector=(("kind", "one"),))),
        TasksSubmitted(2, ("whole-machine",)),
    )
    assert list_evicted(core.run_round()) == ({"g0", "g1"} if goes else set())


def test_of_flavors_in_which_others_go_the_one_with_the_least_borrowing_comes_first():
    """In the first flavor the queue would have to borrow; in the second one it takes back its own."""
    policy = {"reclaim": "Any", "borrow": {"policy": "LowerPriority"}}
    core = scheduler(
        machine("a", cpu=9, labels={"kind": "one"}),
        machine("b", cpu=9, labels={"kind": "two"}),
        flavor("one", kind="one"),
        flavor("two", kind="two"),
        quota("cohort", {"one": {"cpu": 2}, "two": {"cpu": 0}}),
        quota(
            "left",
            {"one": {"cpu": 0}, "two": {"cpu": 2}},
            parent="cohort",
            podSetFlavors="Same",
            preemption=policy,
        ),
        quota("right", {"one": {"cpu": 0}, "two": {"cpu": 0}}, parent="cohort"),
        ClassDefined(1, task_class(2, queue="right")),
        ClassDefined(2, task_class(2, queue="left")),
        TasksBound("a", 1, ("in-one",)),
        TasksBound("b", 1, ("in-two",)),
        TasksSubmitted(2, ("comes",), priority=1),
    )
    found = {delta.uid: delta.machine for delta in core.run_round().deltas}
    assert found["comes"] == "b"
    assert "in-two" in found
    assert "in-one" not in found


def test_a_task_that_borrows_for_a_less_important_one_alone_evicts_nobody():
    """The younger of two gangs has to borrow in the first flavor; the older one need not, and stays there."""
    found = decide_here(draw_case(602079))
    assert sorted(found.admitted) == ["waiting-0", "waiting-1"]
    assert found.evicted == ()


def test_of_equal_tasks_one_evicts_if_only_that_one_borrows():
    """Both have got the first flavor; only the later one borrows there, and rather evicts in the second flavor."""
    core = scheduler(
        machine("one", cpu=20, labels={"kind": "one"}),
        machine("two", cpu=20, labels={"kind": "two"}),
        flavor("one", kind="one"),
        flavor("two", kind="two"),
        quota("cohort", {"one": {"cpu": 5}, "two": {"cpu": 0}}),
        quota(
            "team",
            {"one": {"cpu": 2}, "two": {"cpu": 2}},
            parent="cohort",
            preemption=OWN,
            whenCanPreempt="MayStopSearch",
            whenCanBorrow="TryNextFlavor",
        ),
        ClassDefined(1, task_class(2, queue="team")),
        TasksBound("two", 1, ("old",), priority=0),
        tasks(2, "new", "newer", content=task_class(2, queue="team"), priority=1),
    )
    result = core.run_round()
    assert sorted(_places(result).values()) == ["one", "two"]
    assert list_evicted(result) == {"old"}
