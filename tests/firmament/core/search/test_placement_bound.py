"""Where as many tasks are placed as there can be, nobody looks for more; held against all placements there are."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.board.board import Board
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.passes import place_leftovers
from firmament.core.search.relocation import cannot_be_bettered, most_placed
from tests.firmament.core.placement.rules import proposed, ruled, units
from tests.support.effort import examples


def values(made: PlacementProblem) -> list[tuple[int, ...]]:
    """Tasks placed per priority, the highest first, of every placement that resources allow."""
    tasks = [cls for cls, count in enumerate(made.counts.sum(axis=1).tolist()) for _ in range(count)]
    requests, feasible = made.requests[made.shape].tolist(), made.feasible[made.shape].tolist()
    ranks = range(int(made.priority.max()), -1, -1)
    found = []
    for chosen in product([None, *range(made.machines)], repeat=len(tasks)):
        put = [(cls, machine) for cls, machine in zip(tasks, chosen, strict=True) if machine is not None]
        free = made.free.tolist()
        for cls, machine in put:
            free[machine] = [left - amount for left, amount in zip(free[machine], requests[cls], strict=True)]
        if all(feasible[cls][machine] for cls, machine in put) and min(map(min, free)) >= 0:
            ranked = Counter(int(made.priority[cls]) for cls, _ in put)
            found.append(tuple(ranked[rank] for rank in ranks))
    return found


def small_problem(seed: int) -> PlacementProblem:
    """At most five tasks of two or three classes on three machines, with little room; two resources."""
    rnd = random.Random(seed)
    classes = rnd.randint(1, 3)
    sizes = [1, 2, 3] if rnd.random() < 0.5 else [2]
    made = ruled(
        [],
        {},
        tasks=[rnd.randint(1, 5 // classes) for _ in range(classes)],
        requests=[[rnd.choice(sizes), rnd.randint(0, 1)] for _ in range(classes)],
        free=[[rnd.randint(0, 5), rnd.randint(0, 3)] for _ in range(3)],
        priority=[rnd.randint(0, 1) for _ in range(classes)],
    )
    feasible = np.array([[rnd.random() < 0.8 for _ in range(3)] for _ in range(len(made.requests))])
    return replace(made, priority=made.priority - made.priority.min(), feasible=feasible)


@settings(max_examples=examples(80))
@given(seed=st.integers(0, 2**32 - 1))
def test_it_is_never_said_of_a_placement_that_can_be_bettered(seed: int):
    made = small_problem(seed)
    placed = place_leftovers(Board(made))
    found = values(made)
    ranked = Counter(int(made.priority[cls]) for cls, _ in units(placed))
    value = tuple(ranked[rank] for rank in range(int(made.priority.max()), -1, -1))
    assert value in found
    if cannot_be_bettered(made, placed):
        assert value == max(found)
    most = most_placed(Residual(made), np.arange(made.classes))
    assert most >= max(sum(each) for each in found)


def test_machines_full_of_equal_tasks():
    made = ruled([], {}, tasks=[9], requests=[[2, 0]], free=[[5, 1], [4, 1], [1, 1]])
    assert cannot_be_bettered(made, proposed(*[(0, 0)] * 2, *[(0, 1)] * 2))
    assert not cannot_be_bettered(made, proposed(*[(0, 0)] * 2, (0, 1)))


def test_more_important_ones_that_wait_count_by_themselves():
    made = ruled([], {}, tasks=[2, 2], requests=[[2], [2]], free=[[4]], priority=[1, 0])
    assert cannot_be_bettered(made, proposed((0, 0), (0, 0)))
    assert not cannot_be_bettered(made, proposed((0, 0), (1, 0)))


def test_less_important_ones_that_wait_count_with_those_above():
    made = ruled([], {}, tasks=[1, 4], requests=[[3], [2]], free=[[3], [4]], priority=[1, 0])
    assert cannot_be_bettered(made, proposed((0, 0), (1, 1), (1, 1)))
    assert not cannot_be_bettered(made, proposed((0, 1), (1, 0)))


def test_nobody_waits():
    made = ruled([], {}, tasks=[1], requests=[[1]], free=[[9]])
    assert cannot_be_bettered(made, proposed((0, 0)))
