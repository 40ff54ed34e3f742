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
from firmament.flow.problem import Residual

FORBIDDEN_ROW = np.iinfo(np.int64).max


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
    residual: Residual, network: Network, flows: Int64, prices: Prices, fits: dict[int, Bool], *, limit: int
) -> Violations:
    """Price all left-out arcs; return at most about ``limit`` of the worst violators, shared out over the classes."""
    problem = residual.problem
    machine_price = full_machine_prices(residual, network, prices)
    starts = np.searchsorted(network.column_class, np.arange(len(network.classes) + 1))
    waiting = residual.remaining.sum(axis=1)
    share = max(1, limit // max(1, len(network.classes)))
    rows: dict[int, Int64] = {}
    parts_cls: list[Int64] = []
    parts_machine: list[Int64] = []
    total = 0
    for index, cls in enumerate(network.classes.tolist()):
        if cls in problem.pins:
            continue  # all machines of a pinned set are columns from the start
        shape = int(problem.shape[cls])
        if shape not in rows:
            rows[shape] = np.where(
                fits[shape], 2 * problem.cost[shape].astype(np.int64) + machine_price, FORBIDDEN_ROW
            )
        bad = rows[shape] < prices.cls[index]
        bad[network.columns.machine[starts[index] : starts[index + 1]]] = False
        violators = np.flatnonzero(bad)
        if len(violators) == 0:
            continue
        total += len(violators)
        want = min(share, int(waiting[cls]) + 64)
        if len(violators) > want:
            worst = np.argpartition(rows[shape][violators], want)[:want]
            violators = np.sort(violators[worst])
        parts_cls.append(np.full(len(violators), cls, dtype=np.int64))
        parts_machine.append(violators)
    none = np.empty(0, dtype=np.int64)
    columns = Columns(np.concatenate([none, *parts_cls]), np.concatenate([none, *parts_machine]))
    saturated = _saturated_machines(residual, network, flows, prices)
    return Violations(columns=columns, machines=saturated, total=total + len(saturated))


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
