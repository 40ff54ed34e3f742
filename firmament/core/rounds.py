"""A round between opening and closing: the part that needs no access to the cluster's state."""

from __future__ import annotations

from dataclasses import dataclass

from firmament.core.opening import Picture
from firmament.core.results import RoundStats
from firmament.flow.network import Network
from firmament.flow.problem import COST_UNITS_PER_POINT, Assignments
from firmament.rounds.bands import place_by_priority
from firmament.rounds.cost import placed_cost, placement_cost
from firmament.rounds.passes import PassLog, PassOptions
from firmament.rounds.stopwatch import Timer
from firmament.solvers.base import Solver


@dataclass(frozen=True, slots=True)
class Placement:
    """What was decided on a picture: assignments in terms of its indices, figures, and the last network if any."""

    assignments: Assignments
    stats: RoundStats
    network: Network | None


class OpenRound:
    """A picture of the cluster, to be solved while the cluster moves on.

    ``solve`` may take long and may run in any thread; it works on the picture alone.
    """

    def __init__(
        self,
        number: int,
        picture: Picture | None,
        solver: Solver,
        options: PassOptions,
        snapshot_seconds: float,
        timer: Timer,
    ) -> None:
        self.number = number
        self.picture = picture
        self._solver = solver
        self._options = options
        self._snapshot_seconds = snapshot_seconds
        self._timer = timer

    def solve(self) -> Placement:
        """Decide the round; raises ``SolverError`` if the solver fails (a time-out is handled)."""
        stats = RoundStats(snapshot_seconds=self._snapshot_seconds)
        if self.picture is None:
            return Placement(Assignments.empty(), stats, None)
        problem = self.picture.problem
        log = PassLog(timer=self._timer)
        assignments, _ = place_by_priority(problem, self._solver, self._options, log)
        cost = placement_cost(problem, assignments)
        stats.machines = problem.machines
        stats.tasks = int(problem.counts.sum())
        stats.classes = problem.classes
        stats.arcs, stats.waves, stats.passes, stats.solves = log.arcs, log.waves, log.passes, log.solves
        stats.time_limited = log.time_limited
        stats.network_seconds, stats.solve_seconds = log.network_seconds, log.solve_seconds
        stats.admit_seconds = log.admit_seconds
        stats.cost = round(placed_cost(problem, assignments) / COST_UNITS_PER_POINT)
        if log.first is not None:
            stats.certified = log.first.certified
            stats.gap = (cost - log.first.bound) / log.first.bound if log.first.bound > 0 else float(cost > 0)
        else:
            stats.certified = not log.time_limited
        return Placement(assignments, stats, log.network)
