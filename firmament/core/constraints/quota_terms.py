"""Represents the quotas of a round, and what tasks take of them, as immutable arrays.

A task takes amounts (*draws*) from the quota of its queue. A task takes each group of resources in one flavor, which
must cover the task's machine. For quotas, only the flavors that cover a machine therefore matter: machines covered by
the same flavors are of one *kind*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.quota_tree import QuotaTree
from firmament.core.ranks import expand_ranges


@dataclass(frozen=True, slots=True)
class DrawGroup:
    """A task's request for one group of resources, all of it in one flavor."""

    flavors: tuple[int, ...]
    """The possible flavors, in order of preference."""
    columns: tuple[tuple[int, ...], ...]
    """For each flavor, the column of each requested resource."""
    amounts: tuple[int, ...]
    """Requested amount of each resource; positive."""
    number: int = 0
    """The number of the group within its queue; 0 for all groups in rounds that were saved before groups had
    numbers."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The amounts that a task takes of quotas; tasks that are equal in this respect share a draw."""

    node: int
    """The quota that the tasks use; -1 if they are not admitted."""
    groups: tuple[DrawGroup, ...] = ()
    """The tasks' requests, by group of resources."""
    refused: str = ""
    """Why the tasks are not admitted at all; "" if they may be."""
    together: str = ""
    """Name of a group of pod sets: tasks of a gang that state the same name take the same flavors.

    An empty name: the tasks state no group of pod sets.
    """


@dataclass(frozen=True)
class QuotaTerms:
    """The quotas of a round: N quotas, J columns, F flavors, M machines of D kinds, S shapes; immutable."""

    tree: QuotaTree
    """The quotas as a tree."""
    names: tuple[str, ...]
    """The names of the quotas."""
    columns: tuple[tuple[str, str], ...]
    """Flavor and resource of each column."""
    flavor: Int64
    """int64[J], the flavor of each column."""
    resource: Int64
    """int64[J], the number of each column's resource."""
    own: Int64
    """int64[N, J], what tasks on machines use when the round begins, counted only at the quota of their own queue."""
    weight: Float64
    """float64[N], the weight of each quota, by which its share is divided."""
    fair: Bool
    """bool[N], whether, among queues below the quota, tasks of the one that borrows least come first."""
    strict: Bool
    """bool[N], whether the quota's tasks are placed strictly in their order."""
    within: Int64
    """int64[N], which tasks of its own queue a queue may evict: 0 none, 1 less important ones, 2 also newer ones."""
    reclaim: Int64
    """int64[N], which tasks of borrowing queues in its tree a queue may evict: 0 none, 1 less important ones, 2 any."""
    borrows: Bool
    """bool[N], whether a queue that borrows itself may evict less important tasks of other borrowing queues."""
    threshold: Int64
    """int64[N], the highest priority of tasks that a borrowing queue may evict."""
    kind: Int64
    """int64[M], the kind of each machine."""
    covers: Bool
    """bool[D, F], which flavors cover machines of each kind."""
    draws: tuple[Draw, ...]
    """The different draws of tasks."""
    draw: Int64
    """int64[S], the draw of each shape (index of ``draws``); -1 for none."""
    booked: tuple[tuple[int, int, int, int, int], ...] = ()
    """Tasks that have used one of several flavors: draw, kind, group, index of the flavor, number of tasks."""
    strategies: tuple[tuple[str, ...], ...] = ()
    """For each quota with fair shares, the strategies by which a borrower may evict tasks of larger borrowers, in
    order. Empty in rounds that were saved before strategies existed: fair shares then evict no tasks.
    """
    sparing: tuple[bool, ...] = ()
    """For each quota, whether its tasks prefer a later flavor to borrowing in an earlier one. Empty in rounds that
    were saved before ``sparing`` existed: tasks then use the first flavor with enough left.
    """
    evicts_first: tuple[bool, ...] = ()
    """For each quota, whether its tasks prefer evicting others in an earlier flavor to a later flavor. Empty in
    rounds that were saved before ``evicts_first`` existed: tasks then evict only if they fit in no flavor.
    """
    evicts_before_borrowing: tuple[bool, ...] = ()
    """For each quota, whether its tasks prefer evicting others in one flavor to borrowing more in another.

    Empty in rounds saved by older releases: no quota's tasks prefer that.
    """
    same_flavor: tuple[bool, ...] = ()
    """For each quota, whether all tasks of one class in a gang take the same flavor.

    Empty in rounds saved by older releases: tasks need not take the same flavor.
    """
    within_quota: tuple[bool, ...] = ()
    """For each quota, whether a task evicts nobody if no quota below the root is large enough for it.

    Empty in rounds saved by older releases: tasks of all quotas may evict.
    """
    keeps_borrowed: tuple[bool, ...] = ()
    """For each quota, whether tasks of other queues may not evict its tasks for quota.

    Empty in rounds saved by older releases: tasks of other queues may evict.
    """

    @cached_property
    def entries(self) -> DrawEntries:
        """The amounts of all draws as arrays."""
        return DrawEntries.from_draws(self.draws)

    def find_nodes(self, shapes: Int64) -> Int64:
        """Return the quota that tasks of each of ``shapes`` use: int64[A]; -1 for none."""
        return self.find_nodes_of(self.draw[shapes])

    def find_nodes_of(self, draws: Int64) -> Int64:
        """Return the quota of each of ``draws`` (int64[A], -1 for none): int64[A]; -1 for none."""
        node = np.array([*(draw.node for draw in self.draws), -1], dtype=np.int64)
        return node[draws]

    def is_reclaimable(self, node: int) -> bool:
        """Return whether tasks of other queues may evict tasks of a quota, to take back what it borrows."""
        return not (self.keeps_borrowed and self.keeps_borrowed[node])

    def is_sparing(self, node: int) -> bool:
        """Return whether tasks of a quota prefer a later flavor to borrowing in an earlier one."""
        return bool(self.sparing) and self.sparing[node]

    def find_evicting_early(self) -> Bool:
        """Return the quotas whose tasks may evict others even if they fit in some other flavor: bool[N]."""
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
        """Return the quotas in trees in which some queue's tasks may evict others to get quota: bool[N]."""
        root = self.find_roots()
        evicting = (self.within > 0) | (self.reclaim > 0) | self.borrows
        return np.isin(root, root[evicting])

    def part(self, shapes: Int64 | slice, machines: Int64 | slice = slice(None)) -> QuotaTerms:
        """Return the quotas for some shapes and machines, which are renumbered from 0.

        The quotas themselves are the same.
        """
        return replace(self, draw=self.draw[shapes], kind=self.kind[machines])


def list_columns(draw: Draw) -> list[int]:
    """Return all columns from which tasks of a draw may take amounts."""
    return [column for group in draw.groups for columns in group.columns for column in columns]


def list_amounts(draw: Draw, covered: Bool) -> list[tuple[int, int]]:
    """Return (column, amount) of what a task takes if its first ``covered`` flavor is used; ``covered``: bool[F]."""
    found: list[tuple[int, int]] = []
    for group in draw.groups:
        for columns, flavor in zip(group.columns, group.flavors, strict=True):
            if covered[flavor]:
                found += zip(columns, group.amounts, strict=True)
                break
    return found


@dataclass(frozen=True, slots=True, eq=False)
class DrawEntries:
    """The amounts of D draws as arrays of E entries, to look at the draws of thousands of queues at a time.

    An entry is for one resource in one flavor; the entries of a draw follow each other.

    A *choice* is one flavor of one group of a draw. A draw that is not admitted has no entries.
    """

    admitted: Bool
    """bool[D], whether the draw's tasks are admitted at all."""
    single: Bool
    """bool[D], whether the draw's tasks have one flavor to choose from in each group."""
    node: Int64
    """int64[E], the quota from which the amount is taken."""
    column: Int64
    """int64[E], the column of the flavor and resource."""
    flavor: Int64
    """int64[E], the flavor."""
    amount: Int64
    """int64[E], how much a task takes; positive."""
    first: Int64
    """int64[D + 1], where the entries of each draw begin."""
    choice: Int64
    """int64[E], the number of the entry's choice."""
    group: Int64
    """int64[C], the number of each choice's group."""
    draw: Int64
    """int64[G], the draw of each group."""

    @classmethod
    def from_draws(cls, draws: Sequence[Draw]) -> DrawEntries:
        """Return the entries of ``draws``."""
        entries: list[tuple[int, int, int, int, int]] = []
        admitted, single, first = [], [], [0]
        group_of: list[int] = []
        draw_of: list[int] = []
        for number, draw in enumerate(draws):
            node, one = draw.node, True
            admitted.append(node >= 0 and not draw.refused)
            for group in draw.groups if admitted[-1] else ():
                one &= len(group.flavors) == 1
                for flavor, columns in zip(group.flavors, group.columns, strict=True):
                    choice = len(group_of)
                    group_of.append(len(draw_of))
                    for column, amount in zip(columns, group.amounts, strict=True):
                        entries.append((node, column, flavor, amount, choice))
                draw_of.append(number)
            first.append(len(entries))
            single.append(one)
        table = np.array(entries, dtype=np.int64).reshape(-1, 5)
        return cls(
            admitted=np.array(admitted, dtype=np.bool_),
            single=np.array(single, dtype=np.bool_),
            node=table[:, 0],
            column=table[:, 1],
            flavor=table[:, 2],
            amount=table[:, 3],
            first=np.array(first, dtype=np.int64),
            choice=table[:, 4],
            group=np.array(group_of, dtype=np.int64),
            draw=np.array(draw_of, dtype=np.int64),
        )

    def find_open(self, available: Int64) -> Bool:
        """Return the draws of which a quota has enough for one task, in some flavor of each group: bool[D].

        ``available``: int64[N, J], what each quota has left. Whether there are machines of these flavors does not
        count.
        """
        lacks = available[self.node, self.column] < self.amount
        enough = np.bincount(self.choice[lacks], minlength=len(self.group)) == 0
        served = np.bincount(self.group[enough], minlength=len(self.draw)) > 0
        found: Bool = self.admitted & (np.bincount(self.draw[~served], minlength=len(self.admitted)) == 0)
        return found

    def list_amounts(self, draws: Int64, covered: Bool, counts: Int64) -> tuple[Int64, Int64, Int64] | None:
        """Return quota, column and amount of all that ``counts[i]`` tasks of ``draws[i]`` take: int64 each.

        ``covered``: bool[A, F], the flavors of the machines on which they are. Return None if some task is not
        admitted, has several flavors to choose from in a group, or is on machines without its flavor.
        """
        if not (self.admitted & self.single)[draws].all():
            return None
        begin, length = self.first[draws], self.first[draws + 1] - self.first[draws]
        entry, of = expand_ranges(begin, length), np.repeat(np.arange(len(draws)), length)
        if not covered[of, self.flavor[entry]].all():
            return None
        return self.node[entry], self.column[entry], self.amount[entry] * counts[of]
