"""Puts a few more columns into a network, where it is built already and a flow of it is known.

Between the first network and the last one mostly a few dozen columns are added, and nothing else changes. Everything
else of the network is taken over as it stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.flow.network.columns import Columns
from firmament.core.flow.network.network import Network, column_arcs
from firmament.core.flow.problem import Residual


def widened(
    residual: Residual, network: Network, flows: Int64, added: Columns
) -> tuple[Network, Int64] | None:
    """``network`` with the columns ``added``, which it lacks, and the flow ``flows`` (int64[A]) on its arcs.

    None if one of them leads to a machine that is no part of the network.
    """
    if not np.isin(added.machine, network.machines).all():
        return None
    line, row = np.searchsorted(network.classes, added.cls), np.searchsorted(network.machines, added.machine)
    width, columns, arcs = residual.problem.machines, network.columns, network.problem
    key = columns.cls * width + columns.machine
    at = np.searchsorted(key, added.cls * width + added.machine) + np.arange(len(added))
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
        columns=Columns(inserted(columns.cls, added.cls), inserted(columns.machine, added.machine)),
        column_class=inserted(network.column_class, line),
        column_machine=inserted(network.column_machine, row),
    )
    return wider, inserted(flows, 0)
