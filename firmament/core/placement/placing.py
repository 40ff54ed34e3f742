"""Places a round's tasks: groups by their rules, gangs as a whole, and by priority if capacity is scarce.

A *gang* needs a certain number of its tasks placed in one round; if they cannot be, none of its tasks is placed. All
tasks are first placed together; if all fit, that is the result. If some gang is incomplete, gangs are tried one after
another on a copy of the board, by priority, then by age. A gang that fits as a whole keeps its places; any other gang
gives them back before the next is tried. The tasks without a gang follow within each priority. This series of tries,
the *trial* (`gang_trial.py`), decides which gangs are placed. All tasks are then solved jointly once more with only the
gangs that the trial placed. If the joint solve places each of these gangs and no fewer tasks, it is the result, as it
is cheaper; otherwise the trial is. Last, gangs without places are tried once more in the remaining capacity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.board.board import Board, is_displaced
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.reduction import merge_classes
from firmament.core.flow.residual import Residual
from firmament.core.placement.gang_trial import GangTrial, WaysOfPlacing
from firmament.core.placement.outcome import Means, Placed, StageFigures
from firmament.core.placement.pairs.waves import place_pairs, place_rest_of_pairs
from firmament.core.placement.passes import place_all, place_greedily, place_leftovers
from firmament.core.placement.pod_sets import find_divided, pin_pod_sets
from firmament.core.placement.strict_queues import StrictQueues
from firmament.core.placement.tree_groups.groups import place_with_groups
from firmament.core.placement.waves import place_in_waves
from firmament.core.search.relocation import relocate_tasks


def place(problem: PlacementProblem, means: Means) -> Placed:
    """Return a placement of as many tasks as possible, in order of admission.

    Solver errors but time-outs are raised.
    """
    if problem.topology.groups or problem.topology.nested:
        return place_with_groups(problem, problem.topology, means, place)
    if len(problem.gang_need):
        return place_whole_gangs(problem, means)
    watch = means.stopwatch()
    bundle = merge_classes(problem)
    bundling = watch.seconds()
    placed, residual = place_by_priority(bundle.problem, means)
    watch = means.stopwatch()
    found = placed.assignments
    if residual.remaining.any() and means.options.relocates:
        tuning = means.tuning.relocation
        found = relocate_tasks(bundle.problem, found, problem.rotation, tuning, means.searches)
    found = bundle.distribute(found)
    return replace(placed.replace_assignments(found, bundling + watch.seconds()), about=bundle)


def place_whole_gangs(problem: PlacementProblem, means: Means) -> Placed:
    """Return a placement in which each gang gets at least as many places as it needs, or none, in order of admission.

    Errors of the solver are raised, except for time-outs.
    """
    placed = _place_together(problem, means)
    refused = _incomplete(problem, placed.assignments) | find_divided(problem, placed.assignments)
    if not refused.any():
        return placed
    trial_of = GangTrial(Board(problem), means.tuning, WAYS_OF_PLACING)
    tried = trial_of.place(means)
    trial = tried.assignments
    chosen = _gang_counts(problem, trial) > 0
    pinned = pin_pod_sets(problem, trial)
    again = _place_together(_drop_gangs(pinned, ~chosen, trial_of.withheld), means)
    joint = again.assignments
    worse = _incomplete(problem, joint)[chosen].any() or _value(problem, joint) < _value(problem, trial)
    best = trial if worse else joint
    if not len(best.count):  # Nothing is booked, so free capacity is as it was when the gangs were tried.
        return replace(again, figures=placed.figures + tried.figures + again.figures).replace_assignments(
            best
        )
    watch = means.stopwatch()
    board = Board(problem)
    board.book(best)
    budget, closed = trial_of.get_remaining_budget(), trial_of.strict.closed
    late = GangTrial(board, budget, WAYS_OF_PLACING, closed).place_gangs(np.flatnonzero(~chosen))
    figures = placed.figures + tried.figures + again.figures  # bounds hold only if the same gangs take part
    return replace(again, figures=figures).replace_assignments(
        Assignments.join([best, late]), watch.seconds()
    )


def _drop_gangs(problem: PlacementProblem, rejected: Bool, withheld: Bool) -> PlacementProblem:
    """Return the problem without the tasks of ``rejected`` gangs (bool[G]) and of ``withheld`` classes (bool[C])."""
    counts = problem.counts.copy()
    counts[withheld] = 0
    counts[(problem.gang >= 0) & np.append(rejected, False)[problem.gang]] = 0
    return replace(problem, counts=counts)


def _place_together(problem: PlacementProblem, means: Means) -> Placed:
    """Place all tasks together. An incomplete gang gets nothing, and its places stay empty."""
    bundle = merge_classes(problem)
    placed, _ = place_by_priority(bundle.problem, means)
    return replace(placed, assignments=bundle.distribute(placed.assignments), about=bundle)


def _gang_counts(problem: PlacementProblem, placed: Assignments) -> Int64:
    """Return how many tasks of each gang are placed: int64[G]."""
    members = problem.gang >= 0
    placed_of = placed.count_per_class(problem.classes)[members]
    return np.bincount(problem.gang[members], placed_of, len(problem.gang_need)).astype(np.int64)


def _incomplete(problem: PlacementProblem, placed: Assignments) -> Bool:
    """Return which gangs have fewer places than they need: bool[G]."""
    incomplete: Bool = _gang_counts(problem, placed) < problem.gang_need
    return incomplete


def _value(problem: PlacementProblem, placed: Assignments) -> tuple[int, ...]:
    """Return the number of tasks placed per priority, the highest first."""
    counts = np.bincount(problem.priority, weights=placed.count_per_class(problem.classes))
    return tuple(counts[::-1].astype(np.int64).tolist())


# --- Priorities: no task stays pending that would fit if less important tasks of the same round gave up their places.
#
# All priorities are first placed together; that is best as long as all tasks fit. The round is placed anew, priority
# by priority from the highest, only if a task is left pending whose place a less important task has taken. With rules
# between tasks, less important tasks may make places usable for others, so tasks of all priorities are then tried
# once more together.


class _Engine(NamedTuple):
    """One way to place as many of a board's remaining tasks as possible."""

    serves: Callable[[Board], bool]
    """Return whether the engine can place the tasks of a board."""
    place: Callable[[Board, Means], Placed]
    """Place and book tasks as cheaply as possible."""
    place_rest: Callable[[Board], Assignments]
    """Place and book tasks one by one, without a network."""


def _place_freely(board: Board, means: Means) -> Placed:
    return Placed.join([Placed(figures=StageFigures(waves=1)), place_all(board.residual, means)])


_ENGINES = (
    _Engine(lambda board: board.problem.pairs.terms.steers, place_pairs, place_rest_of_pairs),
    _Engine(lambda board: board.ruled, place_in_waves, place_leftovers),
    _Engine(lambda _: True, _place_freely, lambda board: place_greedily(board.residual)),
)
"""Ways of placing in order of precedence: the first engine that serves a board is used."""


def place_remaining(board: Board, means: Means) -> Placed:
    """Place and book as many of the board's remaining tasks as possible."""
    return _find_engine(board).place(board, means)


def place_rest(board: Board) -> Assignments:
    """Place and book as many of the board's remaining tasks as possible one by one, without a network."""
    return _find_engine(board).place_rest(board)


WAYS_OF_PLACING = WaysOfPlacing(place_remaining, place_rest)
"""How gangs are tried."""


def _find_engine(board: Board) -> _Engine:
    return next(each for each in _ENGINES if each.serves(board))


def place_by_priority(problem: PlacementProblem, means: Means) -> tuple[Placed, Residual]:
    """Return a placement of as many tasks as possible, and what is left of the problem."""
    board = Board(problem)
    placed = place_remaining(board, means)
    residual = board.residual
    everyone = np.ones(problem.classes, dtype=np.bool_)
    # Only flows of tasks without rules between them divide quota in the order of strict queues.
    orderly = _find_engine(board) is _ENGINES[-1]
    passed = not orderly and StrictQueues(problem).are_passed(residual.active(), placed.assignments.cls)
    if not passed and not is_displaced(problem, residual.active(), placed.assignments, everyone):
        return placed, residual
    board = Board(problem)
    residual = board.residual
    left, withheld, strict = residual.remaining.copy(), ~everyone, StrictQueues(problem)
    figures = replace(placed.figures, waves=0)
    parts = [replace(placed, assignments=Assignments.empty(), figures=figures)]
    for rank in np.unique(problem.priority)[::-1].tolist():
        withheld |= (problem.priority == rank) & strict.find_closed()
        band = (problem.priority == rank) & ~withheld
        residual.remaining = np.where(band[:, None], left, 0)
        parts.append(place_remaining(board, means))
        left[band] = residual.remaining[band]
        strict.close(np.flatnonzero(band & left.any(axis=1)))
    residual.remaining = np.where(withheld[:, None], 0, left)
    if board.ruled:
        parts.append(Placed(place_rest(board)))
    residual.remaining[withheld] = left[withheld]
    return Placed.join(parts), residual
