"""Trees of groups in a queue take back quota that others have borrowed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import Job, JobGroup
from firmament.core.results import DeltaKind, RoundResult
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, messages, scheduler, task_class, uids
from tests.support.effort import examples

Borrowers = list[tuple[str, int]]
"""Machine and cores of each task of the queue that has no quota of its own."""


def _tree(sizes: list[tuple[int, int]]) -> list[Event]:
    """A waiting tree of the queue ``own`` in one rack; ``sizes``: cores and number of tasks of each of its groups."""
    names = [f"part-{each}" for each in range(len(sizes))]
    groups = (
        JobGroup("all", least=len(names), within=("rack",)),
        *(JobGroup(name, "all", least=count) for name, (_, count) in zip(names, sizes, strict=True)),
    )
    total = sum(count for _, count in sizes)
    events: list[Event] = [JobDefined(Job("tree", size=total, min_members=total, groups=groups))]
    for number, (name, (cores, count)) in enumerate(zip(names, sizes, strict=True), 1):
        events.append(ClassDefined(number, task_class(cores, queue="own", group=name)))
        events.append(TasksSubmitted(number, uids(name, count), job="tree"))
    return events


def _run(
    own: int, room: dict[str, tuple[str, int]], running: Borrowers, sizes: list[tuple[int, int]]
) -> RoundResult:
    """Run a round; ``room``: rack and cores of each machine; ``own``: the quota of the tree's queue."""
    events: list[Event] = [
        *(machine(name, cpu=cores, labels={"rack": rack}) for name, (rack, cores) in room.items()),
        flavor("any"),
        quota("top"),
        quota("own", {"any": {"cpu": own}}, parent="top", preemption={"reclaim": "Any"}),
        quota("other", {"any": {"cpu": 0}}, parent="top"),
    ]
    for number, (where, cores) in enumerate(running):
        events.append(ClassDefined(100 + number, task_class(cores, queue="other")))
        events.append(TasksBound(where, 100 + number, (f"lent-{number}",)))
    return scheduler(events, _tree(sizes), options=RoundOptions(preemption=True)).run_round()


def _count_victims(
    own: int, room: dict[str, tuple[str, int]], running: Borrowers, sizes: list[tuple[int, int]]
) -> int:
    """Return the fewest borrowers that have to leave, by trying all sets of them; -1 if the tree finds no place."""
    tasks = sorted((cores for cores, count in sizes for _ in range(count)), reverse=True)
    for number in range(len(running) + 1):
        for going in combinations(range(len(running)), number):
            free = {name: cores for name, (_, cores) in room.items()}
            for each, (where, cores) in enumerate(running):
                free[where] -= 0 if each in going else cores
            left = own - sum(cores for each, (_, cores) in enumerate(running) if each not in going)
            racks = {rack for rack, _ in room.values()}
            if sum(tasks) <= left and any(
                _fit(tasks, [cores for name, cores in free.items() if room[name][0] == rack])
                for rack in racks
            ):
                return number
    return -1


def _fit(tasks: list[int], free: list[int]) -> bool:
    if not tasks:
        return True
    return any(
        cores >= tasks[0] and _fit(tasks[1:], [*free[:at], cores - tasks[0], *free[at + 1 :]])
        for at, cores in enumerate(free)
    )


def test_a_tree_takes_back_quota_in_the_rack_where_it_fits():
    room = {"a0": ("a", 4), "a1": ("a", 4), "b0": ("b", 4)}
    result = _run(8, room, [("a0", 3), ("b0", 4)], [(2, 2), (1, 1)])
    gone = {each.uid for each in result.deltas if each.kind is DeltaKind.PREEMPT}
    places = [each for each in result.deltas if each.kind is DeltaKind.PLACE]
    assert gone == {"lent-1"}
    assert {each.machine[0] for each in places} == {"a"}
    assert len(places) == 3
    assert all(set(each.depends_on) == gone for each in places)


def test_a_tree_beyond_the_quota_of_its_queue_evicts_nobody():
    result = _run(5, {"a0": ("a", 8)}, [("a0", 2)], [(2, 3)])
    assert not result.deltas
    assert messages(result)["part-0-0"]


def test_random_trees_evict_as_few_as_a_search_through_all_sets_of_victims():
    evicted = refused = 0
    for seed in range(examples(400, 60)):
        draw = random.Random(seed)
        room = {f"{rack}{n}": (rack, draw.randint(1, 4)) for rack in "ab" for n in range(draw.randint(1, 2))}
        running: Borrowers = []
        free = {name: cores for name, (_, cores) in room.items()}
        for _ in range(draw.randint(0, 4)):
            where, cores = draw.choice(sorted(room)), draw.randint(1, 2)
            if free[where] >= cores:
                free[where] -= cores
                running.append((where, cores))
        own = draw.randint(sum(cores for _, cores in running), 8)
        sizes = [(draw.randint(1, 2), draw.randint(1, 2)) for _ in range(draw.randint(1, 2))]
        result = _run(own, room, running, sizes)
        fewest = _count_victims(own, room, running, sizes)
        gone = [each.uid for each in result.deltas if each.kind is DeltaKind.PREEMPT]
        places = {each.uid: each.machine for each in result.deltas if each.kind is DeltaKind.PLACE}
        assert len(gone) == max(0, fewest), (seed, gone, fewest)
        assert len(places) == (sum(count for _, count in sizes) if fewest >= 0 else 0), seed
        assert len({room[name][0] for name in places.values()}) <= 1, seed
        used = Counter[str]()
        for each, (where, cores) in enumerate(running):
            used[where] += 0 if f"lent-{each}" in gone else cores
        for uid, where in places.items():
            used[where] += sizes[int(uid.split("-")[1])][0]
        assert all(cores <= room[name][1] for name, cores in used.items()), seed
        evicted += len(gone)
        refused += fewest < 0
    assert evicted > 5
    assert refused > 5
