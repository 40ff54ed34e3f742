"""Who goes where queues go by shares: those of whom borrows most, by either strategy, never in a circle."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import pytest

from firmament.core.events import ClassDefined, Event, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, placed, scheduler, task_class
from tests.support.effort import examples

FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
ANY = {"within": "LowerPriority", "reclaim": "Any"}

Running = dict[str, tuple[str, int, int]]
"""Queue, amount and priority of tasks by uid, the first to come first."""


def _gone(result: RoundResult) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT}


def _came(result: RoundResult) -> set[str]:
    return {delta.uid for delta in result.deltas if delta.kind is DeltaKind.PLACE}


def _scene(
    quotas: list[Event], running: Running, waits: tuple[str, int, int], room: int = 1_000_000
) -> Scheduler:
    """A cluster with running tasks, and one that waits: ``new``."""
    events: list[Event] = [machine("m", cpu=room, pods=1_000), flavor("any"), *quotas]
    for number, (uid, (queue, cpu, priority)) in enumerate(running.items(), 10):
        events.append(ClassDefined(number, task_class(cpu, queue=queue)))
        events.append(TasksBound("m", number, (uid,), priority=priority))
    queue, cpu, priority = waits
    events += [
        ClassDefined(1, task_class(cpu, queue=queue)),
        TasksSubmitted(1, ("new",), priority=priority),
    ]
    return scheduler(events)


def _queue(name: str, nominal: int, parent: str = "all", **stated: Any) -> Event:
    return quota(
        name,
        {"any": {"cpu": nominal}},
        **{"parent": parent, "fair": True, "preemption": ANY, **stated},
    )


def _three(**stated: Any) -> list[Event]:
    return [quota("all", fair=True), *(_queue(name, 3, **stated) for name in "abc"), _queue("none", 0)]


def _ones(**counts: int) -> Running:
    return {
        f"{queue}{number}": (queue, 1, 0) for queue, count in counts.items() for number in range(1, count + 1)
    }


def test_quota_of_its_own_is_taken_back_from_who_borrows_most():
    core = _scene(_three(), {**_ones(a=4, b=5)}, ("c", 1, 0))
    assert _gone(core.run_round()) == {"b5"}


def test_quota_is_taken_back_where_machines_are_full_too():
    core = _scene(_three(), _ones(a=3, b=6), ("c", 2, 0), room=9)
    assert _gone(core.run_round()) == {"b5", "b6"}


def test_who_borrows_takes_from_who_borrows_more_and_leaves_it_as_much():
    assert _gone(_scene(_three(), _ones(a=3, b=5, c=1), ("a", 1, 0)).run_round()) == {"b5"}
    assert _gone(_scene(_three(), _ones(a=4, b=4, c=1), ("a", 1, 0)).run_round()) == set()
    assert _gone(_scene(_three(), _ones(a=3, b=3, c=3), ("c", 1, 0)).run_round()) == set()


@pytest.mark.parametrize(
    ("strategies", "goes"), [([FINAL], set()), ([INITIAL], {"b1"}), ([FINAL, INITIAL], {"b1"})]
)
def test_strategies_say_whether_what_is_had_or_what_is_left_counts(strategies: list[str], goes: set[str]):
    policy = {**ANY, "strategies": strategies}
    core = _scene(_three(preemption=policy), {"b1": ("b", 9, 0)}, ("a", 5, 0))
    assert _gone(core.run_round()) == goes


def test_weights_count_and_without_weight_a_queue_gives_first():
    def scene(left: float, right: float) -> Scheduler:
        quotas = [
            quota("all", {"any": {"cpu": 9}}, fair=True),
            _queue("a", 0),
            _queue("left", 0, weight=left),
            _queue("right", 0, weight=right),
        ]
        return _scene(quotas, _ones(left=4, right=5), ("a", 1, 0))

    assert _gone(scene(1.0, 3.0).run_round()) == {"left4"}
    assert _gone(scene(3.0, 1.0).run_round()) == {"right5"}
    assert _gone(scene(0.0, 1.0).run_round()) == {"left4"}


def test_less_important_ones_of_the_own_queue_go_before_others():
    running = {"a0": ("a", 1, -1), "a00": ("a", 1, -1), **_ones(a=2, b=5)}
    assert _gone(_scene(_three(), running, ("a", 2, 0)).run_round()) == {"a0", "a00"}


def test_shares_are_compared_where_the_ways_up_part():
    """Cohorts of equal shares: queues below them are not compared across."""
    quotas = [
        quota("all", {"any": {"cpu": 10}}, fair=True),
        quota("left", parent="all", fair=True),
        quota("right", parent="all", fair=True),
        _queue("l1", 0, "left"),
        _queue("l2", 0, "left"),
        _queue("r1", 0, "right"),
    ]
    alike = _scene(quotas, _ones(l1=1, l2=4, r1=5), ("l1", 1, 0))
    assert _gone(alike.run_round()) == {"l24"}
    more = _scene(quotas, _ones(l1=1, l2=1, r1=8), ("l1", 1, 0))
    assert _gone(more.run_round()) == {"r18"}


def test_who_was_spared_by_the_first_strategy_is_looked_at_again_once_own_ones_go():
    """Both queues have as large a share as they can, until the own one gives back of another resource."""
    quotas: list[Event] = [
        quota("all", fair=True),
        _queue("bank", 9),
        quota("a", {"any": {"cpu": 0, "disk": 1}}, parent="all", fair=True, preemption=ANY),
        _queue("b", 0),
    ]
    events = [machine("m", cpu=100, extended={"disk": 100}), flavor("any"), *quotas]
    small = task_class(0, requests=(("disk", 1),), queue="a")
    both = task_class(0, requests=(("cpu", 3), ("disk", 1)), queue="a")
    events += [ClassDefined(1, small), TasksBound("m", 1, ("a1",))]
    events += [ClassDefined(2, task_class(9, queue="b")), TasksBound("m", 2, ("b1",))]
    events += [ClassDefined(3, both), TasksSubmitted(3, ("new",), priority=1)]
    assert _gone(scheduler(events).run_round()) == {"a1", "b1"}


def test_other_flavors_that_a_queue_borrows_do_not_keep_it_from_what_is_its_own():
    quotas: list[Event] = [
        quota("all", fair=True),
        quota("a", {"any": {"cpu": 3, "disk": 0}}, parent="all", fair=True, preemption=ANY),
        quota("b", {"any": {"cpu": 0, "disk": 6}}, parent="all", fair=True),
    ]
    disks = task_class(0, requests=(("disk", 5),), queue="a")
    running = {"a1": ("a", 2, 0), "b1": ("b", 1, 0)}
    core = _scene(quotas, running, ("a", 1, 0))
    core.apply(
        [machine("n", cpu=9, extended={"disk": 9}), ClassDefined(2, disks), TasksBound("n", 2, ("a2",))]
    )
    assert _gone(core.run_round()) == {"b1"}


def test_of_several_resources_the_one_that_is_lacking_decides_who_takes_from_whom():
    """`a` borrows a disk that is free, and lacks cores of its own: `c` has these, `b` borrows more, but of disks."""
    quotas: list[Event] = [
        quota("all", fair=True),
        quota("bank", {"any": {"cpu": 0, "disk": 9}}, parent="all", fair=True),
        quota("a", {"any": {"cpu": 3, "disk": 0}}, parent="all", fair=True, preemption=ANY),
        quota("b", {"any": {"cpu": 2, "disk": 0}}, parent="all", fair=True),
        quota("c", {"any": {"cpu": 0, "disk": 0}}, parent="all", fair=True),
    ]
    events = [machine("m", cpu=100, extended={"disk": 100}), flavor("any"), *quotas]
    for number, (uid, queue, cpu, disk) in enumerate(
        [("a1", "a", 2, 2), ("b1", "b", 1, 0), ("b2", "b", 1, 5), ("c1", "c", 1, 0), ("new", "a", 1, 1)]
    ):
        content = task_class(0, requests=(("cpu", cpu), ("disk", disk)), queue=queue)
        events.append(ClassDefined(number, content))
        events.append(TasksSubmitted(number, (uid,)) if uid == "new" else TasksBound("m", number, (uid,)))
    assert _gone(scheduler(events).run_round()) == {"c1"}


def test_shares_do_not_reach_tasks_that_policies_protect():
    policy = {"reclaim": "LowerPriority"}
    running = {**_ones(a=3), **{f"b{n}": ("b", 1, n % 2) for n in range(6)}}
    assert _gone(_scene(_three(preemption=policy), running, ("a", 1, 0)).run_round()) == set()
    assert _gone(_scene(_three(preemption=policy), running, ("a", 1, 1)).run_round()) == {"b4"}


def test_quota_that_comes_back_anyway_costs_nobody_a_place():
    """What is left of the quota of one that is told to go is another's as well: nobody else has to."""
    running = {"b1": ("b", 4, 0), "b2": ("b", 5, 0)}
    core = _scene(_three(), running, ("a", 3, 0))
    gone = _gone(core.run_round())
    assert gone == {"b2"}
    core.apply([ClassDefined(2, task_class(1, queue="c")), TasksSubmitted(2, ("other",))])
    second = core.run_round()
    assert _gone(second) == set()
    assert {delta.uid: delta.depends_on for delta in second.deltas} == {"other": ("b2",)}


# --- fewest, against all sets ---------------------------------------------------------------------------------------


def _share(use: int, nominal: int, lendable: int) -> float:
    return max(0, use - nominal) * 1000 / lendable


def _is_allowed(
    running: Running, gone: tuple[str, ...], waits: tuple[str, int, int], own: dict[str, int]
) -> bool:
    """Whether shares let a set go in some order, each step with the one that waits counted in its queue."""
    queue, cpu, _ = waits
    total = sum(own.values())
    use = {name: sum(each[1] for each in running.values() if each[0] == name) for name in own}
    use[queue] += cpu

    def go(left: frozenset[str], lenient: bool) -> bool:
        if not left:
            return True
        for uid in sorted(left):
            other, amount, _ = running[uid]
            before, mine = _share(use[other], own[other], total), _share(use[queue], own[queue], total)
            within = use[queue] <= own[queue]
            use[other] -= amount
            after = _share(use[other], own[other], total)
            fine = other == queue or (before > 0 and (within or mine <= after or (lenient and mine < before)))
            done = fine and go(left - {uid}, lenient)
            use[other] += amount
            if done:
                return True
        return False

    return go(frozenset(gone), False) or go(frozenset(gone), True)


def _draw(seed: int) -> tuple[Running, tuple[str, int, int], dict[str, int]]:
    draw = random.Random(seed)
    own = {name: draw.randint(0, 4) for name in "abc"}
    left = sum(own.values())
    running: Running = {}
    while left and len(running) < 7:
        cpu = draw.randint(1, min(3, left))
        running[f"r{len(running)}"] = draw.choice("abc"), cpu, draw.randint(0, 1)
        left -= cpu
    return running, (draw.choice("abc"), draw.randint(1, 3), draw.randint(0, 1)), own


def test_no_fewer_could_go_by_shares():
    """Sets that the order of states refuses aside, nobody waits for whom a set would do, and the smallest goes."""
    found = refused = 0
    for seed in range(examples(300, least=24, slow=True)):
        running, waits, own = _draw(seed)
        quotas = [quota("all", fair=True), *(_queue(name, amount) for name, amount in own.items())]
        result = _scene(quotas, running, waits).run_round()
        queue, cpu, priority = waits
        free = sum(own.values()) - sum(each[1] for each in running.values())
        fewest = next(
            (
                size
                for size in range(len(running) + 1)
                for gone in combinations(running, size)
                if free + sum(running[uid][1] for uid in gone) >= cpu
                and all(running[uid][0] != queue or running[uid][2] < priority for uid in gone)
                and _is_allowed(running, gone, waits, own)
            ),
            None,
        )
        gone = _gone(result)
        if "new" not in _came(result):
            refused += fewest is not None
            continue
        assert fewest is not None, seed
        assert not gone or _is_allowed(running, tuple(gone), waits, own), seed
        assert len(gone) >= fewest, seed
        found += bool(gone)
    assert found > 5
    assert refused * 5 <= found


# --- never in a circle ----------------------------------------------------------------------------------------------


def settle(core: Scheduler, classes: dict[str, tuple[int, Any, int]], most: int) -> int:
    """Run rounds as long as somebody is evicted, who then waits anew; returns how many were."""
    evicted = 0
    for _ in range(most):
        result = core.run_round()
        gone = _gone(result)
        evicted += len(gone)
        events: list[Event] = [TaskRemoved(uid) for uid in gone]
        for uid in gone:
            number, content, priority = classes[uid]
            events += [ClassDefined(number, content), TasksSubmitted(number, (uid,), priority=priority)]
        core.apply(events)
        came = {uid: at for uid, at in placed(result).items() if uid in _came(result)}
        core.apply(
            [TasksBound(at, classes[uid][0], (uid,), priority=classes[uid][2]) for uid, at in came.items()]
        )
        if not gone:
            return evicted
    raise AssertionError("they evict each other without end")


def _arrive(core: Scheduler, arrivals: list[tuple[str, str, int, int]]) -> int:
    """Let tasks come one after another: uid, queue, amount, priority; returns how many were evicted."""
    classes: dict[str, tuple[int, Any, int]] = {}
    evicted = 0
    for number, (uid, queue, cpu, priority) in enumerate(arrivals, 1):
        content = task_class(cpu, queue=queue)
        classes[uid] = number, content, priority
        core.apply([ClassDefined(number, content), TasksSubmitted(number, (uid,), priority=priority)])
        evicted += settle(core, classes, 30)
    return evicted


def test_one_large_task_and_several_small_ones_do_not_take_turns():
    """What two queues have swings over the middle whenever one of them gets its way."""
    core = scheduler(
        machine("m", cpu=1_000),
        flavor("any"),
        quota("all", {"any": {"cpu": 90}}, fair=True),
        _queue("p", 0),
        _queue("t", 0),
    )
    arrivals = [("p1", "p", 50, 0), ("t1", "t", 40, 0), ("t2", "t", 9, 0), ("t3", "t", 41, 0)]
    assert _arrive(core, arrivals) <= 2


def test_own_tasks_that_go_do_not_open_others_that_shares_protect():
    """With those of its own queue gone its share falls; if they may stay after all, the share is what it was."""
    core = scheduler(
        machine("m", cpu=1_000),
        flavor("any"),
        quota("all", {"any": {"cpu": 12}}, fair=True),
        _queue("a", 0),
        _queue("b", 0),
    )
    arrivals = [
        ("a1", "a", 2, 0),
        ("a2", "a", 4, -1),
        ("b1", "b", 3, 0),
        ("b2", "b", 3, 0),
        ("a3", "a", 3, 1),
        ("b3", "b", 3, 1),
    ]
    assert _arrive(core, arrivals) <= 6


def _run_loop(seed: int) -> None:
    draw = random.Random(seed)
    policies = [
        {
            "within": draw.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            "reclaim": draw.choice(["Never", "LowerPriority", "Any", "Any"]),
            "strategies": draw.choice([[FINAL], [INITIAL], [FINAL, INITIAL]]),
        }
        for _ in range(5)
    ]
    nested = draw.random() < 0.4
    parents = ["left", "left", "right", "right"] if nested else ["all"] * 4
    events: list[Event] = [
        machine("m", cpu=1_000),
        flavor("any"),
        quota("all", {"any": {"cpu": draw.randint(0, 10)}}, fair=True),
        *(
            quota(name, {"any": {"cpu": draw.randint(0, 4)}}, parent="all", fair=True)
            for name in ("left", "right")
        ),
    ]
    names = ["q0", "q1", "q2", "q3"]
    for name, parent, policy in zip(names, parents, policies, strict=False):
        weight = draw.choice([0.0, 0.5, 1.0, 1.0, 2.0])
        events.append(_queue(name, draw.randint(0, 4), parent, preemption=policy, weight=weight))
    arrivals = [
        (f"t{step}", draw.choice(names), draw.randint(1, 6), draw.randint(0, 1))
        for step in range(draw.randint(4, 10))
    ]
    _arrive(scheduler(events), arrivals)


def test_evictions_by_shares_end():
    for seed in range(examples(120, least=8, slow=True)):
        _run_loop(seed)


@pytest.mark.full
def test_evictions_by_shares_end_in_thousands_of_cases():
    for seed in range(1_000, 5_000):
        _run_loop(seed)
