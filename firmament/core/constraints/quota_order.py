"""Who is next to draw on quotas: those within their own quota, then those who borrow, the least share first.

The *share* of a node is what it and those below it borrow: of each resource, over all flavors, in relation to what the
node above could lend; of these the largest, divided by the node's weight. Where shares count, they are compared from
the top of the tree down, each with the task in question added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_room import Draw, QuotaRoom

Standing = tuple[bool, tuple[float, ...]]
"""Whether a quota is to borrow, and shares from the top of the tree down; the less comes first."""


class QuotaOrder:
    """Compares those who wait for quotas, by what has been booked in a room."""

    def __init__(self, room: QuotaRoom) -> None:
        self._room = room
        terms = room.terms
        potential = terms.tree.compute_potential()
        resources = int(terms.resource.max(initial=-1)) + 1
        self._lendable = np.zeros((len(potential), resources))
        for number in range(resources):
            self._lendable[:, number] = potential[:, terms.resource == number].sum(axis=1, dtype=np.float64)

    def find_standing(self, draws: Sequence[tuple[int, int, int]]) -> Standing:
        """Return where some would stand once they have drawn: draw, kind of machine and number of tasks each."""
        drawn = [(draw, kind, count) for draw, kind, count in draws if self._room.terms.draws[draw].node >= 0]
        for draw, kind, count in drawn:
            self._room.draw_on(draw, kind, count)
        nodes = {self._room.terms.draws[draw].node for draw, _, _ in drawn}
        columns = sorted(
            {column for draw, _, _ in drawn for column in list_columns(self._room.terms.draws[draw])}
        )
        borrows = any(self._room.use.get_own_left(node, each) < 0 for node in nodes for each in columns)
        shares: tuple[float, ...] = ()
        if borrows:
            shares = min((self._list_shares(node) for node in nodes), default=())
        for draw, kind, count in reversed(drawn):
            self._room.draw_on(draw, kind, -count)
        return borrows, shares

    def _list_shares(self, node: int) -> tuple[float, ...]:
        """Return the shares on the way from the top to a node, of those above whose tasks go by shares."""
        if not self._room.terms.fair[node]:
            return ()
        *below, _ = self._room.use.list_path(node)
        return tuple(self.compute_share(each) for each in reversed(below))

    def compute_share(self, node: int) -> float:
        """Return the share of a node that is not at the top: 0 if it borrows nothing."""
        terms, use = self._room.terms, self._room.use
        beyond: Int64 = np.maximum(use.used[node] - terms.tree.subtree[node], 0)
        if not beyond.any():
            return 0.0
        borrowed = np.bincount(terms.resource, weights=beyond, minlength=self._lendable.shape[1])
        lendable = self._lendable[terms.tree.parent[node]]
        ratios = borrowed[borrowed > 0] * 1000 / np.maximum(lendable[borrowed > 0], 1)
        weight = float(terms.weight[node])
        return float(ratios.max()) / weight if weight else math.inf


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
