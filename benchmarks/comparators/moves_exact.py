"""Finds the cheapest placement within a number of moves, by CP-SAT, which respects sizes that a flow ignores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firmament.core.rescheduling.move_network.problem import BARRED, MoveProblem

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


def cheapest_with(
    problem: MoveProblem, most_moves: int, *, seconds: float, workers: int = 1
) -> tuple[int, int]:
    """Return the least cost found for all tasks after at most ``most_moves`` moves, and a lower bound, in units.

    Ignores the prices of rows.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    rows, machines = problem.row_count, problem.machine_count
    homes = {
        (row, machine): count
        for row, machine, count in zip(
            problem.home_row.tolist(), problem.home_machine.tolist(), problem.home_count.tolist(), strict=True
        )
    }
    total_of = np.bincount(problem.home_row, weights=problem.home_count, minlength=rows).astype(int)
    most_on = problem.most_on()
    stays, comes = {}, {}
    for row in range(rows):
        for machine in range(machines):
            charge = int(problem.cost[row, problem.group[machine]])
            if (row, machine) in homes:
                stays[row, machine] = model.new_int_var(0, homes[row, machine], "")
            if charge < BARRED:
                comes[row, machine] = model.new_int_var(0, min(int(total_of[row]), most_moves), "")
        mine = [var for (owner, _), var in (*stays.items(), *comes.items()) if owner == row]
        model.add(sum(mine) == int(total_of[row]))
    model.add(sum(comes.values()) <= most_moves)
    cost: list[cp_model.LinearExprT] = []
    room = problem.free + problem.sum_requests_at_home()
    for machine in range(machines):
        here = [(row, var) for (row, at), var in (*stays.items(), *comes.items()) if at == machine]
        for column in range(problem.requests.shape[1]):
            load = sum(int(problem.requests[row, column]) * var for row, var in here)
            model.add(load <= max(int(room[machine, column]), 0))
        tasks = model.new_int_var(0, int(most_on[machine]), "")
        model.add(tasks == sum(var for _, var in here))
        crowding = _crowding(model, problem, machine, tasks, int(most_on[machine]))
        if crowding is not None:
            cost.append(crowding)
    home_cost = {
        (row, machine): charge
        for row, machine, charge in zip(
            problem.home_row.tolist(), problem.home_machine.tolist(), problem.home_cost.tolist(), strict=True
        )
    }
    cost += [home_cost[key] * var for key, var in stays.items()]
    cost += [int(problem.cost[row, problem.group[machine]]) * var for (row, machine), var in comes.items()]
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise ValueError(f"CP-SAT found no placement in {seconds:g} s")
    return round(solver.objective_value), round(solver.best_objective_bound)


def _crowding(
    model: cp_model.CpModel, problem: MoveProblem, machine: int, tasks: cp_model.IntVar, most: int
) -> cp_model.IntVar | None:
    """Return the crowding cost of ``tasks`` tasks: the upper envelope of its linear pieces; None if there is none."""
    crowd, step = int(problem.crowd[machine]), problem.step
    if not crowd or not most:
        return None
    top = int(problem.crowding(np.full(problem.machine_count, most))[machine])
    charged = model.new_int_var(0, top, "")
    for begin in range(0, most, step):
        before = int(problem.crowding(np.full(problem.machine_count, begin))[machine])
        model.add(charged >= before + crowd * begin * (tasks - begin))
    return charged
