"""Bounds by a linear program how much of the GPUs any scheduler could allocate that knows all pods beforehand.

In the linear program, pods may be split, all machines of a kind are one large machine, and of each type at most the
arriving pods are placed. Valid inequalities for whole pods on single GPUs tighten it: weighed by `weigh_part`, the
pods on a GPU sum up to no more than one (dual feasible functions: Fekete and Schepers, Mathematical Programming 91,
2001).
"""

from __future__ import annotations

from collections import Counter

from ortools.linear_solver import pywraplp

from benchmarks.fragmentation.trace import MILLI, Arrivals, PodType


def bound_given(arrivals: Arrivals) -> float:
    """Return the share of all GPUs that no placement of the pods exceeds."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    came = Counter(arrivals.order)
    objective = solver.Objective()
    objective.SetMaximization()
    sizes = sorted({pod.milli for pod in arrivals.types if pod.gpus})
    placed = {
        number: solver.Constraint(0, came[number]) for number, pod in enumerate(arrivals.types) if pod.gpus
    }
    for node in arrivals.nodes:
        cpu = solver.Constraint(-solver.infinity(), node.cpu * node.count)
        memory = solver.Constraint(-solver.infinity(), node.memory * node.count)
        gpus = solver.Constraint(-solver.infinity(), node.gpus * node.count * MILLI)
        cuts = {
            size: solver.Constraint(-solver.infinity(), node.gpus * node.count * MILLI)
            for size in sizes
            if size <= MILLI // 2
        }
        for number, row in placed.items():
            pod = arrivals.types[number]
            fits = pod.gpus <= node.gpus and pod.cpu <= node.cpu and pod.memory <= node.memory
            if not fits or (pod.models and node.model not in pod.models):
                continue
            pods = solver.NumVar(0, came[number], "")
            objective.SetCoefficient(pods, pod.asks)
            for each, amount in ((row, 1), (cpu, pod.cpu), (memory, pod.memory), (gpus, pod.asks)):
                each.SetCoefficient(pods, amount)
            for size, cut in cuts.items():
                cut.SetCoefficient(pods, pod.gpus * weigh_part(pod, size))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise RuntimeError("the linear programme has no solution")
    return float(objective.Value()) / arrivals.total


def weigh_part(pod: PodType, size: int) -> int:
    """Return the weight of a part if parts smaller than ``size`` weigh nothing: parts too large to share a GPU weigh
    1.
    """
    if pod.milli > MILLI - size:
        return MILLI
    return pod.milli if pod.milli >= size else 0
