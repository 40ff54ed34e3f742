"""Joint admission: what a flow of single units proposes is checked against everything that tasks share.

Two classes may each fit a machine alone and overfill it together. Admission walks the proposals of every machine in
order of priority, wait and size, all machines side by side, and lets through as many tasks of each as still fit the
machine's resource vector and the joint rows. What is refused goes into the next pass.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.ranks import before_in_runs, rank_in_runs, runs
from firmament.core.rules.model_limits import JointRoom


def admit(residual: Residual, proposed: Assignments) -> Assignments:
    """Admit what fits jointly and book it in ``residual``; the result never overfills anything.

    At least one task is admitted if any proposal fits by itself: the first in order on its machine and rows.
    """
    ordered, standing = _in_order(residual, proposed)
    admitted: list[Assignments] = []
    rank = rank_in_runs(ordered.machine)
    shared = [joint for joint in residual.joint if joint.rows.shared]
    for turn in range(int(rank.max(initial=-1)) + 1):
        # One proposal per machine and turn: within a turn nobody competes for a machine.
        this_turn = rank == turn
        turn_entries = ordered.taken(this_turn)
        shapes = residual.problem.shape[turn_entries.cls]
        count = np.minimum(turn_entries.count, residual.units(shapes, turn_entries.machine))
        count = _within_shared_rows(shared, shapes, turn_entries.machine, count, standing[this_turn])
        fitting = Assignments(turn_entries.cls, turn_entries.machine, count).taken(count > 0)
        residual.take(fitting)
        admitted.append(fitting)
    return Assignments.joined(admitted)


def _in_order(residual: Residual, proposed: Assignments) -> tuple[Assignments, Int64]:
    """By machine; on a machine by priority, then by longest wait (the oldest bucket in use), by size, by class.

    Small tasks come before large ones, so that as many as possible stay where they are cheapest.

    Beside the entries in that order, where each would stand in the same order over all machines: int64[A].
    """
    problem = residual.problem
    oldest = np.argmax(residual.remaining > 0, axis=1)
    order = np.lexsort(
        (
            proposed.machine,
            proposed.cls,
            _size(residual, proposed),
            oldest[proposed.cls],
            -problem.priority[proposed.cls],
        )
    )
    standing = np.argsort(proposed.machine[order], kind="stable")
    return proposed.taken(order[standing]), standing


def _size(residual: Residual, proposed: Assignments) -> Float64:
    """float64[A]: share that one task takes of what is free on the machine, of the resource of which it takes most."""
    shapes = residual.problem.shape[proposed.cls]
    share = np.zeros(len(shapes))
    for requests, free in zip(residual.problem.requests.T, residual.free, strict=True):
        np.maximum(share, requests[shapes] / np.maximum(free.take(proposed.machine), 1), out=share)
    return share


def _within_shared_rows(
    shared: list[JointRoom], shapes: Int64, machine: Int64, count: Int64, standing: Int64
) -> Int64:
    """Cut ``count`` down so that ``shared`` rows are not overrun within one turn.

    Entries count in order of ``standing``: cumulative sums per row, the one that crosses the limit is admitted in
    part.
    """
    for joint in shared:
        amount, row = joint.rows.amount[shapes], joint.rows.row_of[machine]
        touched = np.flatnonzero((amount > 0) & (row >= 0) & (count > 0))
        if len(touched) == 0:
            continue
        by_row = touched[np.lexsort((standing[touched], row[touched]))]
        before = before_in_runs(amount[by_row] * count[by_row], *runs(row[by_row]))
        room = np.maximum(joint.left[row[by_row]] - before, 0)
        count[by_row] = np.minimum(count[by_row], room // amount[by_row])
    return count
