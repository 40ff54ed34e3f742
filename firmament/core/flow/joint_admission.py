"""Checks what a flow proposes in numbers of tasks against everything that tasks share (joint admission).

Two classes may each fit on a machine alone and overfill it together. Admission goes through the proposals of every
machine in order of priority, wait and size, all machines in parallel. Of each proposal, admission accepts as many
tasks as still fit into the machine's resources and the joint rows. Tasks that admission leaves out take part in the
next pass.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64, Ledger, SharedLedger
from firmament.core.constraints.model_limits import RemainingJointCapacity
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from firmament.core.ranks import find_runs, rank_in_runs, sum_before_in_runs


def admit(residual: Residual, proposed: Assignments) -> Assignments:
    """Book the proposed tasks that fit jointly in ``residual``, and return them; the result never overfills anything.

    If any proposal fits alone, at least one task is admitted: one of the first proposal on its machine and joint rows.
    """
    ordered, standing = _in_order(residual, proposed)
    admitted: list[Assignments] = []
    rank = rank_in_runs(ordered.machine)
    shared = [joint for joint in residual.joint if joint.rows.shared]
    ledgers = [ledger for ledger in residual.ledgers if isinstance(ledger, SharedLedger) and ledger.shared]
    for turn in range(int(rank.max(initial=-1)) + 1):
        # One proposal per machine and turn, so that proposals do not compete for a machine within a turn.
        this_turn = rank == turn
        turn_entries = ordered.select(this_turn)
        shapes = residual.problem.shape[turn_entries.cls]
        count = np.minimum(turn_entries.count, residual.count_fitting(shapes, turn_entries.machine))
        count = _limit_to_shared_rows(shared, shapes, turn_entries.machine, count, standing[this_turn])
        if residual.quotas is not None:
            count = residual.quotas.limit_in_turn(shapes, turn_entries.machine, count, standing[this_turn])
        for ledger in ledgers:
            known_as = residual.problem.map_to_ledgers(shapes)
            count = _limit_to_shared_ledger(
                ledger, known_as, turn_entries.machine, count, standing[this_turn]
            )
        fitting = Assignments(turn_entries.cls, turn_entries.machine, count).select(count > 0)
        residual.book_assignments(fitting)
        admitted.append(fitting)
    return Assignments.join(admitted)


def _in_order(residual: Residual, proposed: Assignments) -> tuple[Assignments, Int64]:
    """Return proposals ordered by machine, then by priority, longest wait (the oldest bucket with tasks), size, class.

    Small tasks come before large ones, so that as many as possible stay where they are cheapest. The function also
    returns int64[A]: the position of each entry if the entries of all machines were ordered together.
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
    return proposed.select(order[standing]), standing


def _size(residual: Residual, proposed: Assignments) -> Float64:
    """Return the largest share of the free amount on its machine that each task takes: float64[A].

    The share is the largest over all resources.
    """
    shapes = residual.problem.shape[proposed.cls]
    share = np.zeros(len(shapes))
    for requests, free in zip(residual.problem.requests.T, residual.free, strict=True):
        np.maximum(share, requests[shapes] / np.maximum(free.take(proposed.machine), 1), out=share)
    return share


def _limit_to_shared_rows(
    shared: list[RemainingJointCapacity], shapes: Int64, machine: Int64, count: Int64, standing: Int64
) -> Int64:
    """Reduce ``count`` so that ``shared`` joint rows are not overfilled within one step of admission.

    Entries count in order of ``standing``; if an entry exceeds what a row has left, a part of the entry is admitted.
    """
    for joint in shared:
        amount, row = joint.rows.amount[shapes], joint.rows.row_of[machine]
        touched = np.flatnonzero((amount > 0) & (row >= 0) & (count > 0))
        if len(touched) == 0:
            continue
        by_row = touched[np.lexsort((standing[touched], row[touched]))]
        before = sum_before_in_runs(amount[by_row] * count[by_row], *find_runs(row[by_row]))
        room = np.maximum(joint.left[row[by_row]] - before, 0)
        count[by_row] = np.minimum(count[by_row], room // amount[by_row])
    return count


def _limit_to_shared_ledger(
    ledger: Ledger, shapes: Int64, machine: Int64, count: Int64, standing: Int64
) -> Int64:
    """Reduce ``count`` to what a ledger takes within one step of admission, where machines share the ledger's capacity.

    Entries count in order of ``standing``.
    """
    order = np.argsort(standing, kind="stable")
    took = np.zeros_like(count)
    took[order] = ledger.copy().book(shapes[order], machine[order], count[order])
    return took
