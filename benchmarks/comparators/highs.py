"""Solves the flow problem as a linear program by HiGHS, through SciPy; an optional comparator."""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from firmament.solvers.base import FlowProblem, FlowSolution, SolverError


class HighsSolver:
    """Solves flows by a general solver of linear programs, whose vertices are integral for networks."""

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        """Return an optimal flow; raises ``SolverError``."""
        begin = time.perf_counter()
        arcs = np.arange(len(problem.tails))
        # Conservation at every node: outflow minus inflow is the supply.
        rows = np.concatenate([problem.tails, problem.heads])
        values = np.repeat([1.0, -1.0], len(arcs))
        shape = (len(problem.supplies), len(arcs))
        incidence = csr_array((values, (rows, np.concatenate([arcs, arcs]))), shape=shape)
        bounds = np.stack([np.zeros(len(arcs)), problem.capacities.astype(np.float64)], axis=1)
        options = {} if time_limit is None else {"time_limit": time_limit}
        result = linprog(
            problem.costs.astype(np.float64),
            A_eq=incidence,
            b_eq=problem.supplies.astype(np.float64),
            bounds=bounds,
            method="highs-ds",
            options=options,
        )
        if result.x is None or result.status != 0:
            raise SolverError(f"HiGHS: {result.message}")
        return FlowSolution(np.rint(result.x).astype(np.int64), time.perf_counter() - begin)
