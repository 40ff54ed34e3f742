"""Prices every arc that was left out of a network: the certificate, or the arcs that refute it.

A left-out arc with cost c from class i to machine j has reduced cost c + price(j) - price(i). If none is negative, the
flow is an optimum of the full network (linear programming duality). A machine that is absent from the network takes the
cheapest price of its own arcs to the sink.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.flow.columns import Columns
from firmament.flow.equilibrium import machine_units
from firmament.flow.network import Network, crowding_cost
from firmament.flow.prices import Prices
from firmament.flow.problem import PlacementProblem, Residual

FORBIDDEN = np.int64(2**61)
"""Reduced cost of an arc that is not for sale."""

NEAR_MISSES = 8_000
"""Arcs that all classes together may add beyond twice their violators."""

CLASSES_AT_ONCE = 256
"""Classes that are priced together; bounds the memory of a sweep."""


@dataclass(frozen=True, slots=True)
class Violations:
    """Left-out arcs that could lower the cost: columns to add, and machines (int64[V]) that need more steps.

    ``total`` counts all that were found, also those beyond the bound on what is added at once.
    """

    columns: Columns
    machines: Int64
    total: int


def full_machine_prices(residual: Residual, network: Network, prices: Prices) -> Int64:
    """Price of every machine in half units, int64[M]: the network's where it is part of it, else its next step's."""
    everyone = np.arange(residual.problem.machines)
    price = 2 * crowding_cost(residual, everyone, np.zeros_like(everyone))
    price[network.machines] = prices.machine
    return price


def price_out(
    residual: Residual,
    network: Network,
    flows: Int64,
    prices: Prices,
    fits: dict[int, Bool],
    *,
    limit: int,
    slack: int = 0,
) -> Violations:
    """Price all left-out arcs; return at most about ``limit`` of the worst violators, shared out over the classes.

    If there are any, arcs that miss being one by less than ``slack`` (half units) are returned with them: they are
    the likely violators of the next time. They do not count in ``total``.
    """
    problem = residual.problem
    machine_price = full_machine_prices(residual, network, prices)
    near = _within_reach(problem, network, prices, machine_price, slack)
    # All machines of a pinned set are columns from the start, so pinned classes have no arcs left out.
    unpinned = np.array(
        [index for index, cls in enumerate(network.classes.tolist()) if cls not in problem.pins]
    )
    share = max(1, limit // max(1, len(network.classes)))
    near_misses = NEAR_MISSES // max(1, len(network.classes))
    waiting = residual.remaining.sum(axis=1)
    parts_cls, parts_machine, total = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)], 0
    for begin in range(0, len(unpinned), CLASSES_AT_ONCE):
        chunk = unpinned[begin : begin + CLASSES_AT_ONCE]
        reduced = _reduced_costs(residual, network, prices, fits, machine_price, chunk, near)
        violating = (reduced < 0).sum(axis=1)
        total += int(violating.sum())
        if not violating.any():
            continue
        # Near misses are for the last few violators; while there are many, these alone are enough to choose from.
        few = violating.sum() <= near_misses * len(chunk)
        row, column = np.nonzero(reduced < (slack if few else 0))
        classes = network.classes[chunk]
        want = np.minimum(np.minimum(share, waiting[classes] + 64), 2 * violating + near_misses)
        kept = _worst(row, reduced[row, column], want)
        parts_cls.append(classes[row[kept]])
        parts_machine.append(near[column[kept]])
    saturated = _saturated_machines(residual, network, flows, prices)
    columns = Columns(np.concatenate(parts_cls), np.concatenate(parts_machine))
    return Violations(columns=columns, machines=saturated, total=total + len(saturated))


def _reduced_costs(
    residual: Residual,
    network: Network,
    prices: Prices,
    fits: dict[int, Bool],
    machine_price: Int64,
    chunk: Int64,
    near: Int64,
) -> Int64:
    """Reduced costs, in half units, of the arcs that are left out: int64[classes of ``chunk``, machines of ``near``].

    Arcs that are in the network, or that the rules forbid, are ``FORBIDDEN``.
    """
    problem = residual.problem
    shapes = problem.shape[network.classes[chunk]]
    distinct, of_class = np.unique(shapes, return_inverse=True)
    priced = 2 * problem.cost[np.ix_(distinct, near)].astype(np.int64) + machine_price[near]
    priced[~np.stack([fits[shape][near] for shape in distinct.tolist()])] = FORBIDDEN
    reduced = priced[of_class] - prices.cls[chunk][:, None]
    position = np.full(problem.machines, -1, dtype=np.int64)
    position[near] = np.arange(len(near))
    chunk_row = np.full(len(network.classes), -1, dtype=np.int64)
    chunk_row[chunk] = np.arange(len(chunk))
    row, column = chunk_row[network.column_class], position[network.columns.machine]
    present = (row >= 0) & (column >= 0)
    reduced[row[present], column[present]] = FORBIDDEN
    return reduced


def _worst(row: Int64, reduced: Int64, want: Int64) -> Int64:
    """Indices of the entries to keep: of each row at most ``want`` (by row), those with the least reduced cost."""
    counts = np.bincount(row, minlength=len(want))
    if (counts <= want).all():
        return np.arange(len(row))
    order = np.lexsort((reduced, row))
    first = np.cumsum(counts) - counts
    nth = np.arange(len(row)) - first[row[order]]
    return np.sort(order[nth < want[row[order]]])


def _within_reach(
    problem: PlacementProblem, network: Network, prices: Prices, machine_price: Int64, slack: int
) -> Int64:
    """Machines that could violate for some class: the cheapest shape's cost is below the dearest class's price."""
    shapes = np.unique(problem.shape[network.classes])
    cheapest = problem.cost[shapes].min(axis=0).astype(np.int64)
    return np.flatnonzero(2 * cheapest + machine_price < prices.cls.max(initial=0) + slack)


def _saturated_machines(residual: Residual, network: Network, flows: Int64, prices: Prices) -> Int64:
    """Machines whose next crowding step, left out of the network, would be cheaper than their price."""
    _, _, _, steps = network.blocks
    arcs = network.problem
    offered = np.bincount(
        network.step_machine, weights=arcs.capacities[steps], minlength=len(network.machines)
    )
    used = np.bincount(network.step_machine, weights=flows[steps], minlength=len(network.machines))
    room = machine_units(residual, network.classes)[network.machines]
    next_cost = crowding_cost(residual, network.machines, used.astype(np.int64))
    more = (used >= offered) & (offered < room) & (2 * next_cost < prices.machine)
    return network.machines[more]
