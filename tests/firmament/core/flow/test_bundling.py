"""Like classes are one class of the network, and get their places in order of wait, then of class."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.flow.reduction import merge_classes
from firmament.core.placement.outcome import Means, Placed
from firmament.core.placement.placing import place
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem


def alike(counts: list[list[int]], free: int) -> PlacementProblem:
    """Classes of one shape that wait as ``counts`` say, and one machine with room for ``free`` of their tasks."""
    classes = len(counts)
    base = problem(tasks=counts, requests=[[1]] * classes, free=[[free]], cost=[[5]] * classes)
    return replace(base, shape=np.zeros(classes, dtype=np.int64))


def placed(given: PlacementProblem) -> tuple[list[int], Placed]:
    placing = place(given, Means(OrToolsSolver()))
    found = placing.assignments
    return np.bincount(found.cls, weights=found.count, minlength=given.classes).astype(int).tolist(), placing


def dealt(counts: list[list[int]], places: int) -> list[int]:
    """Tasks placed of each class, task by task."""
    got = [0] * len(counts)
    for bucket in range(WAIT_BUCKETS):
        for cls, waits in enumerate(counts):
            more = min(waits[bucket], places)
            got[cls] += more
            places -= more
    return got


def test_the_longest_waiting_of_all_like_classes_come_first():
    counts = [[0, 0, 2, 3], [1, 0, 0, 1], [0, 4, 0, 0]]
    for free in range(12):
        found, placing = placed(alike(counts, free))
        assert found == dealt(counts, free)
        assert placing.about is not None
        assert placing.about.problem.classes == 1


def test_random_shares_are_dealt_out_as_task_by_task():
    random = np.random.default_rng(11)
    for _ in range(50):
        counts = random.integers(0, 4, (5, WAIT_BUCKETS)).tolist()
        places = int(random.integers(0, np.sum(counts) + 1))
        given = alike(counts, 99)
        one = Assignments(np.array([0]), np.array([0]), np.array([places]))
        found = merge_classes(given).distribute(one if places else Assignments.empty())
        got = np.bincount(found.cls, weights=found.count, minlength=5).astype(int).tolist()
        assert got == dealt(counts, places)


def by_hand(given: PlacementProblem, entries: list[tuple[int, int, int]]) -> dict[tuple[int, int], int]:
    """Tasks by class and machine: of each shape's places, one of each machine comes before a second of any."""
    found: dict[tuple[int, int], int] = {}
    for shape in set(given.shape.tolist()):
        places, turns = [], Counter[int]()
        for of, machine, count in entries:
            for _ in range(count if of == shape else 0):
                places.append((turns[machine], machine))
                turns[machine] += 1
        places.sort(key=lambda place: place[0])
        left = len(places)
        share = dict.fromkeys(np.flatnonzero(given.shape == shape).tolist(), 0)
        for bucket in range(WAIT_BUCKETS):
            for cls in share:
                more = min(int(given.counts[cls, bucket]), left)
                share[cls] += more
                left -= more
        for cls, number in share.items():
            for _, machine in places[:number]:
                found[cls, machine] = found.get((cls, machine), 0) + 1
            places = places[number:]
    return found


def test_classes_get_places_machine_by_machine():
    random = np.random.default_rng(5)
    for _ in range(100):
        shapes, classes = random.integers(1, 5), 6
        base = problem(
            tasks=random.integers(0, 4, (classes, WAIT_BUCKETS)).tolist(),
            requests=[[1]] * classes,
            free=[[99]] * 4,
        )
        given = replace(base, shape=np.sort(random.integers(0, shapes, classes)))
        kinds, numbers = np.unique(given.shape, return_inverse=True)
        given = replace(given, shape=numbers)
        left = [int(given.counts[given.shape == shape].sum()) for shape in range(len(kinds))]
        entries = []
        for shape in random.integers(0, len(kinds), 20).tolist():
            count = min(left[shape], int(random.integers(1, 4)))
            if count:
                entries.append((shape, int(random.integers(4)), count))
                left[shape] -= count
        columns = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        found = merge_classes(given).distribute(Assignments(*columns))
        got = Counter[tuple[int, int]]()
        for cls, machine, count in zip(found.cls, found.machine, found.count, strict=True):
            got[int(cls), int(machine)] += int(count)
        assert got == by_hand(given, entries)


def test_classes_that_differ_stay_as_they_are():
    given = problem(tasks=[1, 1], requests=[[1], [2]], free=[[9]])
    assert merge_classes(given).problem is given


def gangs(
    counts: list[int], gang: list[int], need: list[int], priority: list[int] | None = None
) -> PlacementProblem:
    """Classes of one shape with so many tasks, of these gangs (-1 for none), each of which needs so many places."""
    base = alike([[0] * (WAIT_BUCKETS - 1) + [count] for count in counts], 99)
    return replace(
        base,
        gang=np.array(gang),
        gang_need=np.array(need),
        priority=np.array(priority or [0] * len(counts), dtype=np.int64),
    )


@pytest.mark.parametrize(
    ("counts", "gang", "need", "places", "expected"),
    [
        ([2, 3], [0, 1], [2, 3], 5, [2, 3]),
        ([2, 3], [0, 1], [2, 3], 4, [2, 0]),  # two are left out: the second gang needs three
        ([2, 3], [0, 1], [3, 3], 5, [0, 3]),  # the first gang has too few tasks
        ([3, 3], [0, 1], [3, 2], 2, [0, 2]),  # what the first could not use is there for the second
        ([3, 3], [0, 1], [1, 2], 5, [3, 2]),  # what is left goes to members beyond the need
        ([1, 2, 2], [0, 0, 1], [3, 2], 5, [1, 2, 2]),  # a gang of two classes
        ([1, 2, 2], [0, 0, 1], [3, 2], 4, [1, 2, 0]),
        ([1, 2, 2], [0, 0, 1], [3, 2], 2, [0, 0, 2]),
        ([2, 2], [0, -1], [2], 3, [2, 1]),
        ([2, 2], [0, -1], [2], 1, [0, 1]),
        ([2, 2], [-1, 0], [0], 3, [2, 1]),
    ],
)
def test_each_gang_gets_what_it_needs_or_nothing(
    counts: list[int], gang: list[int], need: list[int], places: int, expected: list[int]
):
    given = gangs(counts, gang, need)
    found = merge_classes(given).distribute(Assignments(np.array([0]), np.array([0]), np.array([places])))
    assert np.bincount(found.cls, weights=found.count, minlength=len(counts)).astype(int).tolist() == expected


def test_gangs_come_by_importance_and_then_by_age():
    given = gangs([2, 2, 2], [2, 0, 1], [2, 2, 2], priority=[0, 0, 5])
    merged = merge_classes(given)
    assert merged.problem.priority.tolist() == [0, 5]
    found = merged.distribute(Assignments(np.array([0, 1]), np.array([0, 0]), np.array([3, 2])))
    assert np.bincount(found.cls, weights=found.count, minlength=3).astype(int).tolist() == [0, 2, 2]
    back = merged.gather(found)
    assert back.cls.tolist() == [0, 1]


def test_a_class_with_a_limit_per_machine_is_not_merged():
    given = replace(alike([[1] * WAIT_BUCKETS] * 2, 9), most={0: 1})
    assert merge_classes(given).problem is given
