"""Computes the largest number of tasks that can be placed, by CP-SAT, for small instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firmament.core.flow.problem import WAIT_BUCKETS, PlacementProblem

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


@dataclass(frozen=True, slots=True)
class Optimum:
    """An exact result: ``placed``, the most tasks of any placement found; ``proved``, whether no placement has more."""

    placed: int
    proved: bool


def most_tasks(problem: PlacementProblem, *, seconds: float, workers: int = 1, seed: int = 0) -> Optimum:
    """Return the largest number of tasks that fit together by rules, resources and pins, whatever the cost.

    Priorities and waits do not count: meant for instances of equal priority and age. ``seconds`` are of CP-SAT's
    deterministic clock, about as long as real ones, so that a busy machine changes no result.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    waiting = problem.counts.sum(axis=1)
    parts: dict[tuple[int, int], cp_model.IntVar] = {}
    for cls in range(problem.classes):
        shape = int(problem.shape[cls])
        allowed = problem.pins.get(cls, np.arange(problem.machines))
        for machine in allowed.tolist():
            request = problem.requests[shape]
            asked = request > 0
            room = problem.free[machine, asked] // request[asked]
            most = min(int(waiting[cls]), int(room.min(initial=int(waiting[cls]))))
            if most > 0 and problem.feasible[shape, machine]:
                parts[cls, machine] = model.new_int_var(0, most, "")
        mine = [part for (owner, _), part in parts.items() if owner == cls]
        model.add(sum(mine) <= int(waiting[cls]))
    for machine in range(problem.machines):
        here = [(cls, part) for (cls, at), part in parts.items() if at == machine]
        for column in range(problem.requests.shape[1]):
            load = sum(int(problem.requests[problem.shape[cls], column]) * part for cls, part in here)
            model.add(load <= max(0, int(problem.free[machine, column])))
    model.maximize(sum(parts.values()))
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    placed = round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0
    return Optimum(placed, status == cp_model.OPTIMAL)


FAMILIES: dict[str, tuple[int, int]] = {"typical": (6, 20), "coarse": (3, 6)}
"""Range of the mean number of tasks per machine; with fewer tasks, sizes are coarser."""

MOST_TASKS = 60


def draw_overloaded_instance(rng: np.random.Generator, family: str) -> PlacementProblem:
    """Return a small instance with more work than room: 2-8 machines, 8-60 tasks, three resources, equal
    priority and age.

    Classes of 1 to 8 tasks. A task's main request is drawn log-uniformly from a range of 1 to 10, the two others are
    10 to 100 % of it. Machines differ by up to a factor of 3 in each resource and are scaled so that all tasks
    together want 1.1 to 2 times what there is of the scarcest one. A tenth of all pairs of class and machine is
    forbidden.
    """
    least, most = FAMILIES[family]
    machines = int(rng.integers(2, min(8, MOST_TASKS // least) + 1))
    tasks = int(rng.integers(max(8, least * machines), min(MOST_TASKS, most * machines) + 1))
    counts: list[int] = []
    while sum(counts) < tasks:
        counts.append(min(int(rng.integers(1, 9)), tasks - sum(counts)))
    classes = len(counts)
    shares = rng.uniform(0.1, 1.0, (classes, 3))
    shares[np.arange(classes), rng.integers(0, 3, classes)] = 1.0
    main = np.exp(rng.uniform(np.log(100), np.log(1000), classes))
    requests = np.rint(main[:, None] * shares).astype(np.int64)
    load = (requests * np.array(counts)[:, None]).sum(axis=0)
    offered = rng.uniform(0.5, 1.5, (machines, 3))
    scale = float((load / offered.sum(axis=0)).max()) / rng.uniform(1.1, 2.0)
    buckets = np.zeros((classes, WAIT_BUCKETS), dtype=np.int64)
    buckets[:, -1] = counts
    return PlacementProblem(
        counts=buckets,
        priority=np.zeros(classes, dtype=np.int64),
        shape=np.arange(classes, dtype=np.int64),
        requests=requests,
        feasible=rng.random((classes, machines)) < 0.9,
        cost=rng.integers(0, 10_000, (classes, machines)).astype(np.int32),
        crowd=rng.integers(0, 1_000, machines).astype(np.int64),
        free=(offered * scale).astype(np.int64),
    )
