"""Moves running tasks by a network with a node per task, as Firmament's networks have, solved by OR-Tools.

It gets only the pairs of class and machine that proved relevant: a fraction of a full network's
arcs. ``grouped``: arcs lead to groups of machines with equal costs, which Firmament does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from firmament.core.rescheduling.move_network.problem import MoveColumns, MoveProblem
from firmament.solvers.base import FlowProblem, Solver


@dataclass(frozen=True, slots=True)
class PerTask:
    """``saved``: units saved after the price of each move; ``seconds``: time, including building; ``arcs``: size of the
    network.
    """

    saved: int
    seconds: float
    arcs: int


def solve_per_task(
    problem: MoveProblem, columns: MoveColumns, extra_price: int, solver: Solver, *, grouped: bool
) -> PerTask:
    """Build and solve the network of every running task: it stays, or moves through its class to a machine."""
    began = perf_counter()
    network = _build(problem, columns, extra_price, grouped)
    flows = solver.solve(network).flows
    cost = int((flows * network.costs).sum())
    return PerTask(problem.cost_now() - cost, perf_counter() - began, len(network.tails))


def _build(problem: MoveProblem, columns: MoveColumns, extra_price: int, grouped: bool) -> FlowProblem:
    row, home, cost = (
        np.repeat(each, problem.home_count)
        for each in (problem.home_row, problem.home_machine, problem.home_cost)
    )
    tasks, machines = len(row), problem.machine_count
    first_row = tasks
    first_group = first_row + problem.row_count
    first_machine = first_group + (problem.group_count if grouped else 0)
    sink = first_machine + machines
    places = problem.most_on()
    owner = np.repeat(np.arange(machines), places)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(places) - places, places)
    blocks = [
        (np.arange(tasks), first_machine + home, np.ones(tasks, dtype=np.int64), cost),
        (np.arange(tasks), first_row + row, np.ones(tasks, dtype=np.int64), problem.price[row] + extra_price),
        (first_machine + owner, np.full(len(owner), sink), np.ones_like(owner), problem.marginal(owner, nth)),
    ]
    charged = problem.cost[columns.row, columns.group].astype(np.int64)
    if grouped:
        blocks += [
            (first_row + columns.row, first_group + columns.group, np.full(len(columns), tasks), charged),
            (first_group + problem.group, first_machine + np.arange(machines), places, np.zeros_like(places)),
        ]
    else:
        by_group = np.argsort(problem.group, kind="stable")
        size = np.bincount(problem.group, minlength=problem.group_count)
        start = np.cumsum(size) - size
        of = np.repeat(np.arange(len(columns)), size[columns.group])
        member = np.arange(len(of)) - np.repeat(
            np.cumsum(size[columns.group]) - size[columns.group], size[columns.group]
        )
        machine = by_group[start[columns.group[of]] + member]
        blocks.append((first_row + columns.row[of], first_machine + machine, places[machine], charged[of]))
    tails, heads, capacities, costs = (np.concatenate(each) for each in zip(*blocks, strict=True))
    supplies = np.zeros(sink + 1, dtype=np.int64)
    supplies[:tasks], supplies[sink] = 1, -tasks
    return FlowProblem(
        tails.astype(np.int32),
        heads.astype(np.int32),
        capacities.astype(np.int64),
        costs.astype(np.int64),
        supplies,
    )
