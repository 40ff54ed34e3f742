"""Solves whole flow networks: no arcs left out, and optionally one node per task instead of one per class.

A flow becomes a placement as in a round: by joint admission; tasks that it refuses are placed greedily.
"""

from __future__ import annotations

import importlib.util
import time
from functools import partial

import numpy as np

from benchmarks.comparators.base import Comparator, Contest, NotMeasuredError, Outcome
from benchmarks.comparators.networkx_solver import NetworkxSolver
from cost_models.interface import Int64
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import (
    Network,
    build_network,
    compute_unscheduled_penalties,
    crowding_cost,
    dearest_path,
)
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.flow.residual import Residual, machine_units
from firmament.core.placement.passes import place_greedily
from firmament.solvers.base import FlowProblem, FlowSolution, Solver
from firmament.solvers.ortools_solver import OrToolsSolver

MOST_ARCS = {"ortools": 8_000_000, "networkx": 20_000, "highs": 400_000}
"""Most arcs that a comparator builds; larger networks would take minutes or too much memory."""


def full_network(problem: PlacementProblem) -> Network:
    """Return the network of all classes, all machines on which they fit, and all steps of crowding."""
    residual = Residual(problem)
    parts = []
    fits = {shape: np.flatnonzero(residual.find_fitting(shape)) for shape in range(len(problem.requests))}
    for cls in residual.active().tolist():
        machines = fits[int(problem.shape[cls])]
        if cls in problem.pins:
            machines = np.intersect1d(machines, problem.pins[cls])
        parts.append(ArcColumns(np.full(len(machines), cls, dtype=np.int64), machines))
    columns = ArcColumns.join(parts, problem.machines)
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    return build_network(residual, columns, penalties, machine_units(residual, residual.active()))


def solve_per_class(contest: Contest, solver: Solver, limit: int) -> Outcome:
    """Solve the full network of classes at once; return the outcome."""
    problem = contest.problem
    _limit_arcs(problem.classes * problem.machines, limit)
    begin = time.process_time()
    network = full_network(problem)
    _limit_arcs(len(network.problem.tails), limit)
    solution = solver.solve(network.problem)
    flow = solution.flows[network.blocks[0]]
    used = flow > 0
    proposed = Assignments(network.columns.cls[used], network.columns.machine[used], flow[used])
    return _finish(problem, proposed, begin, solution, len(network.problem.tails))


def solve_per_task(contest: Contest, solver: Solver, limit: int) -> Outcome:
    """Solve the network with a node per task, as schedulers without classes build it; return the outcome."""
    problem = contest.problem
    tasks = np.repeat(np.arange(problem.classes), problem.counts.sum(axis=1))
    _limit_arcs(len(tasks) * problem.machines, limit)
    begin = time.process_time()
    flow_problem, task, machine = _task_network(problem, tasks)
    solution = solver.solve(flow_problem)
    used = solution.flows[: len(task)] > 0
    key, count = np.unique(tasks[task[used]] * problem.machines + machine[used], return_counts=True)
    proposed = Assignments(*np.divmod(key, problem.machines), count.astype(np.int64))
    return _finish(problem, proposed, begin, solution, len(flow_problem.tails))


def _task_network(problem: PlacementProblem, tasks: Int64) -> tuple[FlowProblem, Int64, Int64]:
    """Return the network, and the task and the machine of each of its first arcs."""
    residual = Residual(problem)
    fits = {shape: np.flatnonzero(residual.find_fitting(shape)) for shape in range(len(problem.requests))}
    allowed = []
    for cls in tasks.tolist():
        machines = fits[int(problem.shape[cls])]
        allowed.append(np.intersect1d(machines, problem.pins[cls]) if cls in problem.pins else machines)
    task = np.repeat(np.arange(len(tasks)), [len(each) for each in allowed])
    machine = np.concatenate([np.empty(0, dtype=np.int64), *allowed])
    room = machine_units(residual, residual.active())
    step_machine = np.repeat(np.arange(problem.machines), room)
    nth = np.arange(len(step_machine)) - np.repeat(np.cumsum(room) - room, room)
    # Each task of a class has its own node here, and so the penalty of its own wait.
    bucket = np.concatenate(
        [np.repeat(np.arange(WAIT_BUCKETS), counts) for counts in problem.counts] or [np.empty(0, np.int64)]
    )
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))[tasks, bucket]
    first_machine, sink = len(tasks), len(tasks) + problem.machines
    supplies = np.zeros(sink + 1, dtype=np.int64)
    supplies[: len(tasks)], supplies[sink] = 1, -len(tasks)
    ones = np.ones(len(task), dtype=np.int64)
    own = np.arange(len(tasks))
    flow_problem = FlowProblem(
        tails=np.concatenate([task, own, first_machine + step_machine]).astype(np.int32),
        heads=np.concatenate(
            [first_machine + machine, np.full(len(tasks), sink), np.full(len(step_machine), sink)]
        ).astype(np.int32),
        capacities=np.concatenate([ones, np.ones(len(tasks) + len(step_machine), dtype=np.int64)]),
        costs=np.concatenate(
            [
                problem.cost[problem.shape[tasks[task]], machine].astype(np.int64),
                penalties,
                crowding_cost(residual, step_machine, nth),
            ]
        ),
        supplies=supplies,
    )
    return flow_problem, task, machine


def _finish(
    problem: PlacementProblem, proposed: Assignments, begin: float, solution: FlowSolution, arcs: int
) -> Outcome:
    residual = Residual(problem)
    placed = [admit(residual, proposed)]
    if residual.remaining.any():
        placed.append(place_greedily(residual))
    seconds = time.process_time() - begin
    return Outcome(Assignments.join(placed), seconds, {"arcs": arcs, "solveSeconds": solution.seconds})


def _limit_arcs(arcs: int, limit: int) -> None:
    if arcs > limit:
        raise NotMeasuredError(
            f"{arcs:,} arcs, at most {limit:,} are tried; use fewer nodes, tasks or classes"
        )


def network_comparators() -> dict[str, Comparator]:
    """Return comparators by name; those of SciPy only if it is installed."""
    found: dict[str, Comparator] = {
        "full network per class, OR-Tools": partial(
            solve_per_class, solver=OrToolsSolver(), limit=MOST_ARCS["ortools"]
        ),
        "network per task, OR-Tools": partial(
            solve_per_task, solver=OrToolsSolver(), limit=MOST_ARCS["ortools"]
        ),
        "full network per class, networkx": partial(
            solve_per_class, solver=NetworkxSolver(), limit=MOST_ARCS["networkx"]
        ),
    }
    if importlib.util.find_spec("scipy") is not None:
        from benchmarks.comparators.highs import HighsSolver

        found["full network per class, HiGHS"] = partial(
            solve_per_class, solver=HighsSolver(), limit=MOST_ARCS["highs"]
        )
    return found
