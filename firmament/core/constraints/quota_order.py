"""Who is next to draw on quotas: those within their own quota, then those who borrow, the least share first.

The *share* of a node is what it and those below it borrow: of each resource, over all flavors, in relation to what the
node above could lend; of these the largest, divided by the node's weight. Where shares count, they are compared from
the top of the tree down, with the task in question added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_room import Draw, QuotaRoom, QuotaTerms

Standing = tuple[int, tuple[float, ...]]
"""How many levels up a quota is to borrow, 0 for not at all; shares from the top of the tree down. The less comes
first."""

WEIGHTLESS = 2.0**80
"""What the ratio of a quota without weight counts for each unit: it stands after all that have some."""


class QuotaShares:
    """What the quotas of a round borrow, in relation to what those above them could lend."""

    def __init__(self, terms: QuotaTerms) -> None:
        self._terms = terms
        self._resources = int(terms.resource.max(initial=-1)) + 1
        potential = terms.tree.compute_potential()
        self._lendable = np.zeros((len(potential), self._resources))
        for number in range(self._resources):
            self._lendable[:, number] = potential[:, terms.resource == number].sum(axis=1, dtype=np.float64)

    def compute(self, node: int, used: Int64) -> float:
        """Return the share of a node if ``used`` (int64[J]) is used: 0 if it borrows nothing, or is at the
        top.

        Resources of which the node above could lend nothing do not count.
        """
        terms = self._terms
        beyond: Int64 = np.maximum(used - terms.tree.subtree[node], 0)
        if not beyond.any() or terms.tree.parent[node] < 0:
            return 0.0
        borrowed = np.bincount(terms.resource, weights=beyond, minlength=self._resources)
        lendable = self._lendable[terms.tree.parent[node]]
        counts = (borrowed > 0) & (lendable > 0)
        ratio = float((borrowed[counts] * 1000 / lendable[counts]).max(initial=0.0))
        weight = float(terms.weight[node])
        return ratio / weight if weight else ratio * WEIGHTLESS


class QuotaOrder:
    """Compares those who wait for quotas, by what has been booked in a room."""

    def __init__(self, room: QuotaRoom) -> None:
        self._room = room
        self._shares = QuotaShares(room.terms)

    def find_standing(self, draws: Sequence[tuple[int, int, int]]) -> Standing:
        """Return where some would stand once they have drawn: draw, kind of machine and number of tasks each."""
        drawn = [(draw, kind, count) for draw, kind, count in draws if self._room.terms.draws[draw].node >= 0]
        use, nodes = self._room.use, {self._room.terms.draws[draw].node for draw, _, _ in drawn}
        before = {node: use.own[node].copy() for node in nodes}
        for draw, kind, count in drawn:
            self._room.draw_on(draw, kind, count)
        borrows = 0
        for node in nodes:
            columns = np.flatnonzero(use.own[node] != before[node]).tolist()
            borrows = max(borrows, self._count_levels(node, columns))
        shares: tuple[float, ...] = ()
        if borrows:
            shares = min((self._list_shares(node) for node in nodes), default=())
        for draw, kind, count in reversed(drawn):
            self._room.draw_on(draw, kind, -count)
        return (min(borrows, 1) if shares else borrows), shares

    def _count_levels(self, node: int, columns: Sequence[int]) -> int:
        """Return how many quotas, from a node upwards, use more than they bring in; at the top of the tree all do."""
        count = 0
        use = self._room.use
        for each in use.list_path(node)[:-1]:
            if all(use.get_own_left(each, column) >= 0 for column in columns):
                break
            count += 1
        return count

    def _list_shares(self, node: int) -> tuple[float, ...]:
        """Return the shares on the way from the top to a node, of those above whose tasks go by shares."""
        if not self._room.terms.fair[node]:
            return ()
        *below, _ = self._room.use.list_path(node)
        return tuple(self._shares.compute(each, self._room.use.used[each]) for each in reversed(below))


def list_columns(draw: Draw) -> list[int]:
    """Return all columns of which tasks of a draw may take."""
    return [column for group in draw.groups for columns in group.columns for column in columns]


def list_amounts(draw: Draw, covered: Bool) -> list[tuple[int, int]]:
    """Return column and amount of all that a task takes in the first of its flavors that are ``covered`` (bool[F])."""
    found: list[tuple[int, int]] = []
    for group in draw.groups:
        for columns, flavor in zip(group.columns, group.flavors, strict=True):
            if covered[flavor]:
                found += zip(columns, group.amounts, strict=True)
                break
    return found
