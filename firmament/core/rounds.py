"""Solves a round: the part between opening and closing, which needs no access to the cluster's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from firmament.core.constraints.default_spread import SpreadTerms
from firmament.core.constraints.pairs import NO_PAIRS
from firmament.core.few_tasks.placing import PlacedDirectly
from firmament.core.flow.column_generation import FlowOutcome
from firmament.core.flow.heights_and_prices import DualPrices, RoundHeights
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, Costing, PlacementProblem
from firmament.core.placement.cost import compute_gap, compute_placed_cost
from firmament.core.placement.gang_room import RoomSearch, find_gang_room
from firmament.core.placement.outcome import FirstFlow, Means, PassOptions, Placed, Timer
from firmament.core.placement.placing import place
from firmament.core.preemption.attempts import preempt
from firmament.core.preemption.problem import PreemptionDecision, PreemptionProblem, PreemptionTuning
from firmament.core.ranks import group_rows
from firmament.core.results import RoundStats
from firmament.core.search.driver import SearchFigures
from firmament.core.search.moves.exchange import exchange_sizes
from firmament.core.search.moves.spread_classes import spread_tasks
from firmament.core.snapshot.snapshot import Snapshot
from firmament.solvers.base import Solver


@dataclass(frozen=True, slots=True)
class Placement:
    """The decisions on a snapshot; tasks and machines are indices of the snapshot."""

    assignments: Assignments
    """Which tasks the round placed on which machines."""
    stats: RoundStats
    """Figures of the round."""
    last: FlowOutcome | None
    """The flow of the last pass; None if no pass solved a flow."""
    first: FirstFlow | None = None
    """The flow of the first pass over the problem's classes; None if no pass solved a flow."""
    evictions: tuple[PreemptionDecision, ...] = ()
    """Evictions that free machines for tasks that found none."""
    shortages: Mapping[int, str] = field(default_factory=dict)
    """By gang: why a group with tree rules found no machines."""
    kept: Mapping[int, Assignments] = field(default_factory=dict)
    """By gang that found no machines: machines that will become free and are reserved for the gang."""
    searches: tuple[SearchFigures, ...] = ()
    """Figures of the searches for better placements."""

    @property
    def dual_prices(self) -> DualPrices | None:
        """Dual prices of shapes that the first pass estimated; None if it estimated none."""
        return None if self.first is None else self.first.outcome.dual_prices


def decide(
    problem: PlacementProblem,
    solver: Solver,
    options: PassOptions,
    timer: Timer,
    preemption: PreemptionProblem | None = None,
    room: RoomSearch | None = None,
) -> Placement:
    """Place the tasks of a problem; raise ``SolverError`` if the solver fails (a time-out is handled).

    Tasks that find no machine may evict others, as ``preemption`` says. For gangs that find no machines, ``room``
    says how to search for machines that will become free. Except for time-outs, the result depends only on the
    arguments: equal problems, solvers and options give equal decisions.
    """
    means = Means(solver, options, timer)
    placed = place(problem, means)
    watch = means.stopwatch()
    assignments = placed.assignments
    for family in problem.list_costing():
        if improve := _IMPROVE.get(type(family)):
            assignments = improve(problem, assignments, means)
    shortages = dict(placed.shortages)
    evictions: tuple[PreemptionDecision, ...] = ()
    if preemption is not None:
        evictions, assignments = preempt(
            problem, preemption, assignments, solver, options.solve_time_limit, shortages, PreemptionTuning()
        )
    first = placed.first
    if first is not None:
        first = replace(first, classes=_first_classes(placed))
    stats = _figures(problem, replace(placed, first=first), assignments, watch.seconds())
    kept = {} if room is None else _room_to_keep(problem, room, assignments, means)
    return Placement(
        assignments, stats, placed.last, first, evictions, shortages, kept, tuple(means.searches)
    )


def _room_to_keep(
    problem: PlacementProblem, room: RoomSearch, assignments: Assignments, means: Means
) -> dict[int, Assignments]:
    """Return, by gang without machines in the round, those that will become free and are to be reserved."""
    served = set(problem.gang[assignments.cls].tolist())
    sought = {gang: find_gang_room(problem, gang, room, means) for gang in room.gangs if gang not in served}
    return {gang: found for gang, found in sought.items() if found is not None}


def _figures(
    problem: PlacementProblem, placed: Placed, assignments: Assignments, seconds: float
) -> RoundStats:
    """Return the figures of a round.

    ``assignments``: the result of the searches that improved the placement. ``seconds``: the time of the searches
    that improved the assignments. The classes of the ``first`` flow of ``placed`` are those of the problem.
    """
    figures, first = placed.figures, placed.first
    certified = not figures.time_limited if first is None else first.outcome.certified
    return RoundStats(
        machines=problem.machines,
        tasks=int(problem.counts.sum()),
        classes=problem.classes,
        arcs=figures.arcs,
        waves=figures.waves,
        passes=figures.passes,
        solves=figures.solves,
        certified=certified,
        gap=compute_gap(problem, placed, None if first is None else first.classes),
        cost=round(compute_placed_cost(problem, assignments) / COST_UNITS_PER_POINT),
        network_seconds=figures.network_seconds,
        solve_seconds=figures.solve_seconds,
        admit_seconds=figures.admit_seconds + seconds,
        time_limited=figures.time_limited,
        pair_cost=_compute_pair_figure(problem, assignments),
    )


def _compute_pair_figure(problem: PlacementProblem, assignments: Assignments) -> float | None:
    """Return the cost of all pairs of tasks on machines; None if no model states pairs."""
    if problem.pairs is NO_PAIRS:
        return None
    return problem.pairs.compute_figure(assignments.cls, assignments.machine, assignments.count)


_IMPROVE: dict[type[Costing], Callable[[PlacementProblem, Assignments, Means], Assignments]] = {
    RoundHeights: lambda problem, placed, means: exchange_sizes(
        problem, placed, means.tuning.exchange, means.searches
    ),
    SpreadTerms: lambda problem, placed, means: spread_tasks(
        problem, placed, means.tuning.spread, means.searches
    ),
}
"""For each family of costs, the search that improves a placement by these costs."""


def _first_classes(placed: Placed) -> Sequence[Sequence[int]] | None:
    """Return for which of the problem's classes each class of the first flow stands; None: each for itself."""
    about, classes = placed.about, None if placed.first is None else placed.first.classes
    if about is None or about.problem is about.whole:
        return classes
    of = [each.tolist() for each in group_rows(about.merged)]
    return (
        of if classes is None else [[cls for bundle in bundles for cls in of[bundle]] for bundles in classes]
    )


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A snapshot of the cluster that is solved while the cluster changes.

    ``solve`` may take long and may run in any thread; it uses only the snapshot.
    """

    number: int
    """Number of the round."""
    snapshot: Snapshot | None
    """The snapshot; None if no task is to be placed."""
    solver: Solver
    """The solver of flow networks."""
    options: PassOptions
    """Options of the passes."""
    snapshot_seconds: float
    """Seconds that the snapshot took; only figures use them."""
    timer: Timer
    """The clock with which seconds are measured, only for figures."""
    direct: PlacedDirectly | None = None
    """Placements that were found without a snapshot; None if the round has a snapshot."""

    def solve(self) -> Placement:
        """Decide the round; raise ``SolverError`` if the solver fails (a time-out is handled)."""
        if self.direct is not None:
            return Placement(Assignments.empty(), self._figures_of(self.direct), None)
        if self.snapshot is None:
            return Placement(Assignments.empty(), RoundStats(snapshot_seconds=self.snapshot_seconds), None)
        placement = decide(
            self.snapshot.problem,
            self.solver,
            self.options,
            self.timer,
            self.snapshot.preemption,
            self.snapshot.room,
        )
        stats = replace(placement.stats, snapshot_seconds=self.snapshot_seconds)
        return replace(placement, stats=stats)

    def _figures_of(self, direct: PlacedDirectly) -> RoundStats:
        """Return the figures of a round without a network, whose result is optimal and so counts as certified."""
        return RoundStats(
            machines=direct.of_machines,
            tasks=len(direct.tasks),
            classes=direct.classes,
            waves=1,
            passes=1,
            cost=round(direct.units / COST_UNITS_PER_POINT),
            snapshot_seconds=self.snapshot_seconds,
        )
