"""A network with more columns, and a flow of the narrower one on its arcs.

Between the first network and the last one mostly a few dozen columns are added, and nothing else changes: then all else
of the network is taken over as it stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import Network, column_arcs
from firmament.core.flow.problem import Residual


def carried_over(old: Network, flows: Int64, new: Network, machines: int) -> Int64:
    """The flow of ``old`` on the arcs of ``new``, which has all its columns and room; ``machines`` is M.

    Steps may be merged in one and not in the other.
    """
    result = np.zeros(len(new.problem.tails), dtype=np.int64)
    old_blocks, new_blocks = old.blocks, new.blocks
    result[np.searchsorted(new.columns.keys(machines), old.columns.keys(machines))] = flows[old_blocks[0]]
    for block in (1, 2):
        result[new_blocks[block]] = flows[old_blocks[block]]
    # Steps are in order of cost, so what a machine takes fills the first ones, however many of them are merged.
    taken = np.zeros(machines, dtype=np.int64)
    np.add.at(taken, old.machines[old.step_machine], flows[old_blocks[3]])
    capacity = new.problem.capacities[new_blocks[3]]
    before = np.cumsum(capacity) - capacity
    first = np.cumsum(new.step_count) - new.step_count
    before -= np.repeat(before[first[new.step_count > 0]], new.step_count[new.step_count > 0])
    result[new_blocks[3]] = np.clip(taken[new.machines][new.step_machine] - before, 0, capacity)
    return result


def widened(
    residual: Residual, network: Network, flows: Int64, added: ArcColumns
) -> tuple[Network, Int64] | None:
    """``network`` with the columns ``added``, which it lacks, and the flow ``flows`` (int64[A]) on its arcs.

    None if one of them leads to a machine that is no part of the network.
    """
    if not np.isin(added.machine, network.machines).all():
        return None
    line, row = np.searchsorted(network.classes, added.cls), np.searchsorted(network.machines, added.machine)
    width, columns, arcs = residual.problem.machines, network.columns, network.problem
    at = np.searchsorted(columns.keys(width), added.keys(width)) + np.arange(len(added))
    capacity, cost = column_arcs(residual, added)

    def inserted(before: NDArray[Any], values: NDArray[Any] | int) -> NDArray[Any]:
        old = np.ones(len(before) + len(added), dtype=np.bool_)
        old[at] = False
        result = np.empty(len(old), dtype=before.dtype)
        result[old], result[at] = before, values
        return result

    wider = replace(
        network,
        problem=replace(
            arcs,
            tails=inserted(arcs.tails, line),
            heads=inserted(arcs.heads, 2 * len(network.classes) + row),
            capacities=inserted(arcs.capacities, capacity),
            costs=inserted(arcs.costs, cost),
        ),
        columns=ArcColumns(inserted(columns.cls, added.cls), inserted(columns.machine, added.machine)),
        column_class=inserted(network.column_class, line),
        column_machine=inserted(network.column_machine, row),
    )
    return wider, inserted(flows, 0)
