"""Admission: checks the single units that a flow proposes against everything that tasks share.

Two classes may each fit a machine alone and overfill it together. *Joint* admission walks the proposals of every
machine in order of priority, wait and size, all machines side by side, and lets through as many tasks of each as still
fit the machine's resource vector and the joint rows. What is refused goes into the next pass.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64, Int64, Ledger, SharedLedger
from firmament.core.board.board import Board
from firmament.core.constraints.model_limits import JointRoom
from firmament.core.flow.problem import Assignments, PlacementProblem, take_oldest
from firmament.core.flow.residual import Residual
from firmament.core.ranks import rank, rank_in_runs, runs, sum_before_in_runs


def admit(residual: Residual, proposed: Assignments) -> Assignments:
    """Admit what fits jointly and book it in ``residual``; the result never overfills anything.

    At least one task is admitted if any proposal fits by itself: the first in order on its machine and rows.
    """
    ordered, standing = _in_order(residual, proposed)
    admitted: list[Assignments] = []
    rank = rank_in_runs(ordered.machine)
    shared = [joint for joint in residual.joint if joint.rows.shared]
    ledgers = [ledger for ledger in residual.ledgers if isinstance(ledger, SharedLedger) and ledger.shared]
    for turn in range(int(rank.max(initial=-1)) + 1):
        # One proposal per machine and turn: within a turn nobody competes for a machine.
        this_turn = rank == turn
        turn_entries = ordered.select(this_turn)
        shapes = residual.problem.shape[turn_entries.cls]
        count = np.minimum(turn_entries.count, residual.units(shapes, turn_entries.machine))
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
    """Return assignments by machine; on a machine by priority, then by longest wait (the oldest bucket in
    use), by size, by class.

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
    return proposed.select(order[standing]), standing


def _size(residual: Residual, proposed: Assignments) -> Float64:
    """Return float64[A]: share that one task takes of what is free on the machine, of the resource of which
    it takes most.
    """
    shapes = residual.problem.shape[proposed.cls]
    share = np.zeros(len(shapes))
    for requests, free in zip(residual.problem.requests.T, residual.free, strict=True):
        np.maximum(share, requests[shapes] / np.maximum(free.take(proposed.machine), 1), out=share)
    return share


def _limit_to_shared_rows(
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
        before = sum_before_in_runs(amount[by_row] * count[by_row], *runs(row[by_row]))
        room = np.maximum(joint.left[row[by_row]] - before, 0)
        count[by_row] = np.minimum(count[by_row], room // amount[by_row])
    return count


def _limit_to_shared_ledger(
    ledger: Ledger, shapes: Int64, machine: Int64, count: Int64, standing: Int64
) -> Int64:
    """Cut ``count`` down to what a ledger takes of it within one turn, where machines share what it keeps.

    Entries count in order of ``standing``.
    """
    order = np.argsort(standing, kind="stable")
    took = np.zeros_like(count)
    took[order] = ledger.copy().book(shapes[order], machine[order], count[order])
    return took


# --- Tasks that rules bind to each other: one after another, as if each were the next to be placed.
#
# What a flow proposes for such tasks is tried in order of priority, and within a priority from the emptiest domain up,
# so that topology spread is never exceeded on the way. A task that may not go yet, because the one it wants to be near
# is still to come, is tried again as long as something moves. The order in which tasks are admitted is the order of the
# round's deltas: every placement is valid when it is made.


def replay(board: Board, proposed: Assignments) -> Assignments:
    """Admit what fits and what the rules allow, in the order in which it is valid; books both, and counts pairs."""
    bound: Bool = np.isin(proposed.cls, np.array(sorted(board.rules.rules.of), dtype=np.int64))
    priority = board.residual.problem.priority
    ruled = _units_in_order(board, proposed.select(bound))
    parts = []
    for each in np.unique(priority[proposed.cls])[::-1].tolist():
        parts.append(_one_by_one(board, ruled.select(priority[ruled.cls] == each)))
        free = ~bound & (priority[proposed.cls] == each)
        if free.any():
            parts.append(admit(board.residual, proposed.select(free)))
    admitted = Assignments.join(parts)
    board.count_pairs(admitted)
    return admitted


def in_valid_order(problem: PlacementProblem, units: Assignments) -> Assignments | None:
    """Return single tasks (``count`` 1) in an order in which each fits and is allowed when its turn comes;
    None if none is found. Nothing of the problem has been placed.
    """
    board = Board(problem)
    ordered = _one_by_one(board, _units_in_order(board, units))
    return ordered if len(ordered.cls) == len(units.cls) else None


def _units_in_order(board: Board, proposed: Assignments) -> Assignments:
    """Return single tasks, by priority, then by how full their domain will be, then by longest wait, then in
    turns.
    """
    tasks = proposed.select(np.lexsort((proposed.machine, proposed.cls))).tasks()
    cls, machine = tasks.cls, tasks.machine
    level = np.zeros(len(cls), dtype=np.int64)
    for each in np.unique(cls).tolist():
        for spreading in board.rules_of(each).spreadings:
            entries = np.flatnonzero(cls == each)
            domain = spreading.key_domain[machine[entries]]
            heights = board.rules.counts[spreading.counter][np.maximum(domain, 0)] + rank(domain)
            level[entries] = np.maximum(level[entries], heights)
    oldest = np.argmax(board.residual.remaining > 0, axis=1)
    turn = _turns(cls)
    order = np.lexsort((machine, cls, turn, oldest[cls], level, -board.residual.problem.priority[cls]))
    return tasks.select(order)


def _turns(cls: Int64) -> Int64:
    """Return when each task is tried: one of each class at a time, and every class begins at another place of
    its own.

    Classes that keep each other off their machines may all be proposed for the same ones. Each then gets some, which
    the next wave fills, instead of the first class all.
    """
    classes, of_class, tasks = np.unique(cls, return_inverse=True, return_counts=True)
    begin = np.arange(len(classes)) * tasks // max(1, len(classes))
    return (rank(cls) - begin[of_class]) % tasks[of_class]


def _one_by_one(board: Board, units: Assignments) -> Assignments:
    """Try single tasks in order until a whole turn admits none of those left; books room and rules.

    Limits of pairs do not count: the tasks have been planned within them.
    """
    waiting = list(zip(units.cls.tolist(), units.machine.tolist(), strict=True))
    admitted: list[tuple[int, int]] = []
    while waiting:
        refused = []
        for cls, machine in waiting:
            if board.fits(cls, machine, paired=False):
                board.place(cls, machine, paired=False)
                admitted.append((cls, machine))
            else:
                refused.append((cls, machine))
        if len(refused) == len(waiting):
            break
        waiting = refused
    result = Assignments.of_tasks(admitted)
    take_oldest(board.residual.remaining, result)
    return result
