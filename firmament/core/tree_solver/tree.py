"""Defines the tree of machines as arrays, with named units on named levels, and the rules of levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cost_models.group_terms import LevelRule
from cost_models.interface import Int64

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Tree:
    """Units of every level in depth-first order, siblings by name (numbers in names count as numbers).

    ``levels``: names top to bottom, without the root; the last one is that of the leaves. ``names``: per level, the
    names of its units; ``parents``: per level, int64[units], the number of each unit's parent on the level above (0,
    the root, on the first level). ``rows``: int64[L], the machine of each leaf. Children of one unit follow each other,
    and every unit has some leaf below it.
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    parents: tuple[Int64, ...]
    rows: Int64

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return len(self.rows)

    def count_units(self, level: int) -> int:
        """Return how many units a level has."""
        return len(self.names[level])

    def first_children(self, level: int) -> Int64:
        """Return for each unit of the level above its first child on ``level``: int64[parents + 1]."""
        above = 1 if level == 0 else self.count_units(level - 1)
        return np.searchsorted(self.parents[level], np.arange(above + 1)).astype(np.int64)

    def sums(self, leaf_values: Int64) -> list[Int64]:
        """Return the sum of ``leaf_values`` (int64[L]) over the leaves below each unit: int64[units] per level."""
        sums = [np.asarray(leaf_values, dtype=np.int64)]
        for level in range(len(self.levels) - 1, 0, -1):
            # Every unit has a child, so no slice is empty.
            sums.append(np.add.reduceat(sums[-1], self.first_children(level)[:-1]))
        return sums[::-1]

    def leaf_path(self, leaf: int) -> tuple[str, ...]:
        """Return the names of units from the first level down to a leaf; they identify the leaf."""
        names, unit = [], leaf
        for above in range(len(self.levels) - 1, -1, -1):
            names.append(self.names[above][unit])
            unit = int(self.parents[above][unit])
        return tuple(reversed(names))


def build_tree(levels: Sequence[str], paths: Mapping[tuple[str, ...], int]) -> Tree:
    """Return the tree whose leaves are ``paths`` (a name per level, top to bottom) with their machines.

    Raises ValueError if there is no level, or if a path does not have one name per level.
    """
    if not levels:
        raise ValueError("a tree needs at least one level")
    keys: dict[str, tuple[tuple[int, int | str], ...]] = {}
    for path in paths:
        if len(path) != len(levels):
            raise ValueError(f"unit {'/'.join(path)}: {len(path)} names for {len(levels)} levels")
        for name in path:
            if name not in keys:
                keys[name] = _natural(name)
    ordered = sorted(paths, key=lambda path: [(keys[name], name) for name in path])
    names: list[list[str]] = [[] for _ in levels]
    parents: list[list[int]] = [[] for _ in levels]
    last: tuple[str, ...] = ()
    for path in ordered:
        alike = 0
        while alike < len(last) and last[alike] == path[alike]:
            alike += 1
        for level in range(alike, len(levels)):
            parents[level].append(len(names[level - 1]) - 1 if level else 0)
            names[level].append(path[level])
        last = path
    return Tree(
        tuple(levels),
        tuple(map(tuple, names)),
        tuple(np.array(each, dtype=np.int64) for each in parents),
        np.array([paths[path] for path in ordered], dtype=np.int64),
    )


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that sorts numbers in names as numbers, so that n2 comes before n10."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in _DIGITS.split(name) if part)


# --- Rules for levels of a tree, what they demand of counts, and why a group has no placement.


Rule: TypeAlias = LevelRule


@dataclass(frozen=True, slots=True)
class CountLimits:
    """The counts of pods per unit that a rule allows, whichever of them is best.

    ``units``: exactly this many units are used, 0 for any number; a used unit holds ``low`` to ``high`` pods (``high``
    0: no limit), a multiple of ``step``.
    """

    units: int
    low: int
    high: int
    step: int


def limits(rule: Rule) -> CountLimits:
    """Return the counts of pods per unit that a rule allows.

    The lower bound is at least 1, and both bounds are multiples of the step.
    """
    if rule.hard:
        return CountLimits(1, 1, 0, 1) if rule.kind == "pack" else CountLimits(0, 1, 1, 1)
    step = max(rule.factor, 1)
    low = -(-max(rule.least, 1) // step) * step
    # An upper bound below the lower one means that the range holds no multiple, so that no count is allowed.
    high = rule.most // step * step or (low - 1 if rule.most else 0)
    return CountLimits(rule.partitions, low, high, step)


@dataclass(frozen=True, slots=True)
class Shortage:
    """The reason why a group cannot be placed.

    ``level``: the level whose rule cannot be kept, "" if too few pods fit even without rules; ``message``: one line for
    people; ``placeable``: how many of the group's pods could be placed by the rules.
    """

    level: str
    message: str
    placeable: int
