"""What tasks for which others are evicted wait for: victims, the first of their gang, and tasks they must be near."""

from __future__ import annotations

from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job
from firmament.core.results import Delta, DeltaKind, RoundResult
from tests.support.core import machine, scheduler, task_class, tasks
from tests.support.rules import near

HOST = "kubernetes.io/hostname"


def node(name: str, cpu: int) -> Event:
    return machine(name, cpu=cpu, labels={HOST: name})


def running(number: int, on: str, *uids: str, cpu: int) -> list[Event]:
    """Tasks of priority 0 that run."""
    return [ClassDefined(number, task_class(cpu)), TasksBound(on, number, uids)]


def deltas(result: RoundResult) -> tuple[dict[str, Delta], dict[str, Delta]]:
    """The deltas that evict, and those that place, by uid."""
    evicted = {each.uid: each for each in result.deltas if each.kind is DeltaKind.PREEMPT}
    coming = {each.uid: each for each in result.deltas if each.kind is DeltaKind.PLACE}
    return evicted, coming


def test_a_task_comes_after_its_victims():
    core = scheduler(
        node("m", 1000),
        running(1, "m", "a", "b", cpu=500),
        tasks(2, "t", content=task_class(1000), priority=9),
    )
    result = core.run_round()
    assert [(each.kind, each.uid, each.machine) for each in result.deltas] == [
        (DeltaKind.PREEMPT, "a", "m"),
        (DeltaKind.PREEMPT, "b", "m"),
        (DeltaKind.PLACE, "t", "m"),
    ]
    assert result.deltas[-1].depends_on == ("a", "b")
    assert not any(each.beyond_budget or each.withdrawn for each in result.deltas)


def test_the_members_of_a_gang_come_after_the_first():
    core = scheduler(
        node("m", 1000),
        node("n", 1000),
        running(1, "m", "a", cpu=1000),
        running(2, "n", "b", cpu=1000),
        [
            JobDefined(Job("g", min_members=2)),
            ClassDefined(3, task_class(1000)),
            TasksSubmitted(3, ("g0", "g1"), job="g", priority=9),
        ],
    )
    evicted, coming = deltas(core.run_round())
    assert evicted.keys() == {"a", "b"}
    first, second = (coming[uid] for uid in ("g0", "g1"))
    assert set(first.depends_on) == {"a", "b"}, "the first waits for the victims of all"
    assert set(second.depends_on) == {"g0", "a" if second.machine == "m" else "b"}


def test_a_task_that_must_be_near_one_of_the_round_comes_after_it():
    follower = task_class(1000, affinity=near("leader", HOST))
    leader = task_class(1000, labels=(("app", "leader"),))
    core = scheduler(
        node("m", 2000),
        running(1, "m", "a", cpu=1000),
        tasks(2, "leads", content=leader, priority=9),
        tasks(3, "follows", content=follower, priority=9),
    )
    evicted, coming = deltas(core.run_round())
    assert evicted.keys() == {"a"}
    assert coming["leads"].depends_on == ()
    assert coming["follows"].depends_on == ("a", "leads")
    assert core.run_round().deltas == ()


def test_two_that_come_after_evictions_and_must_be_near_each_other():
    leader = task_class(1000, labels=(("app", "leader"),))
    follower = task_class(1000, affinity=near("leader", HOST))
    core = scheduler(
        node("m", 2000),
        running(1, "m", "a", "b", cpu=1000),
        tasks(2, "leads", content=leader, priority=9),
        tasks(3, "follows", content=follower, priority=8),
    )
    evicted, coming = deltas(core.run_round())
    assert evicted.keys() == {"a", "b"}
    assert coming["leads"].depends_on == ("a", "b")
    assert coming["follows"].depends_on == ("a", "b", "leads")
    assert core.run_round().deltas == ()


def test_an_eviction_is_withdrawn_once_the_task_for_which_it_was_made_is_gone():
    core = scheduler(
        node("m", 1000), running(1, "m", "a", cpu=1000), tasks(2, "t", content=task_class(1000), priority=9)
    )
    evicted, _ = deltas(core.run_round())
    assert evicted.keys() == {"a"}
    core.apply([TaskRemoved("t")])
    (withdrawn,) = core.run_round().deltas
    assert (withdrawn.kind, withdrawn.uid, withdrawn.machine, withdrawn.withdrawn) == (
        DeltaKind.PREEMPT,
        "a",
        "m",
        True,
    )
    assert core.run_round().deltas == ()


def test_a_victim_that_leaves_for_several_is_evicted_once():
    core = scheduler(
        node("m", 1000),
        running(1, "m", "a", cpu=1000),
        tasks(2, "t", "u", content=task_class(500), priority=9),
    )
    first = core.run_round()
    evicted, coming = deltas(first)
    assert [each.uid for each in first.deltas if each.kind is DeltaKind.PREEMPT] == ["a"]
    assert evicted.keys() == {"a"}
    assert {uid: each.depends_on for uid, each in coming.items()} == {"t": ("a",), "u": ("a",)}
    assert core.run_round().deltas == ()
