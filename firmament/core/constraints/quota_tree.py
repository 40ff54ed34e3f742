"""A tree of quotas that lend and borrow, and what is in use; each column stands for a flavor and a resource.

What a quota lends passes through its parent. A quota therefore has two amounts. A quota never lends its *local
quota*; its *subtree quota* is all that it and the quotas below it bring in. Use counts first against the local quota;
only the use beyond it also counts at the parent. With ``S`` the subtree quota, ``L`` the local quota, ``U`` the use,
and ``B`` the most that a quota may borrow, the available amount is:

* at a root ``S - U``;
* at any other quota ``max(0, L - U) + min(available at its parent, (S - L) - max(0, U - L) + B)``;

The available amount is never more than the upper limits, of this quota and of those above, leave after all use at and
below them. The available amount may be negative. An amount added to the use at a quota lowers what is available at
this quota by the amount, and what is available at other quotas by no more. Several amounts, added in any order,
therefore fit together if afterwards nothing is negative at the quotas to which they were added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64

UNBOUNDED = 2**60
"""An amount that stands for "no limit"; it is above any sum of amounts."""


class QuotaStep(NamedTuple):
    """What a quota on the path down from a root has left of a column.

    The values are those of `QuotaTree`, in a form that is faster to read.
    """

    node: int
    local: int
    subtree: int
    borrowing: int


@dataclass(frozen=True)
class QuotaTree:
    """The tree: N quotas (nodes), each after its parent, and J columns, each for a flavor and a resource; immutable."""

    parent: Int64
    """int64[N], the parent of each quota; -1 for roots."""
    subtree: Int64
    """int64[N, J], what a quota and the quotas below it bring into the tree."""
    local: Int64
    """int64[N, J], the part of its own amounts that a quota never lends."""
    borrowing: Int64
    """int64[N, J], the most that a quota may use beyond its subtree quota; `UNBOUNDED` for no limit."""
    limit: Int64
    """int64[N, J], the most that may be used at a quota and below it; `UNBOUNDED` for no limit."""

    @cached_property
    def levels(self) -> list[Int64]:
        """The quotas by depth, roots first: int64 per level."""
        return list_levels(self.parent)

    @cached_property
    def roots(self) -> Int64:
        """The root of the tree in which each quota is: int64[N]."""
        roots = np.arange(len(self.parent))
        for level in self.levels[1:]:
            roots[level] = roots[self.parent[level]]
        return roots

    @cached_property
    def paths(self) -> dict[int, tuple[int, ...]]:
        """By quota: the quota and those above it, up to its root; computed when first needed."""
        return {}

    @cached_property
    def ways(self) -> dict[tuple[int, int], tuple[QuotaStep, ...]]:
        """By quota and column: what each quota from the root down has of the column; computed when first needed."""
        return {}

    def trace(self, path: Sequence[int], column: int) -> tuple[QuotaStep, ...]:
        """Return what each quota on a path to a root has of a column, the root first."""
        return tuple(
            QuotaStep(
                each,
                self.local.item(each, column),
                self.subtree.item(each, column),
                self.borrowing.item(each, column),
            )
            for each in reversed(path)
        )

    @classmethod
    def build(
        cls,
        parent: Int64,
        nominal: Int64,
        lending: Int64,
        borrowing: Int64,
        limit: Int64 | None = None,
        guarantee: Int64 | None = None,
    ) -> QuotaTree:
        """Return the tree for quotas as they are stated, int64[N, J] each.

        ``lending``: how much of its own amounts a quota lends. ``guarantee``: the part of a quota's own amounts that
        it never lends, whatever ``lending`` says. `UNBOUNDED` stands for no limit, 0 for no guarantee.
        """
        subtree = nominal.astype(np.int64)
        local = np.zeros_like(subtree)
        for level in reversed(list_levels(parent)):
            own = subtree[level]
            kept = np.where(lending[level] < UNBOUNDED, np.maximum(own - lending[level], 0), 0)
            if guarantee is not None:
                kept = np.maximum(kept, np.minimum(guarantee[level], own))
            local[level] = kept
            below = parent[level] >= 0
            _add_up_to_bound(subtree, parent[level][below], (own - kept)[below])
        most = np.full_like(subtree, UNBOUNDED) if limit is None else limit
        return cls(parent, subtree, local, borrowing, most)

    @cached_property
    def potential(self) -> Int64:
        """The amounts that would be available if nothing were used: int64[N, J]."""
        return TreeUse(self, np.zeros_like(self.subtree)).compute_available()

    @cached_property
    def has_limits(self) -> bool:
        """Whether any quota has an upper limit for all use at it and below it."""
        return bool((self.limit < UNBOUNDED).any())

    @cached_property
    def heights(self) -> Int64:
        """The number of levels below each quota: int64[N]."""
        height = np.zeros(len(self.parent), dtype=np.int64)
        for level in reversed(self.levels):
            below = level[self.parent[level] >= 0]
            np.maximum.at(height, self.parent[below], height[below] + 1)
        return height


def _add_up_to_bound(sums: Int64, rows: Int64, amounts: Int64) -> None:
    """Add ``amounts`` (int64[A, J]) to rows of ``sums`` (int64[N, J]), limited to `UNBOUNDED`."""
    exact = sums.astype(np.float64)
    np.add.at(exact, rows, amounts)
    np.add.at(sums, rows, amounts)
    sums[exact >= UNBOUNDED] = UNBOUNDED


def list_levels(parent: Int64) -> list[Int64]:
    """Return the quotas of a tree by depth, roots first: int64 per level."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for node in np.flatnonzero(parent >= 0).tolist():
        depth[node] = depth[parent[node]] + 1
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1) if len(order) else []


@dataclass(slots=True)
class TreeUse:
    """The use of the quotas in a tree; it changes as tasks are placed and leave."""

    tree: QuotaTree
    """The tree of quotas."""
    own: Int64
    """int64[N, J], what tasks of each quota's own queue use."""
    used: Int64 = field(init=False)
    """int64[N, J], the own use of each quota, plus the use of the quotas below it beyond their local quotas."""
    total: Int64 = field(init=False)
    """int64[N, J], all use at each quota and at the quotas below it."""
    _paths: dict[int, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._paths = self.tree.paths
        self.own = self.own.copy()
        self._sum_up()

    def copy(self) -> TreeUse:
        """Return an independent copy."""
        twin = object.__new__(TreeUse)  # searches for victims make many copies, and `copy.copy` is slow
        twin.tree, twin._paths = self.tree, self._paths
        twin.own, twin.used, twin.total = self.own.copy(), self.used.copy(), self.total.copy()
        return twin

    def _sum_up(self) -> None:
        tree = self.tree
        self.used, self.total = self.own.copy(), self.own.copy()
        for level in reversed(self.tree.levels[1:]):
            above = tree.parent[level]
            np.add.at(self.used, above, np.maximum(self.used[level] - tree.local[level], 0))
            np.add.at(self.total, above, self.total[level])

    # --- all nodes of the tree at once ---------------------------------------------------------------------------

    def compute_available(self) -> Int64:
        """Return what is available at each quota: int64[N, J]."""
        tree = self.tree
        # This difference is right for roots; the loop computes the other quotas.
        available = tree.subtree - self.used
        most = tree.limit - self.total
        for level in self.tree.levels[1:]:
            local, used, above = tree.local[level], self.used[level], tree.parent[level]
            beyond = tree.subtree[level] - np.maximum(used, local) + tree.borrowing[level]
            available[level] = np.maximum(local - used, 0) + np.minimum(available[above], beyond)
            most[level] = np.minimum(most[level], most[above])
        return np.minimum(available, most)

    def add_at(self, nodes: Int64, columns: Int64, amounts: Int64) -> None:
        """Add ``amounts[i]`` at ``nodes[i]`` and ``columns[i]`` (int64[A] each); negative amounts release."""
        np.add.at(self.own, (nodes, columns), amounts)
        self._sum_up()

    # --- one node of the tree ------------------------------------------------------------------------------------

    def list_path(self, node: int) -> tuple[int, ...]:
        """Return a quota and those above it, up to its root."""
        found = self._paths.get(node)
        if found is None:
            above = int(self.tree.parent[node])
            found = self._paths[node] = (node, *self.list_path(above)) if above >= 0 else (node,)
        return found

    def get_left(self, node: int, column: int) -> int:
        """Return how much of a column (a resource in a flavor) a quota may still use, including what it may borrow."""
        tree, read = self.tree, self.used.item
        way = tree.ways.get((node, column))
        if way is None:
            way = tree.ways[node, column] = tree.trace(self.list_path(node), column)
        top, _, subtree, _ = way[0]
        available = subtree - read(top, column)
        for each, local, subtree, borrowing in way[1:]:
            used = read(each, column)
            free, most = (local - used, subtree - local) if used < local else (0, subtree - used)
            most += borrowing
            available = free + (min(most, available))
        most = UNBOUNDED - self.total.item(top, column)
        if tree.has_limits:
            most = min(tree.limit.item(each, column) - self.total.item(each, column) for each, *_ in way)
        return min(most, available)

    def get_own_left(self, node: int, column: int) -> int:
        """Return how much a quota has left of the amounts that it and those below it bring in.

        The result is negative if the quota borrows.
        """
        return self.tree.subtree.item(node, column) - self.used.item(node, column)

    def find_passed(self, node: int, above: int, column: int, amount: int) -> int:
        """Return how much of an amount used at ``node`` counts at ``above`` (``node`` itself or a quota above it)."""
        passed = amount
        for each in self.list_path(node):
            if each == above or not passed:
                break
            local, used = self.tree.local.item(each, column), self.used.item(each, column)
            passed = max(used + passed - local, 0) - max(used - local, 0)
        return passed

    def add(self, node: int, column: int, amount: int) -> None:
        """Add to the use of a quota; a negative amount releases."""
        self.own[node, column] += amount
        passed = amount
        for each in self.list_path(node):
            self.total[each, column] += amount
            if passed:
                local, before = self.tree.local.item(each, column), self.used.item(each, column)
                self.used[each, column] = before + passed
                passed = max(before + passed - local, 0) - max(before - local, 0)
