"""Repairs a nearly optimal flow with nearly valid prices, without solving the network again.

After the first solve of a round, often only a handful of arcs are missing, each a few units cheaper than the prices
say. A solver that starts anew takes as long for these arcs as for the whole network. Instead, the repair fills the
arcs that are cheaper than their prices, and empties arcs that carry flow at too high a cost. Some nodes then have an
excess of flow and others a deficit. The repair sends the excess to the deficits along shortest paths of the residual
network, along all shortest paths of one length at a time. Repairing a flow raises prices by the lengths of the
shortest paths, so prices remain valid. The repair is the primal-dual method for min-cost flows, started near its end
(Ahuja, Magnanti, Orlin: Network Flows, 9.8).

A path's length counts reduced costs first and arcs second: many paths have reduced cost 0, and those with the fewest
arcs are found first and cross each other least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Network
from firmament.core.flow.optimality.node_prices import Prices
from firmament.core.flow.optimality.pricing import FullPrices
from firmament.core.flow.shortest_paths import ArcBlock, shorten
from firmament.core.flow.tuning import RepairTuning
from firmament.core.ranks import order_of, places_in
from firmament.solvers.base import Int32

_FAR = 2**30 - 1
"""A length above that of any path; twice this number still fits into 32 bits."""


class RepairedFlow(NamedTuple):
    """An optimal flow, int64[A], and node prices that prove it optimal."""

    flows: Int64
    prices: Prices


def repair_flow(
    network: Network, flows: Int64, prices: FullPrices, most: int, tuning: RepairTuning
) -> RepairedFlow | None:
    """Return an optimal flow of ``network`` and valid prices, starting from a feasible flow and any prices.

    The work grows with the number of arcs that contradict the prices. The result is None if there are more than
    ``most`` such arcs, or if balancing the flow takes too many rounds.
    """
    classes, price = len(network.classes), prices.nodes(network)
    for _ in range(tuning.attempts):
        wrong = _Contradictions(network, flows, price)
        if not len(wrong):
            return RepairedFlow(flows, Prices(cls=price[:classes], machine=price[2 * classes : -1]))
        if len(wrong) > most:
            return None
        graph = _Graph(network, flows, wrong)
        if not graph.balance(tuning):
            return None
        flows = graph.flows()
        price += graph.risen - graph.risen[-1]
    return None


class _Contradictions:
    """Arcs that contradict node prices (in half units).

    ``fill``: indices of arcs with spare capacity and a negative ``reduced`` cost (int64[A]); ``empty``: indices of arcs
    with flow and a positive reduced cost. ``largest``: size of the largest contradiction.
    """

    def __init__(self, network: Network, flows: Int64, price: Int64) -> None:
        arcs = network.problem
        self.reduced = reduced = 2 * arcs.costs + price[arcs.heads] - price[arcs.tails]
        self.fill = np.flatnonzero((reduced < 0) & (flows < arcs.capacities))
        self.empty = np.flatnonzero((reduced > 0) & (flows > 0))
        self.largest = max(-int(reduced[self.fill].min(initial=0)), int(reduced[self.empty].max(initial=0)))

    def __len__(self) -> int:
        return len(self.fill) + len(self.empty)


class _Graph:
    """The residual network near the contradictions: each arc becomes two half arcs, one for each direction.

    Half arcs, int64[H], are sorted by tail; nodes are those of the network, classes first. ``excess``: int64[N], the
    surplus of flow at each node, negative for a deficit; ``risen``: int64[N], by how much each node's price has risen.
    """

    def __init__(self, network: Network, flows: Int64, wrong: _Contradictions) -> None:
        arcs = network.problem
        self._filled = filled = flows.copy()
        filled[wrong.fill], filled[wrong.empty] = arcs.capacities[wrong.fill], 0
        self.excess = np.zeros(len(arcs.supplies), dtype=np.int64)
        for some in (wrong.fill, wrong.empty):
            moved = (filled - flows)[some]
            np.add.at(self.excess, arcs.heads[some], moved)
            np.subtract.at(self.excess, arcs.tails[some], moved)
        self.risen = np.zeros_like(self.excess)
        # A unit of flow that was moved can be moved back, so few of the shortest paths cost more than moving it back.
        # Tasks left out at a penalty, which is far above the cost of any path, find a place along much shorter paths.
        farthest = min(wrong.largest, (_FAR >> len(self.excess).bit_length() + 1) - 1)
        self._part = part = np.flatnonzero((np.abs(wrong.reduced) <= farthest) & (arcs.capacities > 0))
        tail = np.concatenate([arcs.tails[part], arcs.heads[part]])
        head = np.concatenate([arcs.heads[part], arcs.tails[part]])
        self._order = order = order_of(tail, len(self.excess))
        self._mate = places_in(order, len(order))[
            np.where(order < len(part), order + len(part), order - len(part))
        ]
        self._tail, self._head = tail[order].astype(np.int64), head[order].astype(np.int64)
        self._reduced = np.concatenate([wrong.reduced[part], -wrong.reduced[part]])[order]
        self._room = np.concatenate([(arcs.capacities - filled)[part], filled[part]])[order]
        self._classes = len(network.classes)
        self._hop = 1 << len(self.excess).bit_length()

    def balance(self, tuning: RepairTuning) -> bool:
        """Send all excess to nodes with a deficit; return False if this takes, or would take, too many rounds.

        Filling a whole arc to a row that stands for thousands of machines may have to be undone in many small parts.
        """
        first = int(self.excess[self.excess > 0].sum())
        for done in range(tuning.rounds):
            sources = np.flatnonzero(self.excess > 0)
            if not len(sources):
                return True
            led = first - int(self.excess[sources].sum())
            if done >= tuning.looks_ahead_after and led * tuning.rounds < first * done:
                return False
            live = np.flatnonzero(self._room > 0)
            tail, head = self._tail[live], self._head[live]
            cost = self._reduced[live] + self.risen[head] - self.risen[tail]
            length = np.minimum(cost * self._hop + 1, _FAR).astype(np.int32)
            distance = self._distances(tail, head, length)
            farthest = int(distance[sources].max())
            if farthest >= _FAR:
                return False
            shortest = live[distance.take(head) + length == distance.take(tail)]
            self._push(sources[np.argsort(distance[sources], kind="stable")], shortest)
            self.risen += np.minimum(distance, farthest) // self._hop
        return False

    def flows(self) -> Int64:
        """Return the flow on the network's arcs: int64[A]."""
        room = np.empty_like(self._room)
        room[self._order] = self._room
        result = self._filled.copy()
        result[self._part] = room[len(self._part) :]
        return result

    def _distances(self, tail: Int64, head: Int64, length: Int32) -> Int32:
        """Return the distance of each node to the nearest deficit, ``_FAR`` if no path leads to one: int32[N]."""
        distance = np.where(self.excess < 0, 0, _FAR).astype(np.int32)
        # Paths alternate between classes and other nodes: relaxing the two kinds of nodes in turn makes a sweep take
        # two steps of a path.
        middle = int(np.searchsorted(tail, self._classes))
        blocks = [
            ArcBlock(tail[some], head[some], length[some]) for some in (slice(middle), slice(middle, None))
        ]
        shorten(distance, blocks, len(distance))
        return distance

    def _push(self, sources: Int64, shortest: Int64) -> None:
        """Send as much excess as possible from ``sources`` along the half arcs ``shortest`` (a blocking flow)."""
        excess, room, mate = self.excess.data, self._room.data, self._mate.data
        head, arc = self._head.data, shortest.data
        counts = np.bincount(self._tail[shortest], minlength=len(excess))
        ends = np.cumsum(counts)
        following, end = (ends - counts).tolist(), ends.data
        for source in sources.tolist():
            path: list[int] = []
            node = source
            while excess[source] > 0:
                if excess[node] < 0:
                    pushed = min(excess[source], -excess[node], *(room[half] for half in path))
                    for half in path:
                        room[half] -= pushed
                        room[mate[half]] += pushed
                    excess[source] -= pushed
                    excess[node] += pushed
                    path, node = [], source
                    continue
                at = following[node]
                while at < end[node] and room[arc[at]] == 0:
                    at += 1
                following[node] = at
                if at < end[node]:
                    path.append(arc[at])
                    node = head[arc[at]]
                elif path:
                    node = head[mate[path.pop()]]
                    following[node] += 1
                else:
                    break
