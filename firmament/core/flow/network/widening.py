"""Widens a network by columns, or gives each crowding step its own arc, and carries a flow over to the new arcs.

Between the first network of a solve and the last, usually a few dozen columns are added and nothing else changes. All
parts of the network that do not change are then reused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import Arcs, Network, column_arcs, join_arcs
from firmament.core.flow.residual import Residual
from firmament.core.ranks import find_runs, sum_before_in_runs


def unmerge(network: Network) -> Network:
    """Return the same network with an arc of its own for each step."""
    arcs, merged = network.steps.arcs(), network.problem
    _, _, before, _ = network.blocks
    kept = slice(0, before.stop)
    first, sink = 2 * len(network.classes), len(merged.supplies) - 1
    problem = join_arcs(
        merged.supplies,
        Arcs(merged.tails[kept], merged.heads[kept], merged.capacities[kept], merged.costs[kept]),
        Arcs(first + arcs.machine, sink, arcs.capacity, arcs.cost),
    )
    return replace(network, problem=problem, step_machine=arcs.machine, step_count=arcs.count)


def map_flow_to_wider_network(old: Network, flows: Int64, new: Network, machines: int) -> Int64:
    """Return the flow of ``old`` on the arcs of ``new``, which has all columns of ``old`` and at least its capacities.

    ``machines``: number of machines in the problem. One network may merge steps that the other does not merge.
    """
    result = np.zeros(len(new.problem.tails), dtype=np.int64)
    old_blocks, new_blocks = old.blocks, new.blocks
    result[np.searchsorted(new.columns.keys(machines), old.columns.keys(machines))] = flows[old_blocks[0]]
    for block in (1, 2):
        result[new_blocks[block]] = flows[old_blocks[block]]
    # Steps are in order of cost, so the tasks on a machine fill its first steps, however many of them are merged.
    taken = np.zeros(machines, dtype=np.int64)
    np.add.at(taken, old.machines[old.step_machine], flows[old_blocks[3]])
    capacity = new.problem.capacities[new_blocks[3]]
    before = sum_before_in_runs(capacity, *find_runs(new.step_machine))
    result[new_blocks[3]] = np.clip(taken[new.machines][new.step_machine] - before, 0, capacity)
    return result


def widen_network(
    residual: Residual, network: Network, flows: Int64, added: ArcColumns
) -> tuple[Network, Int64] | None:
    """Return ``network`` with the columns ``added``, which it lacks, and ``flows`` (int64[A]) on its arcs.

    The result is None if an added column leads to a machine that is not in the network.
    """
    if not np.isin(added.machine, network.machines).all():
        return None
    line, row = np.searchsorted(network.classes, added.cls), np.searchsorted(network.machines, added.machine)
    width, columns, arcs = residual.problem.machines, network.columns, network.problem
    at = np.searchsorted(columns.keys(width), added.keys(width))
    capacity, cost = column_arcs(residual, added)

    def insert(before: NDArray[Any], values: NDArray[Any] | int) -> NDArray[Any]:
        return np.insert(before, at, values)

    wider = replace(
        network,
        problem=replace(
            arcs,
            tails=insert(arcs.tails, line),
            heads=insert(arcs.heads, 2 * len(network.classes) + row),
            capacities=insert(arcs.capacities, capacity),
            costs=insert(arcs.costs, cost),
        ),
        columns=ArcColumns(insert(columns.cls, added.cls), insert(columns.machine, added.machine)),
        column_class=insert(network.column_class, line),
        column_machine=insert(network.column_machine, row),
    )
    return wider, insert(flows, 0)
