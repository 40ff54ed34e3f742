"""How many tasks can be placed at most: CP-SAT, for instances small enough to be solved to the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from cost_models.interface import Int64
from firmament.flow.problem import WAIT_BUCKETS, PlacementProblem


@dataclass(frozen=True, slots=True)
class Optimum:
    """``placed``: the most tasks that any placement has; ``proved``: whether the search came to its end."""

    placed: int
    proved: bool


def most_tasks(problem: PlacementProblem, *, seconds: float, workers: int = 1, seed: int = 0) -> Optimum:
    """The largest number of tasks that fit together: rules, resources and pins, whatever the cost.

    Priorities and waits do not count: meant for instances of equal priority and age.
    """
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
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    placed = round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0
    return Optimum(placed, status == cp_model.OPTIMAL)


FAMILIES: dict[str, tuple[float, float]] = {"typical": (0.03, 0.35), "coarse": (0.1, 0.5)}
"""Least and largest request of the resource that a task needs most of, as a share of a mean machine."""


def overloaded_instance(rng: np.random.Generator, family: str) -> PlacementProblem:
    """A small instance with more work than room: 2-8 machines, 8-60 tasks, three resources, equal priority and age.

    Machines differ by up to a factor of 3 in each resource. Classes of 1 to 8 tasks; a task's main request is drawn
    log-uniformly from the family's range, the two others are 10 to 100 % of that. All tasks together want 1.1 to 2
    times what there is of the scarcest resource (less where 60 tasks do not suffice). A tenth of all pairs of class
    and machine is forbidden.
    """
    least, largest = FAMILIES[family]
    machines = int(rng.integers(2, 9))
    capacity = rng.integers(500, 1501, (machines, 3)).astype(np.int64)
    target = rng.uniform(1.1, 2.0) * capacity.sum(axis=0).astype(np.float64)
    requests: list[Int64] = []
    counts: list[int] = []
    load = np.zeros(3)
    while sum(counts) < 8 or ((load < target).all() and sum(counts) < 60):
        main = np.exp(rng.uniform(np.log(least), np.log(largest))) * 1000
        shares = rng.uniform(0.1, 1.0, 3)
        shares[rng.integers(0, 3)] = 1.0
        request = np.maximum(1, np.rint(main * shares)).astype(np.int64)
        count = min(int(rng.integers(1, 9)), 60 - sum(counts))
        requests.append(request)
        counts.append(count)
        load += request * count
    classes = len(counts)
    buckets = np.zeros((classes, WAIT_BUCKETS), dtype=np.int64)
    buckets[:, -1] = counts
    return PlacementProblem(
        counts=buckets,
        priority=np.zeros(classes, dtype=np.int64),
        shape=np.arange(classes, dtype=np.int64),
        requests=np.array(requests, dtype=np.int64),
        feasible=rng.random((classes, machines)) < 0.9,
        cost=rng.integers(0, 10_000, (classes, machines)).astype(np.int32),
        crowd=rng.integers(0, 1_000, machines).astype(np.int64),
        free=capacity,
    )
