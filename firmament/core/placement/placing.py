"""How a round places its tasks: groups by their rules, like classes as one, gangs as a whole, and last those for whom
others have to move.

Gangs are tasks of which so many must be placed in this round, or none.

All is placed together first; while there is room for everybody, that is the end of it. If some gang is left
incomplete, gangs are tried one after another on a copy, by priority, then by age: one that fits as a whole keeps its
places, one that does not gives them back before anybody else is tried, and the tasks without a gang follow within each
priority. That *trial* says which gangs are placed. The joint solve is then repeated with those gangs alone; if it
places all of them and no fewer tasks, it stands, as it is the cheaper one, else the trial does. Last, gangs that got
nothing are tried once more in what room is left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.class_aggregation import bundled
from firmament.core.placement.gang_trial import GangTrial
from firmament.core.placement.local_search.relocation import improved
from firmament.core.placement.outcome import Means, Placed, PlacementState
from firmament.core.placement.priority_tiers import place_by_priority
from firmament.core.placement.tree_groups.groups import place_with_groups


def place(problem: PlacementProblem, means: Means) -> Placed:
    """Place what can be placed, in order of admission. Raises what the solver raises, time-outs excepted."""
    if problem.topology is not None:
        return place_with_groups(problem, problem.topology, means, place)
    if len(problem.gang_need):
        return place_whole_gangs(problem, means)
    watch = means.stopwatch()
    bundle = bundled(problem)
    bundling = watch.seconds()
    placed, residual = place_by_priority(bundle.problem, means)
    watch = means.stopwatch()
    found = placed.assignments
    if residual.remaining.any() and not (problem.pairs is not None and problem.pairs.steers):
        found = improved(bundle.problem, found, problem.rotation, means.tuning.relocation)
    found = bundle.dealt_out(found)
    return replace(placed.admitted(found, bundling + watch.seconds()), about=bundle)


def place_whole_gangs(problem: PlacementProblem, means: Means) -> Placed:
    """Place a problem so that each gang gets at least as many places as it needs, or none; in order of admission.

    Raises what the solver raises.
    """
    placed = _together(problem, means)
    if not _incomplete(problem, placed.assignments).any():
        return placed
    tried = GangTrial(PlacementState(problem), means.tuning).placed(means)
    trial = tried.assignments
    chosen = _gang_counts(problem, trial) > 0
    again = _together(_without_gangs(problem, ~chosen), means)
    joint = again.assignments
    worse = _incomplete(problem, joint)[chosen].any() or _value(problem, joint) < _value(problem, trial)
    best = trial if worse else joint
    watch = means.stopwatch()
    state = PlacementState(problem)
    state.book(best)
    late = GangTrial(state, means.tuning).gangs(np.flatnonzero(~chosen))
    figures = placed.figures + tried.figures + again.figures  # bounds hold for the gangs that are let in
    return replace(again, figures=figures).admitted(Assignments.joined([best, late]), watch.seconds())


def _without_gangs(problem: PlacementProblem, rejected: Bool) -> PlacementProblem:
    """The problem without the tasks of the gangs for which ``rejected`` (bool[G]) holds."""
    counts = problem.counts.copy()
    counts[(problem.gang >= 0) & np.append(rejected, False)[problem.gang]] = 0
    return replace(problem, counts=counts)


def _together(problem: PlacementProblem, means: Means) -> Placed:
    """Place all at once; places that gangs would get too few of are left empty."""
    bundle = bundled(problem)
    placed, _ = place_by_priority(bundle.problem, means)
    return replace(placed, assignments=bundle.dealt_out(placed.assignments), about=bundle)


def _gang_counts(problem: PlacementProblem, placed: Assignments) -> Int64:
    """int64[G]: tasks placed of each gang."""
    members = problem.gang >= 0
    placed_of = placed.per_class(problem.classes)[members]
    return np.bincount(problem.gang[members], placed_of, len(problem.gang_need)).astype(np.int64)


def _incomplete(problem: PlacementProblem, placed: Assignments) -> Bool:
    """bool[G]: gangs with fewer places than they need."""
    incomplete: Bool = _gang_counts(problem, placed) < problem.gang_need
    return incomplete


def _value(problem: PlacementProblem, placed: Assignments) -> tuple[int, ...]:
    """Tasks placed per priority, the highest first."""
    counts = np.bincount(problem.priority, weights=placed.per_class(problem.classes))
    return tuple(counts[::-1].astype(np.int64).tolist())
