"""Solves small networks by networkx' network simplex: a second, independent solver, and an oracle for tests."""

from __future__ import annotations

import time

import networkx as nx
import numpy as np

from firmament.solvers.base import FlowProblem, FlowSolution, SolverError


class NetworkxSolver:
    """Solves a few thousand arcs in pure Python. Parallel arcs are split by a node in the middle of each."""

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:  # noqa: ARG002 - interface
        """Return an optimal flow; raises ``SolverError`` if none is feasible."""
        started = time.perf_counter()
        graph: nx.DiGraph[tuple[str, int]] = nx.DiGraph()
        for node, supply in enumerate(problem.supplies.tolist()):
            graph.add_node(("node", node), demand=-supply)
        arcs = zip(
            problem.tails.tolist(),
            problem.heads.tolist(),
            problem.capacities.tolist(),
            problem.costs.tolist(),
            strict=True,
        )
        for index, (tail, head, capacity, cost) in enumerate(arcs):
            graph.add_edge(("node", tail), ("arc", index), capacity=capacity, weight=cost)
            graph.add_edge(("arc", index), ("node", head), capacity=capacity, weight=0)
        try:
            _, flow = nx.network_simplex(graph)
        except nx.NetworkXException as error:
            raise SolverError(f"networkx: {error}") from error
        tails = problem.tails.tolist()
        flows = np.array(
            [flow["node", tail]["arc", index] for index, tail in enumerate(tails)], dtype=np.int64
        )
        return FlowSolution(flows=flows, seconds=time.perf_counter() - started)
