"""How a round places its tasks: groups by their rules, like classes as one, gangs as a whole, and last those for whom
others have to move.
"""

from __future__ import annotations

from firmament.flow.problem import Assignments, PlacementProblem
from firmament.rounds.bands import place_by_priority
from firmament.rounds.bundling import bundled
from firmament.rounds.gangs import place_whole_gangs
from firmament.rounds.improvement import improved
from firmament.rounds.passes import PassLog, PassOptions
from firmament.rounds.stopwatch import Stopwatch
from firmament.rounds.topology_groups import place_with_groups
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
