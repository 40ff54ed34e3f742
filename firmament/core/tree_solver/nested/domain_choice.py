"""Chooses domains for groups that share them: vector packing, by best fit and then by moves and swaps.

The search lowers the amounts by which domains are overfull. A move takes one group to another domain, a swap exchanges
two groups. A group that has just been moved stays for a while (tabu search, Glover 1989). Equal input gives equal
results.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64

STAY = 6
"""Number of steps for which a group stays where it was moved to."""


@dataclass(slots=True)
class DomainChoice:
    """A problem of I items and D domains; amounts are shares of what the largest domain has of each resource.

    ``demand``: float64[I, K], what each item needs; ``room``: float64[D, K], what each domain has; ``able``: bool[I,
    D], domains that can take an item alone; ``apart``: int64[I], items that share a number other than -1 must take
    different domains.
    """

    demand: Float64
    room: Float64
    able: Bool
    apart: Int64
    random: np.random.Generator
    tried: int = 0
    """How often an item has been tried in another domain so far."""

    def is_too_many(self) -> bool:
        """Return whether more items must be apart than there are domains that take at least one of these items."""
        return any(
            int((self.apart == number).sum()) > int(self.able[self.apart == number].any(axis=0).sum())
            for number in np.unique(self.apart[self.apart >= 0]).tolist()
        )

    def choose_domains(self, steps: int, order: Int64 | None = None) -> Int64 | None:
        """Return a domain for each item so that no domain is overfull, int64[I]; None if the search found no way."""
        if not self.able.any(axis=1).all():
            return None
        at = self._best_fit(order)
        load = np.zeros_like(self.room)
        np.add.at(load, at, self.demand)
        until = np.zeros(len(at), dtype=np.int64)
        for step in range(steps):
            over = self._overflow(load) + self._conflicts(at)
            crowded = np.flatnonzero(over > 1e-9)
            if not len(crowded):
                return at
            if not self._improve(at, load, until, crowded, step):
                return None
        return None

    def _best_fit(self, order: Int64 | None) -> Int64:
        size = self.demand.max(axis=1)
        choices = self.able.sum(axis=1)
        if order is None:
            order = np.lexsort((-size, choices > 1))
        at = np.full(len(size), -1, dtype=np.int64)
        left = self.room.copy()
        for item in order.tolist():
            able = self.able[item]
            if self.apart[item] >= 0:
                used = at[(self.apart == self.apart[item]) & (at >= 0)]
                able = able.copy()
                able[used] = False
                if not able.any():
                    able = self.able[item]
            after = left - self.demand[item]
            short = np.maximum(-after, 0).sum(axis=1)
            rank = np.where(able, short * 1e6 + np.maximum(after, 0).sum(axis=1), np.inf)
            at[item] = int(np.argmin(rank))
            left[at[item]] -= self.demand[item]
        return at

    def _overflow(self, load: Float64) -> Float64:
        over: Float64 = np.maximum(load - self.room, 0).sum(axis=1)
        return over

    def _conflicts(self, at: Int64) -> Float64:
        """Return how many items too many each domain has of those that must be apart: float64[D]."""
        found = np.zeros(len(self.room))
        bound = np.flatnonzero(self.apart >= 0)
        if len(bound):
            pairs, count = np.unique(np.stack([self.apart[bound], at[bound]]), axis=1, return_counts=True)
            np.add.at(found, pairs[1], count - 1)
        return found

    def _improve(self, at: Int64, load: Float64, until: Int64, crowded: Int64, step: int) -> bool:
        """Make the best move or swap that takes an item out of a crowded domain; return whether to continue."""
        source = int(crowded[int(self.random.integers(len(crowded)))])
        items = np.flatnonzero((at == source) & (self.able.sum(axis=1) > 1))
        free = items[until[items] <= step]
        items = free if len(free) else items
        if not len(items):
            return len(crowded) > 1
        self.tried += len(items)
        before = self._overflow(load)
        best: tuple[float, int, int, int] | None = None
        for item in items.tolist():
            for candidate in (
                self._weigh_moves(item, source, at, load, before),
                self._weigh_swaps(item, source, at, load, before, until, step),
            ):
                if candidate is not None and (best is None or candidate[0] < best[0]):
                    best = candidate
        if best is None:
            return len(crowded) > 1
        _, item, target, other = best
        self._go(item, target, at, load)
        until[item] = step + STAY
        if other >= 0:
            self._go(other, source, at, load)
            until[other] = step + STAY
        return True

    def _go(self, item: int, target: int, at: Int64, load: Float64) -> None:
        load[at[item]] -= self.demand[item]
        load[target] += self.demand[item]
        at[item] = target

    def _clash(self, item: int, at: Int64, target: Int64) -> Float64:
        """Return 1 for domains in ``target`` with another item that must be apart from ``item``, else 0: float64[A]."""
        if self.apart[item] < 0:
            return np.zeros(len(target))
        others = (self.apart == self.apart[item]) & (np.arange(len(at)) != item)
        return np.isin(target, at[others]).astype(np.float64)

    def _weigh_moves(
        self, item: int, source: int, at: Int64, load: Float64, before: Float64
    ) -> tuple[float, int, int, int] | None:
        targets = np.flatnonzero(self.able[item] & (np.arange(len(self.room)) != source))
        if not len(targets):
            return None
        own = np.maximum(load[source] - self.demand[item] - self.room[source], 0).sum() - before[source]
        after = np.maximum(load[targets] + self.demand[item] - self.room[targets], 0).sum(axis=1)
        gain = (
            own + after - before[targets] + self._clash(item, at, targets) - self._clash(item, at, at[[item]])
        )
        gain = gain + 1e-7 * self.random.random(len(gain))
        place = int(np.argmin(gain))
        return float(gain[place]), item, int(targets[place]), -1

    def _weigh_swaps(
        self, item: int, source: int, at: Int64, load: Float64, before: Float64, until: Int64, step: int
    ) -> tuple[float, int, int, int] | None:
        others = np.flatnonzero((at != source) & self.able[:, source] & self.able[item][at] & (until <= step))
        if not len(others):
            return None
        moved = self.demand[others] - self.demand[item]
        own = np.maximum(load[source] + moved - self.room[source], 0).sum(axis=1) - before[source]
        there = at[others]
        after = np.maximum(load[there] - moved - self.room[there], 0).sum(axis=1)
        gain = own + after - before[there] + self._clash(item, at, there) - self._clash(item, at, at[[item]])
        bound = self.apart[others] >= 0
        if bound.any():
            gain = gain + (bound & np.isin(self.apart[others], self.apart[at == source]))
        gain = gain + 1e-7 * self.random.random(len(gain))
        place = int(np.argmin(gain))
        return float(gain[place]), item, int(there[place]), int(others[place])
