"""Computes, from the leaves up, how many of a group's pods each unit of a tree can hold under the strict rules.

Units of a level are kept as arrays if they are regular, that is if their possible counts form a progression; all other
units as sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.tree_solver import regular
from firmament.core.tree_solver.count_vectors import find_reachable, make_progression
from firmament.core.tree_solver.tree import CountLimits, Rule, Tree, limits

CELLS = 1 << 21  # cells of one batch of rows


@dataclass(frozen=True, slots=True)
class Shares:
    """How many pods of a group, besides 0, each unit (machine, rack, zone ...) of a level can be given.

    A *regular* unit can be given ``least``, ``least + step``, ... up to ``high`` (int64[units], 0: nothing); ``least``
    is a multiple of ``step``. ``others``: the counts of all other units, as any sets (see `counts`). ``must``:
    bool[units], units that hold pods of the group already and cannot be left out; such units are never regular.
    """

    least: int
    step: int
    high: Int64
    regular: Bool
    others: Mapping[int, int]
    must: Bool

    def counts(self, unit: int) -> int:
        """Return the numbers of pods that a unit can hold, as bits: bit n is set if it can hold n."""
        if self.regular[unit]:
            return make_progression(self.least, int(self.high[unit]), self.step)
        return self.others[unit]

    def options(self, units: range) -> list[tuple[int, bool]]:
        """Return for each unit the numbers of pods that it can hold (bits), and whether it must stay used.

        The result is an argument for `find_reachable`. A unit must stay used if it holds pods of the group already.
        """
        return [(self.counts(unit), bool(self.must[unit])) for unit in units]

    def highest(self) -> Int64:
        """Return the largest number of pods that each unit can hold: int64[units]; 0 if it can hold none."""
        highest = self.high.copy()
        for unit, counts in self.others.items():
            highest[unit] = max(counts.bit_length() - 1, 0)
        return highest


def find_regular(shares: Shares, first: Int64) -> Bool:
    """Return whether all children of a parent are regular: bool[parents]; ``first``: the first child of each."""
    strange = np.append(0, np.cumsum(~shares.regular))
    return strange[first[1:]] == strange[first[:-1]]


def batches(first: Int64, parents: Int64) -> Iterator[tuple[Int64, Int64, Bool]]:
    """Yield batches of parents: (positions in ``parents``, their children int64[R, C], bool[R, C]: which exist).

    Parents with similar numbers of children share a batch, and no array has more than about `CELLS` cells.
    """
    number = first[parents + 1] - first[parents]
    kind = np.frexp(number.astype(np.float64))[1]
    for each in np.unique(kind):
        alike = np.flatnonzero(kind == each)
        width = int(number[alike].max())
        rows = max(1, CELLS // width)
        for start in range(0, len(alike), rows):
            positions = alike[start : start + rows]
            column = np.arange(width)
            exists = column < number[positions, None]
            children = np.where(exists, first[parents[positions], None] + column, 0)
            yield positions, children, exists


def compute_caps(shares: Shares, children: Int64, exists: Bool) -> Int64:
    """Return the most pods that each child can hold, in steps: int64[R, C].

    An entry is 0 if there is no child in its column, or if that child can hold no pods.
    """
    return np.where(exists, shares.high[children] // shares.step, 0)


ENDLESS = 1 << 40
"""Number of slots of a leaf that counts as no limit."""


@dataclass(frozen=True, slots=True)
class ReachableShares:
    """The numbers of a group's pods that the units of a tree can hold.

    ``shares``: for each level, the counts that its units can hold by the rules; ``room``: for each level, int64[units],
    the pods that fit on each unit without rules, including those that are there; ``whole``: the set of sizes that the
    tree can hold (bits, see `count_vectors`).
    """

    shares: Sequence[Shares]
    room: Sequence[Int64]
    whole: int


def reach(tree: Tree, slots: Int64, size: int, rules: Sequence[Rule], held: Int64) -> ReachableShares:
    """Return how many pods every unit of ``tree`` can hold; arguments are as for `ExactSolver.place`."""
    bounds = [limits(rule) for rule in rules]
    room = room_of(tree, slots, held)
    must = [there > 0 for there in tree.sums(held)]
    shares = [_of_leaves(bounds[-1], size, held, room[-1])]
    for level in range(len(tree.levels) - 1, 0, -1):
        first = tree.first_children(level)
        bound = bounds[level - 1]
        regular_sets, others = _totals(shares[-1], first, bounds[level].units, size, bound)
        shares.append(_columns(regular_sets, others, must[level - 1]))
    root = tree.first_children(0)
    row, other = _totals(shares[-1], root, bounds[0].units, size, CountLimits(0, 1, 0, 1))
    return ReachableShares(shares[::-1], room, other[0] if other else _bits(row[0]))


def room_of(tree: Tree, slots: Int64, held: Int64) -> list[Int64]:
    """Return the slots of the leaves below each unit, plus the group's pods that are there: int64[units] per level.

    Slots are limited so that sums stay within 64 bits, even for tasks that request nothing.
    """
    return tree.sums(np.clip(slots, 0, ENDLESS) + held)


def _of_leaves(bound: CountLimits, size: int, held: Int64, room: Int64) -> Shares:
    """Return the counts that each leaf can hold: any count that fits and that the rule allows."""
    high = np.minimum(room, min(bound.high or size, size)) // bound.step * bound.step
    must = held > 0
    others = {
        leaf: make_progression(
            max(-(-int(held[leaf]) // bound.step) * bound.step, bound.low), int(high[leaf]), bound.step
        )
        for leaf in np.flatnonzero(must).tolist()
    }
    return Shares(bound.low, bound.step, np.where(must | (high < bound.low), 0, high), ~must, others, must)


def _totals(
    below: Shares, first: Int64, units: int, size: int, bound: CountLimits
) -> tuple[Bool, dict[int, int]]:
    """Return the totals that the children of each parent can hold together, and that the parent's ``bound`` allows.

    The totals are rows of bool[parents, size + 1] for parents whose children are all regular, and sets for other
    parents.
    """
    simple = find_regular(below, first)
    top = size // below.step
    rows = np.zeros((len(first) - 1, size + 1), dtype=np.bool_)
    parents = np.flatnonzero(simple)
    for positions, children, exists in batches(first, parents):
        most = -np.sort(-compute_caps(below, children, exists), axis=1)
        found = regular.find_totals(most, below.least // below.step, units, top)
        rows[parents[positions], : top * below.step + 1 : below.step] = found
    allowed = make_progression(bound.low, min(bound.high or size, size), bound.step)
    count = np.arange(size + 1)
    rows &= (count >= bound.low) & (count <= (bound.high or size)) & (count % bound.step == 0)
    others = {}
    for parent in np.flatnonzero(~simple).tolist():
        options = below.options(range(int(first[parent]), int(first[parent + 1])))
        others[parent] = find_reachable(options, units, size) & allowed
    return rows, others


def _columns(rows: Bool, others: dict[int, int], must: Bool) -> Shares:
    """Return shares: rows that are progressions with one least count and step as arrays, all others as sets."""
    some = rows.any(axis=1)
    lowest = np.argmax(rows, axis=1)
    highest = rows.shape[1] - 1 - np.argmax(rows[:, ::-1], axis=1)
    number = rows.sum(axis=1)
    least = int(lowest[some].min(initial=rows.shape[1]))
    several = number > 1
    span = (highest - lowest)[several]
    # If some rows are progressions, their step is the smallest mean distance between neighbours of all rows.
    step = int((span // (number[several] - 1)).min(initial=least))
    step = max(step, 1)
    off = np.ones(rows.shape[1], dtype=np.bool_)
    off[least::step] = False
    alike = (lowest == least) & (number == (highest - least) // step + 1) & ~rows[:, off].any(axis=1)
    if least % step:
        alike[:] = False
    fits = ~some | alike
    fits[list(others)] = False
    fits &= ~must
    sets = {
        unit: others[unit] if unit in others else _bits(rows[unit]) for unit in np.flatnonzero(~fits).tolist()
    }
    return Shares(least, step, np.where(some & fits, highest, 0), fits, sets, must)


def _bits(row: Bool) -> int:
    """Return a row of truth values as a set of numbers (bits)."""
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")
