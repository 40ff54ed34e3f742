"""Places what is left without a network, so that nothing that stays pending fits anywhere: feasible and maximal, but
not optimal.

For a small rest, and the last resort of a round when the solver ran out of time, passes or waves.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, Residual
from firmament.core.placement.admission import admit
from firmament.core.placement.outcome import PlacementState
from firmament.core.rules.preferences import soft_cost


def place_greedily(residual: Residual) -> Assignments:
    """Place every remaining task that fits somewhere, class by class, cheapest machine first, and book it."""
    problem = residual.problem
    order = residual.active()
    order = order[np.lexsort((order, -problem.priority[order]))]
    parts: list[Assignments] = []
    for cls in order.tolist():
        while (admitted := _place_class(residual, cls)) is not None:
            parts.append(admitted)
    return Assignments.joined(parts)


def _place_class(residual: Residual, cls: int) -> Assignments | None:
    """One step for a class: fill its cheapest machines one task each; None when nothing (more) can be placed.

    A task per machine and step keeps the crowding cost in sight; the number of steps is at most the tasks per machine.
    """
    problem = residual.problem
    waiting = int(residual.remaining[cls].sum())
    if waiting == 0:
        return None
    shape = int(problem.shape[cls])
    fits = residual.fits(shape)
    machines: Int64 = np.flatnonzero(fits)
    if cls in problem.pins:
        machines = problem.pins[cls][fits[problem.pins[cls]]]
    if len(machines) == 0:
        return None
    cost = problem.cost[shape, machines] + crowding_cost(residual, machines)
    chosen = machines[_least(cost, waiting)]
    ones = np.ones(len(chosen), dtype=np.int64)
    proposed = Assignments(ones * cls, chosen, ones)
    if not problem.ledgers and not any(rows.shared for rows in problem.joint):
        residual.take(proposed)  # nobody competes for a machine, and each has room
        return proposed
    admitted = admit(residual, proposed)
    return admitted if len(admitted.cls) else None


def _least(cost: Int64, most: int) -> Int64:
    """Places of the ``most`` least entries, the first of equals, in order."""
    if most >= len(cost):
        return np.argsort(cost, kind="stable")
    some = np.flatnonzero(cost <= np.partition(cost, most - 1)[most - 1])
    return some[np.argsort(cost[some], kind="stable")[:most]]


# --- With rules between tasks, task by task.


def place_leftovers(state: PlacementState) -> Assignments:
    """Place every remaining task that fits and is allowed somewhere, most important and longest waiting first."""
    return place_one_by_one(state, state.residual.by_importance())


def place_one_by_one(state: PlacementState, classes: list[int], *, paired: bool = False) -> Assignments:
    """Place the tasks of ``classes`` one at a time where each costs least, as long as one finds a place; books them.

    ``paired``: all of them belong to pairs, which count.

    A placement may open the way for another task (the one it wants to be near has come, the emptiest domain is fuller),
    so classes are gone through again as long as something moves.
    """
    placed: list[tuple[int, int]] = []
    before = -1
    while before < len(placed):
        before = len(placed)
        for cls in classes:
            while state.residual.remaining[cls].any():
                machine = cheapest_machine(state, cls, paired=paired)
                if machine is None:
                    break
                state.residual.take(Assignments.single(cls, machine))
                state.rules.add(cls, machine)
                if paired and state.pairs is not None:
                    state.pairs.add(cls, machine)
                placed.append((cls, machine))
    return Assignments.of_tasks(placed)


def cheapest_machine(state: PlacementState, cls: int, *, paired: bool = False) -> int | None:
    """Row of the machine on which one more task of a class costs least, the first of equals; None for no place."""
    residual, pairs = state.residual, state.pairs if paired else None
    problem, fits = residual.problem, state.open_to(cls)
    view = None
    if pairs is not None:
        view, domain = pairs.view(pairs.rules.kind[[cls]]), pairs.terms.domain
        fits &= view.allowed[0][domain]
    machines = np.flatnonzero(fits)
    if len(machines) == 0:
        return None
    cost = problem.cost[problem.shape[cls], machines]
    if view is not None:
        cost = cost + view.cost[0][domain[machines]]
    cost = cost + crowding_cost(residual, machines)
    soft = soft_cost(state.rules, cls, np.ones(len(machines), dtype=np.bool_), machines)
    if soft is not None:
        cost = cost + soft.points * COST_UNITS_PER_POINT
    return int(machines[np.argmin(cost)])
