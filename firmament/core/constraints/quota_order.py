"""Orders the tasks that wait for quota: first those within their own quota, then those that borrow, by share.

The *share* of a quota says how much the quota and those below it borrow. For each resource, the borrowed amount over
all flavors is divided by what the quota above could lend. The share is the largest of these ratios, divided by the
quota's weight. If fair shares count, shares are compared from the root of the tree down, with the task in question
added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.constraints.remaining_quota import RemainingQuota


@dataclass(frozen=True, slots=True, eq=False)
class QuotaStanding:
    """The position of a task in the order of tasks that wait for quota; the smaller standing comes first.

    If both queues use fair shares, two tasks are compared at the level at which their paths from the root part. At
    that level, a task that need not borrow comes first, otherwise the task with the smaller share. Tasks without fair
    shares are compared by how far up in the tree they borrow.
    """

    borrows: int = 0
    """Height of the lowest quota on the path to the root that has enough; 0 for the task's own quota."""
    path: tuple[int, ...] = ()
    """The quotas from the root down to the task's own, if fair shares count."""
    shares: tuple[tuple[bool, float], ...] = ()
    """For each quota on the path below the root: whether it would borrow for this request, and its share."""

    def compare(self, other: QuotaStanding) -> int:
        """Return a negative number if this standing comes first, a positive number if ``other`` comes first, else 0."""
        if not self.path or not other.path or self.path[0] != other.path[0]:
            return self.borrows - other.borrows
        for mine, its, *values in zip(self.path[1:], other.path[1:], self.shares, other.shares, strict=False):
            if mine != its:
                return -1 if values[0] < values[1] else int(values[0] > values[1])
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuotaStanding) and self.compare(other) == 0

    def __lt__(self, other: QuotaStanding) -> bool:
        return self.compare(other) < 0

    __hash__ = None  # type: ignore[assignment]  # equal ones need not have equal parts


WEIGHTLESS = 2.0**80
"""A quota without weight multiplies its ratio by this factor, and so comes after all quotas with a weight."""


class QuotaShares:
    """Computes what the quotas of a round borrow, relative to what the quotas above them could lend."""

    def __init__(self, terms: QuotaTerms) -> None:
        self._terms = terms
        self._resources = int(terms.resource.max(initial=-1)) + 1

    @cached_property
    def _lendable(self) -> Float64:
        """float64[N, R], what each quota could lend of each resource."""
        potential = self._terms.tree.potential
        lendable = np.zeros((len(potential), self._resources))
        for number in range(self._resources):
            of_resource = potential[:, self._terms.resource == number]
            lendable[:, number] = of_resource.sum(axis=1, dtype=np.float64)
        return lendable

    def compute(self, node: int, used: Int64) -> float:
        """Return a quota's share if ``used`` (int64[J]) is used: 0 if it borrows nothing, or is a root.

        Resources of which the quota above could lend nothing do not count.
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
    """Says which of the tasks that wait for quotas comes first, given what is booked in a ``RemainingQuota``."""

    def __init__(self, room: RemainingQuota) -> None:
        self._room = room
        self._shares = QuotaShares(room.terms)
        self._height = room.terms.tree.heights
        of_height = [QuotaStanding(height) for height in range(int(self._height.max(initial=0)) + 1)]
        self._alone = [of_height[height] for height in self._height.tolist()]

    def go_on(self, room: RemainingQuota) -> QuotaOrder:
        """Return an order for the quotas ``room``: this order, updated, if the tree of quotas is the same.

        If the tree of quotas is another one, a new order is returned.
        """
        if room.terms.tree is not self._room.terms.tree:
            return QuotaOrder(room)
        self._room = room
        return self

    def find_standing(self, draws: Sequence[tuple[int, int, int]]) -> QuotaStanding:
        """Return the standing of tasks after they have taken quota.

        ``draws``: tuples of draw, kind of machine and number of tasks.
        """
        room = self._room
        drawn = [each for each in draws if room.terms.draws[each[0]].node >= 0]
        if len(drawn) == 1 and (single := self._stand_alone(*drawn[0])) is not None:
            return single
        use, nodes = room.use, {room.terms.draws[draw].node for draw, _, _ in drawn}
        before = {node: use.own[node].copy() for node in nodes}
        # Releasing tasks may release another flavor than the one booked, so the state is saved and restored.
        booked, most, known = room.booked.copy(), room.most.copy(), room.known_units
        room.known_units = known.copy()
        for draw, kind, count in drawn:
            room.draw_on(draw, kind, count)
        standing = QuotaStanding()
        for node in nodes:
            columns = np.flatnonzero(use.own[node] != before[node]).tolist()
            own = self._stand(node, columns)
            standing = own if own.borrows >= standing.borrows else standing
        for node in nodes:
            for column in np.flatnonzero(use.own[node] != before[node]).tolist():
                use.add(node, column, int(before[node][column] - use.own[node, column]))
        room.booked, room.most, room.known_units = booked, most, known
        return standing

    def find_standing_of_one(self, draw: int, kind: int) -> QuotaStanding:
        """Return the standing of one task of a draw after it has taken quota, on a machine of a kind."""
        return self._stand_alone(draw, kind, 1) or self.find_standing([(draw, kind, 1)])

    def _stand_alone(self, draw: int, kind: int, count: int) -> QuotaStanding | None:
        """Return the standing of tasks of one draw.

        The result is None if the tasks' flavors are not chosen yet, or if the queue uses fair shares.
        """
        terms, use = self._room.terms, self._room.use
        wanted = terms.draws[draw]
        if terms.fair[wanted.node]:
            return None
        amounts = self._room.list_plain_amounts(draw, kind)
        if amounts is None:
            return None
        if all(use.get_own_left(wanted.node, column) >= amount * count for column, amount in amounts):
            return self._alone[wanted.node]
        passed = {column: amount * count for column, amount in amounts}
        path = use.list_path(wanted.node)
        for each in path[:-1]:
            if all(use.get_own_left(each, column) >= amount for column, amount in passed.items()):
                return self._alone[each]
            passed = {
                column: use.find_passed(each, int(terms.tree.parent[each]), column, amount)
                for column, amount in passed.items()
            }
        return self._alone[path[-1]]

    def _stand(self, node: int, columns: Sequence[int]) -> QuotaStanding:
        """Return the standing of a task that has taken ``columns`` of a quota."""
        use, borrows = self._room.use, self.find_height(node, columns)
        if not self._room.terms.fair[node]:
            return QuotaStanding(borrows)
        path = use.list_path(node)[::-1]
        shares = tuple(
            (
                any(use.get_own_left(each, column) < 0 for column in columns),
                self._shares.compute(each, use.used[each]),
            )
            for each in path[1:]
        )
        return QuotaStanding(borrows, path, shares)

    def find_height(self, node: int, columns: Sequence[int]) -> int:
        """Return the height of the lowest quota, from ``node`` up, that does not borrow.

        If all quotas borrow, return the height of the root.

        The height is the number of levels below a quota, as Kueue counts it.
        """
        use, path = self._room.use, self._room.use.list_path(node)
        for each in path[:-1]:
            if all(use.get_own_left(each, column) >= 0 for column in columns):
                return int(self._height[each])
        return int(self._height[path[-1]])
