"""Pod sets of which all tasks take the same flavor, as Kueue assigns flavors."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job, TaskClass
from firmament.core.results import DeltaKind, RoundResult
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, messages, scheduler, task_class, tasks, uids
from tests.support.effort import examples

FLAVORS = ("red", "green", "blue")
TEAM = task_class(1000, queue="team")
LARGE = task_class(2000, queue="team")


def _gang(name: str, number: int, size: int, content: TaskClass = TEAM, priority: int = 0) -> list[Event]:
    names = uids(f"{name}-{number}", size)
    return [ClassDefined(number, content), TasksSubmitted(number, names, job=name, priority=priority)]


def _find_places(result: RoundResult) -> dict[str, str]:
    return {each.uid: each.machine for each in result.deltas if each.kind is DeltaKind.PLACE}


def _machines(*cores: int) -> list[Any]:
    return [
        machine(each, cpu=most, labels={"kind": each}) for each, most in zip(FLAVORS, cores, strict=False)
    ]


def _flavors() -> list[Any]:
    return [flavor(each, kind=each) for each in FLAVORS]


def _team(*amounts: int, **stated: Any) -> Any:
    nominal = {each: {"cpu": most} for each, most in zip(FLAVORS, amounts, strict=False)}
    return quota("team", nominal, podSetFlavors="Same", **stated)


def test_a_pod_set_takes_the_first_flavor_that_has_enough_for_all():
    core = scheduler(
        *_machines(2000, 9000, 9000),
        *_flavors(),
        _team(9000, 4000, 4000),
        JobDefined(Job("job", size=4, min_members=4)),
        *_gang("job", 1, 4),
    )
    assert set(_find_places(core.run_round()).values()) == {"green"}


def test_two_pod_sets_of_a_gang_may_take_two_flavors():
    core = scheduler(
        *_machines(3000, 4000),
        *_flavors(),
        _team(3000, 4000),
        JobDefined(Job("job", size=5, min_members=5)),
        *_gang("job", 1, 3),
        *_gang("job", 2, 2, LARGE),
    )
    where = _find_places(core.run_round())
    assert {where[uid] for uid in uids("job-1", 3)} == {"red"}
    assert {where[uid] for uid in uids("job-2", 2)} == {"green"}


def _leader_and_workers(workers: int) -> list[Event]:
    """A gang of a leader and its workers, two pod sets of one group."""
    return [
        JobDefined(Job("job", size=1 + workers, min_members=1 + workers)),
        *_gang("job", 1, 1, task_class(1000, queue="team", flavor_group="lws")),
        *_gang("job", 2, workers, task_class(2000, queue="team", flavor_group="lws")),
    ]


def test_a_leader_and_its_workers_take_the_same_flavor():
    machines, flavors = _machines(9000, 9000), _flavors()
    core = scheduler(*machines, *flavors, _team(8000, 9000), *_leader_and_workers(4))
    assert set(_find_places(core.run_round()).values()) == {"green"}
    # In red there is enough for the leader, in green for the workers, and in none of them for both.
    core = scheduler(*machines, *flavors, _team(1000, 8000), *_leader_and_workers(4))
    result = core.run_round()
    assert not _find_places(result)
    assert messages(result)["job-1-0"]


def test_workers_that_come_later_take_the_flavor_of_their_leader():
    core = scheduler(
        *_machines(9000, 9000), *_flavors(), _team(3000, 9000), JobDefined(Job("job", size=3, min_members=2))
    )
    leader, *workers = _leader_and_workers(2)[1:]
    core.apply([leader, TasksBound("red", 1, uids("job-1", 1), job="job")])
    core.apply(workers)
    assert list(_find_places(core.run_round()).values()) == ["red"]


def test_a_pod_set_that_no_flavor_can_take_waits_and_another_gang_goes():
    core = scheduler(
        *_machines(3000, 3000),
        *_flavors(),
        _team(3000, 3000),
        JobDefined(Job("job", size=4, min_members=4)),
        JobDefined(Job("late", size=3, min_members=3)),
        *_gang("job", 1, 4),
        *_gang("late", 2, 3, task_class(1000, queue="team", labels=(("a", "b"),))),
    )
    result = core.run_round()
    assert len(set(_find_places(result).values())) == 1
    assert set(_find_places(result)) == set(uids("late-2", 3))
    assert messages(result)["job-1-0"]


def test_tasks_that_come_later_take_the_flavor_of_those_that_run():
    core = scheduler(
        *_machines(3000, 9000),
        *_flavors(),
        _team(9000, 9000),
        JobDefined(Job("job", size=5, min_members=2)),
        *_gang("job", 1, 2),
    )
    assert set(_find_places(core.run_round()).values()) == {"red"}
    core.apply([TasksSubmitted(1, tuple(f"more-{each}" for each in range(3)), job="job")])
    assert list(_find_places(core.run_round()).values()) == ["red"]


@pytest.mark.parametrize("policy", ["TryNextFlavor", "MayStopSearch"])
def test_a_pod_set_evicts_in_one_flavor(policy: str):
    core = scheduler(
        *_machines(3000, 3000),
        *_flavors(),
        _team(3000, 3000, preemption={"within": "LowerPriority"}, whenCanPreempt=policy),
        JobDefined(Job("low", size=2, min_members=2)),
        *_gang("low", 1, 2),
        tasks(3, *uids("single", 2), content=task_class(1000, queue="team", labels=(("a", "b"),))),
        options=RoundOptions(preemption=True),
    )
    core.run_round()
    core.apply(
        [
            TasksBound("red", 1, uids("low-1", 2), job="low"),
            TasksBound("red", 3, ("single-0",)),
            TasksBound("green", 3, ("single-1",)),
        ]
    )
    core.apply([JobDefined(Job("high", size=3, min_members=3)), *_gang("high", 2, 3, priority=5)])
    result = core.run_round()
    where = _find_places(result)
    assert set(where) == set(uids("high-2", 3))
    assert len(set(where.values())) == 1


@pytest.mark.parametrize(("priority", "evicted"), [(2, "other-0"), (9, "own-0")])
def test_a_task_evicts_in_the_first_flavor_in_which_its_own_queue_keeps_all(priority: int, evicted: str):
    """Its queue can evict a task of its own in red, and in green one of a queue with a larger share, if that is less
    important.
    """
    fair = {"parent": "top", "fair": True}
    strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    policies = {"within": "LowerPriority", "reclaim": "LowerPriority", "strategies": strategies}
    core = scheduler(
        *_machines(10_000, 10_000),
        *_flavors(),
        quota("top", fair=True),
        _team(7000, 7000, preemption=policies, **fair),
        quota("other", {"red": {"cpu": 3000}, "green": {"cpu": 3000}}, **fair),
        ClassDefined(1, task_class(5000, queue="team")),
        ClassDefined(2, task_class(8000, queue="team")),
        ClassDefined(3, task_class(5000, queue="other")),
        options=RoundOptions(preemption=True),
    )
    core.apply(
        [
            TasksBound("red", 1, ("own-0",), priority=1),
            TasksBound("green", 3, ("other-0",), priority=priority),
            TasksSubmitted(2, ("late",), priority=5),
        ]
    )
    result = core.run_round()
    assert [each.uid for each in result.deltas if each.kind is DeltaKind.PREEMPT] == [evicted]


def test_random_gangs_go_iff_some_flavor_has_enough_and_none_is_divided():
    """The oracle tries every flavor for each pod set of the only gang, by counting."""
    went = 0
    for seed in range(150):
        draw = random.Random(seed)
        cores, amounts = [[draw.randrange(6) * 1000 for _ in FLAVORS] for _ in range(2)]
        size, more = draw.randint(2, 5), draw.randint(0, 2)
        core = scheduler(
            *_machines(*cores),
            *_flavors(),
            _team(*amounts, whenCanBorrow=draw.choice(["MayStopSearch", "TryNextFlavor"])),
            JobDefined(Job("job", size=size + more, min_members=size + more)),
            *_gang("job", 1, size),
            *(_gang("job", 2, more, LARGE) if more else ()),
        )
        where = _find_places(core.run_round())
        left = [min(pair) // 1000 for pair in zip(cores, amounts, strict=True)]
        possible = any(
            all(left[at] >= size * (at == first) + 2 * more * (at == second) for at in range(3))
            for first in range(3)
            for second in range(3)
        )
        assert len(where) == (size + more if possible else 0), seed
        went += possible
        for number in (1, 2):
            assert len({kind for uid, kind in where.items() if uid.startswith(f"job-{number}-")}) < 2, seed
    assert 30 < went < 120


@pytest.mark.parametrize("policy", ["TryNextFlavor", "MayStopSearch"])
def test_no_pod_set_is_ever_divided_in_random_histories(policy: str):
    """Gangs come with random priorities, some grow, some end; machines of a flavor are several."""
    most = evicted = 0
    for seed in range(examples(12, 4)):
        draw = random.Random(seed)
        core = scheduler(
            *(
                machine(f"{each}{n}", cpu=draw.randint(1, 4) * 1000, labels={"kind": each})
                for each in FLAVORS
                for n in range(3)
            ),
            *_flavors(),
            quota("top"),
            *(
                quota(
                    name,
                    {each: {"cpu": draw.randint(0, 6) * 1000} for each in FLAVORS},
                    parent="top",
                    podSetFlavors="Same",
                    whenCanPreempt=policy,
                    preemption={"within": "LowerPriority", "reclaim": "Any"},
                )
                for name in ("team", "other")
            ),
            options=RoundOptions(preemption=True),
        )
        at: dict[str, str] = {}
        priorities: dict[str, tuple[int, int]] = {}
        for step in range(12):
            queue, size = draw.choice(["team", "other"]), draw.randint(2, 4)
            content = task_class(1000, queue=queue)
            number, priority = (1 if queue == "team" else 2), draw.randrange(3)
            core.apply(
                [
                    JobDefined(Job(f"j{step}", size=size + 1, min_members=size)),
                    *_gang(f"j{step}", number, size + 1, content, priority),
                ]
            )
            result = core.run_round()
            gone = [each.uid for each in result.deltas if each.kind is DeltaKind.PREEMPT]
            evicted += len(gone)
            gone += [uid for uid in at if draw.random() < 0.05]
            core.apply([TaskRemoved(uid) for uid in gone])
            new = _find_places(result)
            priorities[f"j{step}"] = number, priority
            for uid, name in new.items():
                job = uid.partition("-")[0]
                core.apply(
                    [TasksBound(name, priorities[job][0], (uid,), job=job, priority=priorities[job][1])]
                )
            at = {uid: name for uid, name in (at | new).items() if uid not in gone}
            kinds: dict[str, set[str]] = defaultdict(set)
            for uid, name in at.items():
                kinds[uid.partition("-")[0]].add(name[:-1])
            core.apply([TaskRemoved(uid) for uid in gone])
            assert all(len(each) == 1 for each in kinds.values()), (seed, step, kinds)
            most = max(most, len(kinds))
    assert most > 3
    assert evicted > 10
