"""Solves with OR-Tools' min-cost flow (cost-scaling push-relabel), through its bulk numpy interface, in this process.

``solve`` holds Python's interpreter lock for its whole run and cannot be interrupted, so servers use it from a worker
process.
"""

from __future__ import annotations

import importlib
import time
from types import ModuleType

import numpy as np

from firmament.solvers.base import FlowProblem, FlowSolution, SolverError


class OrToolsSolver:
    """Solves with OR-Tools: deterministic for a given version; ignores time limits."""

    def __init__(self, *, lazy: bool = False) -> None:
        """``lazy``: load OR-Tools only when a network is solved, for commands that may solve none."""
        if not lazy:
            _load()

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:  # noqa: ARG002 - interface
        """Return an optimal flow; raise ``SolverError`` with OR-Tools' status if there is none."""
        min_cost_flow = _load()
        started = time.perf_counter()
        solver = min_cost_flow.SimpleMinCostFlow()
        arcs = solver.add_arcs_with_capacity_and_unit_cost(
            problem.tails, problem.heads, problem.capacities, problem.costs
        )
        solver.set_nodes_supplies(np.arange(len(problem.supplies), dtype=np.int32), problem.supplies)
        status = solver.solve()
        if status != solver.OPTIMAL:
            raise SolverError(f"OR-Tools returned {status.name} on {len(problem.tails)} arcs")
        flows = np.asarray(solver.flows(arcs), dtype=np.int64)
        return FlowSolution(flows=flows, seconds=time.perf_counter() - started)


def _load() -> ModuleType:
    """Return the module of OR-Tools.

    Loading OR-Tools takes as long as a whole small plan, so the library is loaded when first needed.
    """
    return importlib.import_module("ortools.graph.python.min_cost_flow")
