"""Places what is left without a network: class by class, cheapest machine first.

For a small rest, and the last resort of a round when the solver ran out of time or passes: the result is feasible and
maximal (nothing that stays pending fits anywhere), but not optimal.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.placement.admission import admit


def place_greedily(residual: Residual) -> Assignments:
    """Place every remaining task that fits somewhere and book it in ``residual``."""
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
    cost = problem.cost[shape, machines] + crowding_cost(residual, machines, np.zeros_like(machines))
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
