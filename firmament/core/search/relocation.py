"""Finds places for tasks that waves have left over, by moving other tasks of the same round.

Networks and waves decide class by class and domain by domain. If capacity and rules are tight, a task may stay pending
although it has a place if other tasks go elsewhere. Two moves look for such placements, one after the other:
``moves/rebuild.py`` places all tasks anew; ``moves/eject.py`` places one task, and the tasks that prevent this
elsewhere.

The search keeps the best placement so far, but only if all of it can be placed in an order that rules allow.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual, machine_units
from firmament.core.search.arrangement import TaskArrangement
from firmament.core.search.driver import SearchBudget, SearchFigures, SearchLog, Unsupported, search
from firmament.core.search.moves.eject import EjectTasks
from firmament.core.search.moves.rebuild import RebuildAll
from firmament.core.search.tuning import RelocationTuning


def relocate_tasks(
    problem: PlacementProblem, placed: Assignments, seed: int, tuning: RelocationTuning, log: SearchLog
) -> Assignments:
    """Return a placement of more tasks than ``placed``, in an order that rules allow, or ``placed`` itself.

    Important tasks come first: at least as many of each priority are placed as before, unless more of a higher one are
    placed. Equal arguments give equal results.
    """
    tasks, left = int(problem.counts.sum()), int(problem.counts.sum() - placed.count.sum())
    reason = _find_obstacle(problem, tasks, tuning)
    if reason is not None:
        log.append(SearchFigures(EjectTasks.name, unsupported={reason: left}))
        return placed
    if cannot_be_bettered(problem, placed):
        return placed
    arrangement = TaskArrangement(problem, placed, seed, tuning)
    moves = min(tuning.moves, tuning.moves_per_task * tasks) * tuning.small
    total = moves // (tuning.small + problem.machines) // _checks_of_a_move(problem, placed)
    budget = SearchBudget(total)
    log.append(search(RebuildAll(arrangement), budget, needs=total - total // 2 + tasks))
    log.append(search(EjectTasks(arrangement), budget))
    return arrangement.best


def _find_obstacle(problem: PlacementProblem, tasks: int, tuning: RelocationTuning) -> Unsupported | None:
    """Return the reason why the search cannot be made, or None if it can be."""
    if problem.pairs.steers:
        return Unsupported.PAIRS
    if problem.irrevocable:
        return Unsupported.LEDGERS
    if problem.quotas is not None:
        return Unsupported.LIMITS
    return Unsupported.SIZE if tasks > tuning.most_tasks else None


def _checks_of_a_move(problem: PlacementProblem, placed: Assignments) -> int:
    """Return how many times as much work as usual a move of the remaining tasks takes, by their rules; 1 or more.

    People usually write a handful of rules. For classes with hundreds of rules, fewer moves are tried.
    """
    left = np.flatnonzero(problem.counts.sum(axis=1) > placed.count_per_class(problem.classes)).tolist()
    checks = sum(problem.rules.rules(cls).checks for cls in left)
    return 1 + checks // (_USUAL_CHECKS * max(1, len(left)))


_USUAL_CHECKS = 16
"""Number of rules of a class up to which all moves are tried."""

# --- An upper bound on how many tasks can be placed; once it is reached, a search is useless.


def most_placed(residual: Residual, classes: Int64) -> int:
    """Return an upper bound on how many tasks of ``classes`` fit into ``residual`` together.

    A machine that takes some of these tasks counts with its free amount divided by their smallest request. Rules
    between tasks and limits of models would only lower this number.
    """
    shapes = np.unique(residual.problem.shape[classes]).tolist()
    fits = residual.find_fitting_by_shape(shapes)
    open_to = np.zeros(residual.problem.machines, dtype=np.bool_)
    for shape in shapes:
        open_to |= fits[shape]
    return int(machine_units(residual, classes)[open_to].sum())


def cannot_be_bettered(problem: PlacementProblem, placed: Assignments) -> bool:
    """Return whether no placement can be better, with more tasks of some priority and no fewer of each higher one.

    If the result is False, a better placement may or may not exist. To place more tasks of a priority, more tasks of
    this and all higher priorities together must be placed. For each priority of a waiting task, it is therefore
    enough that the number of placed tasks is at its upper bound.
    """
    counts = problem.counts.sum(axis=1)
    done = placed.count_per_class(problem.classes)
    residual = Residual(problem)
    for rank in np.unique(problem.priority[done < counts]).tolist():
        important = np.flatnonzero((problem.priority >= rank) & (counts > 0))
        if done[important].sum() < most_placed(residual, important):
            return False
    return True
