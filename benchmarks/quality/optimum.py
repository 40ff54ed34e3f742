"""Compares the tasks that the core places with the most that can be placed, over many small overloaded instances."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.comparators.base import assignments
from benchmarks.comparators.exact import draw_overloaded_instance, most_tasks
from benchmarks.environment import environment
from benchmarks.quality.placement_quality import check_fits
from cost_models.interface import Float64, Int64
from firmament.core.configuration import CoreConfiguration
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.rounds import decide
from firmament.solvers.ortools_solver import OrToolsSolver

REPORT_EVERY = 100


def measure_optimum(
    instances: int, family: str, *, seed: int, seconds: float, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Solve ``instances`` of a family by the core, by first fit, and by CP-SAT in ``seconds`` each at most.

    Instances that CP-SAT does not finish count with the best it found, and are stated.
    """
    rng = np.random.default_rng(seed)
    solver, options = OrToolsSolver(), CoreConfiguration().options.passes
    ours = first = small = best = unproved = worse = tasks = 0
    lost: list[int] = []
    spent = {"core": 0.0, "exact": 0.0}
    for number in range(instances):
        problem = draw_overloaded_instance(rng, family)
        begin = time.perf_counter()
        placed = decide(problem, solver, options, time.perf_counter).assignments
        spent["core"] += time.perf_counter() - begin
        check_fits(problem, placed)
        begin = time.perf_counter()
        optimum = most_tasks(problem, seconds=seconds, seed=seed)
        spent["exact"] += time.perf_counter() - begin
        count = int(placed.count.sum())
        tasks += int(problem.counts.sum())
        ours += count
        best += max(optimum.placed, count)
        queue = np.repeat(np.arange(problem.classes), problem.counts.sum(axis=1))
        first += int(first_fit(problem, rng.permutation(queue)).count.sum())
        small += int(
            first_fit(problem, queue[np.argsort(size_of(problem)[queue], kind="stable")]).count.sum()
        )
        unproved += not optimum.proved
        worse += count < optimum.placed
        lost.append(optimum.placed - count)
        if (number + 1) % REPORT_EVERY == 0:
            progress(f"{number + 1:,} instances: {ours / best:.2%} of the optimum")
    return {
        "kind": "optimum",
        "environment": environment(),
        "instances": instances,
        "family": family,
        "seed": seed,
        "tasks": tasks,
        "optimum": best,
        "placed": ours,
        "firstFit": first,
        "smallestFirst": small,
        "share": ours / best if best else None,
        "firstFitShare": first / best if best else None,
        "smallestFirstShare": small / best if best else None,
        "unproved": unproved,
        "instancesBelowOptimum": worse,
        "largestLoss": max(lost, default=0),
        "seconds": spent,
    }


def first_fit(problem: PlacementProblem, queue: Int64) -> Assignments:
    """Return the number of tasks placed in the order of ``queue``, each on the first machine with room: the
    baseline.
    """
    residual = Residual(problem)
    classes, machines = [], []
    for cls in queue.tolist():
        fits = residual.find_fitting(int(problem.shape[cls]))
        if fits.any():
            machine = int(np.argmax(fits))
            residual.book_assignments(_one(cls, machine))
            classes.append(cls)
            machines.append(machine)
    return assignments(classes, machines, problem.machines)


def size_of(problem: PlacementProblem) -> Float64:
    """Return the size of a task of each class, the sum of its shares of all capacity over the resources: float64[C]."""
    room = np.maximum(problem.free, 0).sum(axis=0).astype(np.float64)
    shares = np.divide(problem.requests, room, out=np.zeros(problem.requests.shape), where=room > 0)
    return shares.sum(axis=1)[problem.shape]


def _one(cls: int, machine: int) -> Assignments:
    one = np.ones(1, dtype=np.int64)
    return Assignments(one * cls, one * machine, one)
