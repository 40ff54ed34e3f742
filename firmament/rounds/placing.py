"""How a round places its tasks: together, gangs as a whole, and last those for whom others have to move."""

from __future__ import annotations

from firmament.flow.problem import Assignments, PlacementProblem
from firmament.rounds.bands import place_by_priority
from firmament.rounds.gangs import place_whole_gangs
from firmament.rounds.improvement import improved
from firmament.rounds.passes import PassLog, PassOptions
from firmament.rounds.stopwatch import Stopwatch
from firmament.solvers.base import Solver


def place(problem: PlacementProblem, solver: Solver, options: PassOptions, log: PassLog) -> Assignments:
    """Place what can be placed, in order of admission. Raises what the solver raises, time-outs excepted."""
    if len(problem.gang_need):
        return place_whole_gangs(problem, solver, options, log)
    placed, residual = place_by_priority(problem, solver, options, log)
    if not residual.remaining.any() or (problem.pairs is not None and problem.pairs.steers):
        return placed
    watch = Stopwatch(log.timer)
    better = improved(problem, placed, problem.rotation)
    log.admit_seconds += watch.seconds()
    return better
