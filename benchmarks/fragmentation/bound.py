"""Computes by a linear program how much of the GPUs a scheduler that knows all pods beforehand could allocate at most.

In the linear program, pods may be split, all machines of a kind are one large machine, and of each type at most the
arriving pods are placed. GPUs are filled by patterns: sets of parts that fit on one GPU (Gilmore and Gomory, Operations
Research 9, 1961). Some pods have to have places, such as those that came before one of their type was refused: a
scheduler that leaves no GPU idle while a pod could have it cannot wait for pods that fit together better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ortools.linear_solver import pywraplp

from benchmarks.fragmentation.trace import MILLI, Arrivals, NodeType


def bound_given(arrivals: Arrivals, pods: Iterable[int] = ()) -> float:
    """Return an upper bound on the share of GPUs that any placement with places for ``pods`` can allocate.

    These are given by their numbers in the order of arrival.
    """
    solver = pywraplp.Solver.CreateSolver("GLOP")
    came, there = Counter(arrivals.order), Counter(arrivals.order[number] for number in pods)
    solver.Objective().SetMaximization()
    placed = {
        number: solver.Constraint(there[number], came[number])
        for number, pod in enumerate(arrivals.types)
        if pod.gpus
    }
    patterns = list_patterns(sorted({pod.milli for pod in arrivals.types if 0 < pod.milli < MILLI}))
    for node in arrivals.nodes:
        _add_machines(solver, arrivals, node, placed, patterns)
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        raise RuntimeError("the linear programme has no solution")
    return float(solver.Objective().Value()) / arrivals.total


def _add_machines(
    solver: Any,
    arrivals: Arrivals,
    node: NodeType,
    placed: dict[int, Any],
    patterns: Sequence[tuple[int, ...]],
) -> None:
    """Add all machines of a kind to the linear program: the pods that they take, and the patterns of their GPUs."""
    infinite = solver.infinity()
    cpu = solver.Constraint(-infinite, node.cpu * node.count)
    memory = solver.Constraint(-infinite, node.memory * node.count)
    gpus = solver.Constraint(-infinite, node.gpus * node.count)
    room = {size: solver.Constraint(-infinite, 0) for pattern in patterns for size in pattern}
    for number, row in placed.items():
        pod = arrivals.types[number]
        fits = pod.gpus <= node.gpus and pod.cpu <= node.cpu and pod.memory <= node.memory
        if not fits or (pod.models and node.model not in pod.models):
            continue
        pods = solver.NumVar(0, infinite, "")
        solver.Objective().SetCoefficient(pods, pod.asks)
        for each, amount in ((row, 1), (cpu, pod.cpu), (memory, pod.memory)):
            each.SetCoefficient(pods, amount)
        taken = gpus if pod.milli == MILLI else room[pod.milli]
        taken.SetCoefficient(pods, pod.gpus)
    for pattern in patterns if node.gpus else ():
        filled = solver.NumVar(0, infinite, "")
        gpus.SetCoefficient(filled, 1)
        for size, count in Counter(pattern).items():
            room[size].SetCoefficient(filled, -count)


def list_patterns(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the sets of parts, each descending, that fit on one GPU and leave no room for a further part."""
    least = min(sizes, default=0)
    return [each for each in _list_sets(sorted(sizes, reverse=True), MILLI) if MILLI - sum(each) < least]


def _list_sets(sizes: Sequence[int], left: int) -> Iterator[tuple[int, ...]]:
    yield ()
    for index, size in enumerate(sizes):
        if size <= left:
            for others in _list_sets(sizes[index:], left - size):
                yield (size, *others)
