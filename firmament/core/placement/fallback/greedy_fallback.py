"""Places what waves have left, one task at a time on its cheapest machine, until nothing that waits fits anywhere.

A placement may open the way for another task (the one it wants to be near has come, the emptiest domain is fuller), so
classes are gone through again as long as something moves.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, Residual
from firmament.core.rules.counters import RuleState
from firmament.core.rules.preferences import soft_cost


def place_leftovers(residual: Residual, state: RuleState) -> Assignments:
    """Place every remaining task that fits and is allowed somewhere, most important and longest waiting first."""
    problem = residual.problem
    active = residual.active()
    oldest = np.argmax(residual.remaining > 0, axis=1)
    order = active[np.lexsort((active, oldest[active], -problem.priority[active]))].tolist()
    parts: list[Assignments] = []
    moved = True
    while moved and order:
        moved = False
        for cls in order:
            while residual.remaining[cls].any():
                machine = cheapest_machine(residual, state, cls)
                if machine is None:
                    break
                parts.append(put(residual, state, cls, machine))
                moved = True
    return Assignments.joined(parts)


def put(residual: Residual, state: RuleState, cls: int, machine: int) -> Assignments:
    """Book one task of a class on a machine that may take it."""
    single = Assignments(
        np.array([cls], dtype=np.int64), np.array([machine], dtype=np.int64), np.ones(1, dtype=np.int64)
    )
    residual.take(single)
    state.add(cls, machine)
    return single


def open_machines(residual: Residual, state: RuleState | None, cls: int) -> Bool:
    """bool[M]: machines that may take, and have room for, one more task of a class, rules and pins included."""
    problem = residual.problem
    fits = residual.fits(int(problem.shape[cls]))
    allowed = None if state is None else state.allowed(cls)
    if allowed is not None:
        fits &= allowed
    if cls in problem.pins:
        pinned = np.zeros_like(fits)
        pinned[problem.pins[cls]] = True
        fits &= pinned
    return fits


def cheapest_machine(residual: Residual, state: RuleState, cls: int) -> int | None:
    """Row of the machine on which one more task of a class costs least, the first of equals; None for no place."""
    problem = residual.problem
    fits = open_machines(residual, state, cls)
    machines = np.flatnonzero(fits)
    if len(machines) == 0:
        return None
    cost = problem.cost[problem.shape[cls], machines] + crowding_cost(
        residual, machines, np.zeros_like(machines)
    )
    soft = soft_cost(state, cls, np.ones(len(machines), dtype=np.bool_), machines)
    if soft is not None:
        cost = cost + soft.points * COST_UNITS_PER_POINT
    return int(machines[np.argmin(cost)])
