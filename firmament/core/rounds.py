"""A round between opening and closing: the part that needs no access to the cluster's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from cost_models.interface import Bool
from firmament.core.flow.dual_prices import Worths
from firmament.core.flow.outcome import FlowOutcome
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, PlacementProblem
from firmament.core.flow.reduction.symmetry import AlikeMachines
from firmament.core.placement.cost import network_cost, pair_figures, placed_cost
from firmament.core.placement.local_search.size_exchange import levelled
from firmament.core.placement.passes import PassLog, PassOptions
from firmament.core.placement.placing import place
from firmament.core.placement.spread.default_spread import spread_out
from firmament.core.placement.stopwatch import Stopwatch, Timer
from firmament.core.preemption.preemption import preempt
from firmament.core.preemption.problem import Eviction, PreemptionProblem
from firmament.core.results import RoundStats
from firmament.core.snapshot.snapshot import Picture
from firmament.solvers.base import Solver


@dataclass(frozen=True, slots=True)
class Placement:
    """What was decided on a picture: assignments in terms of its indices, figures, the last pass's flow if any.

    ``first``: the flow of the first pass, over what all tasks wait for; ``first_alike``: what the machine rows of its
    network stand for, None if for themselves; ``first_classes``: the same of its classes. ``evictions``: places for
    tasks that found none, for which others go. ``shortages``: by gang, why a group with rules found no place.
    ``worths``: what shapes were found to be worth, see ``FlowOutcome``.
    """

    assignments: Assignments
    stats: RoundStats
    last: FlowOutcome | None
    first: FlowOutcome | None = None
    first_alike: AlikeMachines | None = None
    first_classes: Sequence[Sequence[int]] | None = None
    evictions: tuple[Eviction, ...] = ()
    shortages: Mapping[int, str] = field(default_factory=dict)
    worths: Worths | None = None


def decide(
    problem: PlacementProblem,
    solver: Solver,
    options: PassOptions,
    timer: Timer,
    preemption: PreemptionProblem | None = None,
) -> Placement:
    """Place the tasks of a problem; raises ``SolverError`` if the solver fails (a time-out is handled).

    Tasks that find no place may evict others, as ``preemption`` says. Depends on the arguments alone, time-outs
    excepted: equal problems, solvers and options give equal decisions.
    """
    log = PassLog(timer=timer)
    admitted = place(problem, solver, options, log)
    watch = Stopwatch(timer)
    assignments = spread_out(problem, levelled(problem, admitted))
    log.admit_seconds += watch.seconds()
    evictions: tuple[Eviction, ...] = ()
    if preemption is not None:
        watch = Stopwatch(timer)
        evictions = preempt(problem, preemption, assignments, solver, options.solve_time_limit, log.shortages)
        log.admit_seconds += watch.seconds()
    if log.about is None:
        cost = network_cost(problem, admitted)
    else:
        among: Bool = log.about.whole.counts.sum(axis=1) > 0  # groups with rules are not part of it
        cost = network_cost(log.about.problem, log.about.gathered(admitted.taken(among[admitted.cls])))
    stats = RoundStats(
        machines=problem.machines,
        tasks=int(problem.counts.sum()),
        classes=problem.classes,
        arcs=log.arcs,
        waves=log.waves,
        passes=log.passes,
        solves=log.solves,
        cost=round(placed_cost(problem, assignments) / COST_UNITS_PER_POINT),
        network_seconds=log.network_seconds,
        solve_seconds=log.solve_seconds,
        admit_seconds=log.admit_seconds,
        time_limited=log.time_limited,
    )
    if problem.pairs is not None:
        stats.pair_cost = pair_figures(problem.pairs, assignments)[1]
    if log.first is not None:
        stats.certified = log.first.certified
        stats.gap = (cost - log.first.bound) / log.first.bound if log.first.bound > 0 else float(cost > 0)
    else:
        stats.certified = not log.time_limited
    return Placement(
        assignments,
        stats,
        log.last,
        log.first,
        log.first_alike,
        _first_classes(log),
        evictions,
        log.shortages,
        None if log.first is None else log.first.worths,
    )


def _first_classes(log: PassLog) -> list[list[int]] | None:
    """The problem's classes for which each class of the first flow stands; None: for itself."""
    if log.about is None or log.about.problem is log.about.whole:
        return log.first_classes
    order = np.argsort(log.about.of, kind="stable")
    starts = np.searchsorted(log.about.of[order], np.arange(log.about.problem.classes + 1))
    of = [order[begin:end].tolist() for begin, end in pairwise(starts.tolist())]
    if log.first_classes is None:
        return of
    return [[cls for bundle in bundles for cls in of[bundle]] for bundles in log.first_classes]


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
        if self.picture is None:
            stats = RoundStats(snapshot_seconds=self._snapshot_seconds)
            return Placement(Assignments.empty(), stats, None)
        placement = decide(
            self.picture.problem, self._solver, self._options, self._timer, self.picture.preemption
        )
        placement.stats.snapshot_seconds = self._snapshot_seconds
        return placement
