"""Which bundles are evicted, against all choices of them, however large the figures that are compared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from random import Random

import numpy as np
import pytest

from firmament.core.preemption.bundle_network import choose_bundles
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.problem import LOWEST_WEIGHT
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples

MACHINES = 4
Place = tuple[int, int]
"""A class, and a machine that it gets."""
Figures = tuple[int, int, int, int]
"""Victims beyond budgets, their highest priority, the sum of their weights, and how many there are."""


def draw_figures(random: Random, most: int, over: int) -> dict[Place, Figures]:
    """Figures of two classes on some machines, up to so large priorities."""
    found = {}
    for cls in range(2):
        for machine in sorted(random.sample(range(MACHINES), random.randint(2, MACHINES))):
            count = random.randint(1, 3)
            top = random.choice((0, 1, most))
            weight = sum(random.randint(0, top) for _ in range(count)) + count * LOWEST_WEIGHT
            found[cls, machine] = random.choice((0, random.randint(1, over))), top, weight, count
    return found


def bundles_of(figures: dict[Place, Figures], cls: int) -> Bundles:
    mine = {machine: each for (owner, machine), each in figures.items() if owner == cls}
    over, top, total, count = (
        np.array(column, dtype=np.int64) for column in zip(*mine.values(), strict=True)
    )
    nobody = np.zeros((len(mine), 1))
    rows = np.array([*mine], dtype=np.int64)
    return Bundles(
        rows, nobody.astype(np.int64), nobody.astype(np.bool_), over, top, total, count, nobody[:, 0]
    )


def worth(figures: dict[Place, Figures], chosen: list[Place]) -> tuple[object, ...]:
    """What is compared: the smaller, the better."""
    each = [figures[place] for place in chosen]
    tops = sorted({figure[1] for figure in figures.values()}, reverse=True)[:-1]
    fewest = [sum(figure[1] == top for figure in each) for top in tops]
    return (
        -len(each),
        sum(figure[0] for figure in each),
        fewest,
        sum(f[2] for f in each),
        sum(f[3] for f in each),
    )


def list_choices(figures: dict[Place, Figures], tasks: dict[int, int]) -> Iterator[list[Place]]:
    everybody = [cls for cls, count in tasks.items() for _ in range(count)]
    for size in range(len(everybody) + 1):
        for some in combinations(everybody, size):
            for machines in permutations(range(MACHINES), size):
                places = list(zip(some, machines, strict=True))
                if all(place in figures for place in places):
                    yield places


@pytest.mark.parametrize(("most", "over"), [(3, 1), (2**20, 1), (2**30, 2**20), (2**31 - 1, 2**40)])
@pytest.mark.parametrize("seed", range(examples(25, least=5)))
def test_no_other_choice_is_better(seed, most, over):
    random = Random(f"{seed} {most}")
    figures = draw_figures(random, most, over)
    tasks = {0: random.randint(1, 2), 1: random.randint(1, 2)}
    offered = {cls: bundles_of(figures, cls) for cls in tasks}
    found = choose_bundles(offered, tasks, MACHINES, OrToolsSolver(), None, MACHINES)
    chosen = [(cls, int(offered[cls].rows[place])) for cls, place in found]
    assert len({machine for _, machine in chosen}) == len(chosen)
    assert worth(figures, chosen) == min(worth(figures, each) for each in list_choices(figures, tasks))
