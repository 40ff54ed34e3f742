"""Random trees, rooms and rule sets, small enough to try everything."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.solver import CHOICES, Choice
from firmament.core.tree_solver.tree import Rule, Tree, build_tree

LEVELS = ("zone", "rack", "server", "node")
PLACEMENTS = 30_000


@dataclass(frozen=True, slots=True)
class Case:
    """What a solver is given."""

    tree: Tree
    slots: Int64
    size: int
    rules: tuple[Rule, ...]
    cost: Int64
    held: Int64
    choice: Choice


def random_case(number: int) -> Case:
    """The case of a number. Every third holds pods of the group already."""
    rng = random.Random(number)
    depth = rng.randint(2, 4)
    paths: list[tuple[str, ...]] = []
    _grow(rng, (), depth, paths, rng.choice((2, 3, 4)))
    rng.shuffle(paths)
    levels = LEVELS[-depth:]
    tree = build_tree(levels, {path: index for index, path in enumerate(paths)})
    most = rng.choice((1, 2, 4, 6))
    while True:
        slots = np.array([rng.randint(0, most) for _ in paths], dtype=np.int64)
        held = np.zeros(len(paths), dtype=np.int64)
        if number % 3 == 0:
            held = np.array([rng.choice((0, 0, 0, 0, 1, 2)) for _ in paths], dtype=np.int64)
        if number % 5 == 0:
            slots[:] = rng.randint(1, most)
        size = rng.randint(max(1, int(held.sum())), max(1, min(12, int((slots + held).sum()) + 1)))
        if size >= held.sum() and _placements(slots, size - int(held.sum())) <= PLACEMENTS:
            break
        most = max(1, most - 1)
    prices = rng.choice(((0,), (0, 1), (0, 1, 5, 9), (-3, 2, 7)))
    cost = np.array([rng.choice(prices) for _ in paths], dtype=np.int64)
    rules = tuple(random_rule(rng, size) for _ in levels)
    return Case(tree, slots, size, rules, cost, held, rng.choice(CHOICES))


def _grow(
    rng: random.Random, path: tuple[str, ...], depth: int, paths: list[tuple[str, ...]], width: int
) -> None:
    """Add the leaves below a unit, eight at most in all; names repeat under different parents."""
    for index in range(rng.randint(1, width)):
        below = (*path, f"u{index}")
        if len(below) == depth:
            paths.append(below)
        else:
            _grow(rng, below, depth, paths, width)
        if len(paths) >= 8:
            return


def _placements(slots: Int64, size: int) -> int:
    """How many ways there are to place ``size`` pods without any rule."""
    ways = [1] + [0] * size
    for room in slots.tolist():
        ways = [sum(ways[max(0, total - room) : total + 1]) for total in range(size + 1)]
    return ways[size]


def random_rule(rng: random.Random, size: int) -> Rule:
    """More often a wish than a strict rule."""
    kind: Literal["pack", "spread"] = "pack" if rng.random() < 0.5 else "spread"
    what = rng.random()
    if what < 0.55:
        return Rule(kind)
    if what < 0.65:
        return Rule(kind, hard=True)
    partitions = rng.choice((0, 0, 0, 1, 2, 2, 3))
    least = most = 0
    if rng.random() < 0.5:
        least = rng.randint(1, 3)
        most = rng.choice((0, rng.randint(max(least, size // 3), max(size, least))))
    return Rule(kind, False, partitions, least, most, rng.choice((1, 1, 1, 1, 2, 3)))
