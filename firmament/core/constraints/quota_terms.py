"""The quotas of a round, and what tasks take of them, as arrays; immutable.

A task *draws* on the quota of its queue. For each group of resources it uses one flavor, which must cover the machine
that it goes to. So whether a task may go to a machine depends only on the flavors that cover the machine: machines
covered by the same flavors are of one *kind*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.quota_tree import QuotaTree


@dataclass(frozen=True, slots=True)
class DrawGroup:
    """A task's request for one group of resources, all of it in one flavor."""

    flavors: tuple[int, ...]
    """Flavors in order of preference."""
    columns: tuple[tuple[int, ...], ...]
    """For each flavor, the column of each requested resource."""
    amounts: tuple[int, ...]
    """Requested amount of each resource; positive."""
    number: int = 0
    """Which group of its queue it is; 0 for all in rounds that were saved before it was known."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The amounts that tasks draw on quotas; tasks that are equal in this share a draw."""

    node: int
    """The quota that they draw on; -1 if they are not admitted."""
    groups: tuple[DrawGroup, ...] = ()
    """Their requests, by group of resources."""
    refused: str = ""
    """Why the tasks are not admitted at all, "" if they may be."""
    together: str = ""
    """Name of a group of pod sets: tasks of a gang that name the same one take the same flavors. "" for none."""


@dataclass(frozen=True, slots=True)
class QuotaTerms:
    """The quotas of a round: N quotas, J columns, F flavors, M machines of D kinds, S shapes; immutable."""

    tree: QuotaTree
    """The quotas."""
    names: tuple[str, ...]
    """The names of the quotas."""
    columns: tuple[tuple[str, str], ...]
    """Flavor and resource of each column."""
    flavor: Int64
    """int64[J], the flavor of each column."""
    resource: Int64
    """int64[J], number of each column's resource."""
    own: Int64
    """int64[N, J], what tasks on machines use when the round begins, by the quota that they draw on themselves."""
    weight: Float64
    """float64[N], weights of quotas by which their shares are divided."""
    fair: Bool
    """bool[N], quotas among which tasks of the one that borrows least come first."""
    strict: Bool
    """bool[N], quotas whose tasks come strictly one after another."""
    within: Int64
    """int64[N], which tasks of its own queue a queue may evict: 0 none, 1 less important, 2 also newer ones."""
    reclaim: Int64
    """int64[N], which tasks of borrowing queues of its tree a queue may evict: 0 none, 1 less important, 2 any."""
    borrows: Bool
    """bool[N], whether a queue that borrows itself may evict less important tasks of those."""
    threshold: Int64
    """int64[N], the highest priority of tasks that may be evicted by a borrowing queue."""
    kind: Int64
    """int64[M], kind of each machine."""
    covers: Bool
    """bool[D, F], which flavors cover machines of each kind."""
    draws: tuple[Draw, ...]
    """The different draws of tasks."""
    draw: Int64
    """int64[S], draw of each shape (index into ``draws``), -1 for none."""
    booked: tuple[tuple[int, int, int, int, int], ...] = ()
    """Tasks that have used one of several flavors: draw, kind, group, index of the flavor, number of tasks."""
    strategies: tuple[tuple[str, ...], ...] = ()
    """By quota with fair shares, the strategies by which a borrower may evict tasks of larger borrowers, in order.
    Empty in rounds that were saved before there were any: fair shares then evict no tasks.
    """
    sparing: tuple[bool, ...] = ()
    """By quota, whether its tasks prefer a later flavor to borrowing in an earlier one. Empty in rounds that were saved
    before there was a choice: the first flavor with enough left is then used.
    """
    evicts_first: tuple[bool, ...] = ()
    """By quota, whether its tasks prefer evicting others in an earlier flavor to a later flavor. Empty as ``sparing``:
    tasks then evict only if no flavor has a place.
    """
    evicts_before_borrowing: tuple[bool, ...] = ()
    """By quota, whether its tasks prefer evicting others in one flavor to borrowing more in another; empty as above."""
    same_flavor: tuple[bool, ...] = ()
    """By quota, whether all tasks of one class in a gang take the same flavor; empty as above: they need not."""
    within_quota: tuple[bool, ...] = ()
    """By quota, whether tasks for which no quota below the root is large enough evict nobody; empty as above."""
    keeps_borrowed: tuple[bool, ...] = ()
    """By quota, whether tasks of other queues may not evict its tasks for quota; empty as above: they may."""

    def find_nodes(self, shapes: Int64) -> Int64:
        """Return the quota that tasks of each of ``shapes`` draw on, -1 for none: int64[A]."""
        return self.find_nodes_of(self.draw[shapes])

    def find_nodes_of(self, draws: Int64) -> Int64:
        """Return the quota of each of ``draws`` (int64[A], -1 for none), -1 for none: int64[A]."""
        node = np.array([*(draw.node for draw in self.draws), -1], dtype=np.int64)
        return node[draws]

    def is_reclaimable(self, node: int) -> bool:
        """Return whether tasks of other queues may evict tasks of a quota, to take back what it borrows."""
        return not (self.keeps_borrowed and self.keeps_borrowed[node])

    def is_sparing(self, node: int) -> bool:
        """Return whether tasks of a quota prefer a later flavor to borrowing in an earlier one."""
        return bool(self.sparing) and self.sparing[node]

    def find_evicting_early(self) -> Bool:
        """Return the quotas whose tasks may evict others even if they find a place in some other flavor: bool[N]."""
        found = np.zeros(len(self.names), dtype=np.bool_)
        for each in (self.evicts_first, self.evicts_before_borrowing):
            if each:
                found |= each
        return found

    def find_roots(self) -> Int64:
        """Return the root of each quota's tree: int64[N]."""
        parent, root = self.tree.parent, np.arange(len(self.tree.parent))
        while (below := parent[root] >= 0).any():
            root = np.where(below, parent[root], root)
        return root

    def find_contested(self) -> Bool:
        """Return quotas of trees in which the tasks of some queue may evict others for quota: bool[N]."""
        root = self.find_roots()
        evicting = (self.within > 0) | (self.reclaim > 0) | self.borrows
        return np.isin(root, root[evicting])

    def part(self, shapes: Int64 | slice, machines: Int64 | slice = slice(None)) -> QuotaTerms:
        """Return the same quotas for some shapes and machines, renumbered from 0."""
        return replace(self, draw=self.draw[shapes], kind=self.kind[machines])


def list_columns(draw: Draw) -> list[int]:
    """Return all columns that tasks of a draw may draw on."""
    return [column for group in draw.groups for columns in group.columns for column in columns]


def list_amounts(draw: Draw, covered: Bool) -> list[tuple[int, int]]:
    """Return (column, amount) of what a task draws in the first of its flavors that are ``covered`` (bool[F])."""
    found: list[tuple[int, int]] = []
    for group in draw.groups:
        for columns, flavor in zip(group.columns, group.flavors, strict=True):
            if covered[flavor]:
                found += zip(columns, group.amounts, strict=True)
                break
    return found
