"""Which shares of a group each unit of a tree can hold under the strict rules, from the leaves up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cost_models.interface import Int64
from firmament.topology.counts import progression, reachable
from firmament.topology.rules import Limits, Rule, limits
from firmament.topology.tree import Tree


@dataclass(frozen=True, slots=True)
class Reach:
    """``options``: per level and unit, the set of shares (see `counts`) that the unit can hold and that its level's
    rule lets it hold; ``must``: per level and unit, whether it holds pods already; ``room``: per level, int64[units],
    pods that fit on it if no rule is asked, those that are there included; ``whole``: the sizes that the tree can hold.
    """

    options: Sequence[Sequence[int]]
    must: Sequence[Sequence[bool]]
    room: Sequence[Int64]
    whole: int


def reach(tree: Tree, slots: Int64, size: int, rules: Sequence[Rule], held: Int64) -> Reach:
    """The shares of every unit of ``tree``; arguments as of `GroupSolver.place`."""
    bounds = [limits(rule) for rule in rules]
    room = tree.sums(np.maximum(slots, 0) + held)
    must = [(there > 0).tolist() for there in tree.sums(held)]
    options = [_of_leaves(bounds[-1], size, held, room[-1])]
    for level in range(len(tree.levels) - 1, 0, -1):
        first = tree.first_children(level).tolist()
        allowed = progression(bounds[level - 1].low, bounds[level - 1].high or size, bounds[level - 1].step)
        below = list(zip(options[-1], must[level], strict=True))
        options.append(
            [
                reachable(below[start:end], bounds[level].units, size) & allowed
                for start, end in pairwise(first)
            ]
        )
    whole = reachable(list(zip(options[-1], must[0], strict=True)), bounds[0].units, size)
    return Reach(options[::-1], must, room, whole)


def _of_leaves(bound: Limits, size: int, held: Int64, room: Int64) -> list[int]:
    """The shares of the leaves."""
    low = np.maximum(-(-held // bound.step) * bound.step, bound.low)
    high = np.minimum(room, min(bound.high or size, size)) // bound.step * bound.step
    return [
        progression(least, most, bound.step) for least, most in zip(low.tolist(), high.tolist(), strict=True)
    ]
