"""Admits tasks with rules between them one after another, as if each were the next task to be placed.

Proposals of a flow for tasks with rules between them are tried in order of priority, and within a priority from the
emptiest domain up. With this order, topology spread is never violated in between. A task may have to wait until the
task that it wants to be near has come; it is tried again as long as any task is admitted. Tasks are admitted in the
order of the round's deltas, so each placement is valid when it is made.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.board.board import Board
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.problem import Assignments, PlacementProblem, take_oldest
from firmament.core.ranks import rank


def replay(board: Board, proposed: Assignments) -> Assignments:
    """Book the proposed tasks that fit and that rules allow, and return them in a valid order.

    The function also counts the pairs of the booked tasks.
    """
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
    """Return single tasks (``count`` 1) in an order in which each fits and is allowed when it comes.

    Returns None if there is no such order. No task of the problem is placed yet.
    """
    board = Board(problem)
    ordered = _one_by_one(board, _units_in_order(board, units))
    return ordered if len(ordered.cls) == len(units.cls) else None


def _units_in_order(board: Board, proposed: Assignments) -> Assignments:
    """Return single tasks by priority, then by how full their domain will be, then by wait, then by class.

    Among equal tasks, those that have waited longest come first.
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
    """Return each task's position in the order of its class.

    Each class begins at another of its places, so that classes do not compete.

    Classes that keep each other off their machines may all be proposed for the same machines. Each class then gets
    some of these machines, and the next wave fills them; otherwise the first class would get all of them.
    """
    classes, of_class, tasks = np.unique(cls, return_inverse=True, return_counts=True)
    begin = np.arange(len(classes)) * tasks // max(1, len(classes))
    return (rank(cls) - begin[of_class]) % tasks[of_class]


def _one_by_one(board: Board, units: Assignments) -> Assignments:
    """Try single tasks in order, until a whole pass over the rest admits none.

    The function books what the admitted tasks use, and their rules.

    Limits of pairs do not count, as the tasks have been planned within them.
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
    result = Assignments.from_single_tasks(admitted)
    take_oldest(board.residual.remaining, result)
    return result
