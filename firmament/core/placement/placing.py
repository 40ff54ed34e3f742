"""How a round places its tasks: groups by their rules, like classes as one, gangs as a whole, and last those for whom
others have to move.
"""

from __future__ import annotations

from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.class_aggregation import bundled
from firmament.core.placement.gang_admission import place_whole_gangs
from firmament.core.placement.local_search.relocation import improved
from firmament.core.placement.passes import PassLog, PassOptions
from firmament.core.placement.priority_tiers import place_by_priority
from firmament.core.placement.stopwatch import Stopwatch
from firmament.core.placement.tree_groups.groups import place_with_groups
from firmament.solvers.base import Solver


def place(problem: PlacementProblem, solver: Solver, options: PassOptions, log: PassLog) -> Assignments:
    """Place what can be placed, in order of admission. Raises what the solver raises, time-outs excepted."""
    if problem.topology is not None:
        return place_with_groups(problem, problem.topology, solver, options, log, place)
    if len(problem.gang_need):
        return place_whole_gangs(problem, solver, options, log)
    watch = Stopwatch(log.timer)
    bundle = bundled(problem)
    log.admit_seconds += watch.seconds()
    log.about = bundle
    placed, residual = place_by_priority(bundle.problem, solver, options, log)
    watch = Stopwatch(log.timer)
    if residual.remaining.any() and not (problem.pairs is not None and problem.pairs.steers):
        placed = improved(bundle.problem, placed, problem.rotation)
    placed = bundle.dealt_out(placed)
    log.admit_seconds += watch.seconds()
    return placed
