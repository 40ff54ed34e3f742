"""Prices every arc that was left out of a network: the result is the certificate, or the arcs that refute optimality.

A left-out arc with cost c from class i to machine j has reduced cost c + price(j) - price(i). If no left-out arc has a
negative reduced cost, the flow is an optimum of the full network (linear programming duality). A machine outside the
network has the price of its own cheapest arc to the sink.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from firmament.core.flow.network.arc_columns import ArcColumns, UnpinnedArcs
from firmament.core.flow.network.network import Network, crowding_cost
from firmament.core.flow.optimality.node_prices import Prices
from firmament.core.flow.residual import Residual, machine_units
from firmament.core.ranks import count_up, places_in

FORBIDDEN = np.int64(2**61)
"""Reduced cost that prevents an arc from being chosen."""

PAIRS_AT_ONCE = 200_000
"""Number of (class, machine) pairs that are priced together, so that they fit the processor's cache."""

NARROW = 2**26
"""Prices (times two) below this are compared in 32 bits: such a price plus twice the largest cost is below 2**31."""


def full_machine_prices(residual: Residual, network: Network, prices: Prices) -> Int64:
    """Return each machine's price, times two: int64[M].

    A machine outside the network costs the crowding of one more task.
    """
    price = 2 * crowding_cost(residual, np.arange(residual.problem.machines))
    price[network.machines] = prices.machine
    return price


@dataclass(frozen=True, slots=True)
class FullPrices:
    """Node prices times two, so that the middle of two prices is a whole number."""

    cls: Int64
    """Prices of the C' classes in the network: int64[C']."""
    machine: Int64
    """Prices of all machines, also of those outside the network: int64[M]."""

    @classmethod
    def from_network(cls, residual: Residual, network: Network, prices: Prices) -> FullPrices:
        """Return a network's prices, extended to the machines outside the network."""
        return cls(prices.cls, full_machine_prices(residual, network, prices))

    def nodes(self, network: Network) -> Int64:
        """Return the price of each node of ``network``: int64[N].

        The network must have the classes of these prices. An unscheduled aggregator has the price of its class, and the
        sink 0.
        """
        return np.concatenate(
            [self.cls, self.cls, self.machine[network.machines], np.zeros(1, dtype=np.int64)]
        )


@dataclass(frozen=True, slots=True)
class Violations:
    """Left-out arcs that could lower the cost: columns to add, and machines (int64[V]) that need more crowding steps.

    ``total``: number of all violations, including those beyond the limit on what is added at once. ``settled``:
    prices that no left-out arc violates once ``columns`` are added.
    """

    columns: ArcColumns
    machines: Int64
    total: int
    settled: FullPrices


def price_out(
    residual: Residual,
    network: Network,
    flows: Int64,
    prices: FullPrices,
    unpinned: UnpinnedArcs,
    *,
    limit: int,
    settled: FullPrices | None = None,
) -> Violations:
    """Price all left-out arcs; return at most about ``limit`` of the worst violations, divided among the classes.

    ``settled``: prices that no left-out arc violates, such as those of the last pricing. If the prices before are
    given, only arcs are priced whose machine has become cheaper relative to their class.
    """
    share = max(1, limit // max(1, len(network.classes)))
    waiting = residual.remaining.sum(axis=1)
    cls_price, parts, total = prices.cls.copy(), [], 0
    for arcs_left in _list_left_out(network, prices, unpinned, settled):
        row, place = arcs_left.violating()
        if len(row) == 0:
            continue
        total += len(row)
        reduced = arcs_left.compute_reduced(row, place)
        kept = _worst(row, reduced, np.minimum(share, waiting[arcs_left.classes] + 64))
        parts.append(ArcColumns(arcs_left.classes[row[kept]], arcs_left.machines[place[kept]]))
        left = np.flatnonzero(~kept)
        at = np.searchsorted(network.classes, arcs_left.classes[row[left]])
        np.minimum.at(cls_price, at, prices.cls[at] + reduced[left])
    saturated = _find_saturated(residual, network, flows, prices)
    columns = ArcColumns.join(parts, residual.problem.machines)
    return Violations(columns, saturated, total + len(saturated), replace(prices, cls=cls_price))


@dataclass(frozen=True, slots=True)
class _LeftOutArcs:
    """Left-out arcs of some classes (rows) to some machines (columns), and their prices.

    ``classes``, ``shapes``: those of the rows; ``machines``: those of the columns; ``priced``: 2 x cost + the machine's
    price per pair, and the largest number for arcs that are in the network; ``price``: prices of the classes; ``fits``:
    bool[M] by shape, machines on which one task fits.
    """

    classes: Int64
    shapes: Int64
    machines: Int64
    priced: NDArray[Any]
    price: Int64
    fits: dict[int, Bool]

    def violating(self) -> tuple[Int64, Int64]:
        """Return the pairs with negative reduced cost where a task fits: their rows, and indices into ``machines``."""
        # Usually few rows have such a pair, and finding a row's minimum is faster than comparing the whole row.
        some = np.flatnonzero(self.priced.min(axis=1, initial=np.iinfo(self.priced.dtype).max) < self.price)
        ceiling = self.price[some].astype(self.priced.dtype)  # with two types, numpy would convert all pairs
        hit, place = np.nonzero(self.priced[some] < ceiling[:, None])
        row = some[hit]
        allowed = np.empty(len(row), dtype=np.bool_)
        ends = np.searchsorted(row, np.arange(len(self.classes) + 1)).tolist()
        for index in some.tolist():
            begin, end = ends[index], ends[index + 1]
            allowed[begin:end] = self.fits[int(self.shapes[index])].take(self.machines[place[begin:end]])
        return row[allowed], place[allowed]

    def compute_reduced(self, row: Int64, place: Int64) -> Int64:
        """Return the reduced costs of pairs of row and column, times two."""
        reduced: Int64 = self.priced[row, place] - self.price[row]
        return reduced


def _list_left_out(
    network: Network, prices: FullPrices, unpinned: UnpinnedArcs, settled: FullPrices | None
) -> Iterator[_LeftOutArcs]:
    """Yield the left-out arcs that could have a negative reduced cost, in blocks that suit the processor's cache."""
    at = np.searchsorted(network.classes, unpinned.classes)
    price = prices.cls[at]
    near = unpinned.find_within_reach(prices.machine, int(price.max(initial=0)))
    if settled is None:
        every = np.arange(len(at))
        blocks = [(every, unpinned.likely), (every, np.setdiff1d(near, unpinned.likely, assume_unique=True))]
    else:
        blocks = _closer(price - settled.cls[at], prices.machine - settled.machine, near)
    for rows, machines in blocks:
        yield from _compute_left_out(unpinned, network, price, prices.machine[machines], rows, machines)


def _compute_left_out(
    unpinned: UnpinnedArcs, network: Network, price: Int64, level: Int64, rows: Int64, machines: Int64
) -> Iterator[_LeftOutArcs]:
    """Yield left-out arcs of ``rows`` to ``machines``; ``price``: of all classes, ``level``: prices of ``machines``."""
    narrow = int(price[rows].max(initial=0)) < NARROW and int(level.min(initial=0)) >= 0
    dtype = np.int32 if narrow else np.int64
    level = np.minimum(level, NARROW if narrow else FORBIDDEN).astype(dtype)
    inside_row, inside_place = _inside(network, unpinned.classes[rows], machines, unpinned.problem.machines)
    size = max(1, PAIRS_AT_ONCE // max(1, len(machines)))
    for begin in range(0, len(rows), size):
        some = rows[begin : begin + size]
        priced: NDArray[Any] = unpinned.costs(some, machines).astype(dtype, copy=False)
        priced += priced
        priced += level
        inside = slice(*np.searchsorted(inside_row, [begin, begin + size]).tolist())
        priced[inside_row[inside] - begin, inside_place[inside]] = np.iinfo(dtype).max
        yield _LeftOutArcs(
            unpinned.classes[some], unpinned.shapes[some], machines, priced, price[some], unpinned.fits
        )


def _inside(network: Network, classes: Int64, some: Int64, machines: int) -> tuple[Int64, Int64]:
    """Return the network's columns between ``classes`` and the machines ``some``, as indices into these, in order."""
    row = places_in(np.searchsorted(network.classes, classes), len(network.classes))[network.column_class]
    place = places_in(some, machines)[network.columns.machine]
    both = (row >= 0) & (place >= 0)
    return row[both], place[both]


def _closer(risen: Int64, changed: Int64, near: Int64) -> list[tuple[Int64, Int64]]:
    """Return blocks of rows and of machines among ``near`` that cover all pairs whose reduced cost may have fallen.

    The reduced cost of a pair (class, machine) falls if the class's price has ``risen`` (int64[U]) by more than the
    machine's price has ``changed`` (int64[M]). Most prices move together or not at all, so few classes' prices rise
    by more than most, and few machines' prices by less.
    """
    usual = np.median(risen) if len(risen) else 0
    blocks = []
    for rows in (np.flatnonzero(risen > usual), np.flatnonzero(risen <= usual)):
        some = near[changed[near] < risen[rows].max(initial=-FORBIDDEN)]
        blocks.append((rows[risen[rows] > changed[some].min(initial=FORBIDDEN)], some))
    return blocks


def _worst(row: Int64, reduced: Int64, want: Int64) -> Bool:
    """Return which entries to keep: in each row the ``want[row]`` entries with the least reduced cost."""
    counts = np.bincount(row, minlength=len(want))
    kept = np.ones(len(row), dtype=np.bool_)
    if (counts > want).any():
        order = np.lexsort((reduced, row))
        kept[order] = count_up(counts) < want[row[order]]
    return kept


def _find_saturated(residual: Residual, network: Network, flows: Int64, prices: FullPrices) -> Int64:
    """Return the machines whose next crowding step, left out of the network, would be cheaper than their price."""
    _, _, _, steps = network.blocks
    arcs = network.problem
    offered = np.bincount(
        network.step_machine, weights=arcs.capacities[steps], minlength=len(network.machines)
    )
    used = np.bincount(network.step_machine, weights=flows[steps], minlength=len(network.machines))
    room = machine_units(residual, network.classes)[network.machines]
    next_cost = crowding_cost(residual, network.machines, used.astype(np.int64))
    more = (used >= offered) & (offered < room) & (2 * next_cost < prices.machine[network.machines])
    return network.machines[more]
