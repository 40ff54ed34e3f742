"""Solve and admit, again and again, until nothing that waits fits anywhere.

A pass solves the network of what is left and admits what fits jointly. Later passes see the room and the crowding that
earlier ones left, so their costs continue where those stopped. Every pass admits at least one task; after
``max_passes`` the rest is placed greedily, so a round always ends with a maximal placement.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from firmament.core.flow.column_generation import GenerationOptions, optimal_flow
from firmament.core.flow.network.network import Penalties, dearest_path, unscheduled_penalties
from firmament.core.flow.outcome import FlowOutcome
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.flow.reduction.dominance import narrowed
from firmament.core.flow.reduction.symmetry import AlikeMachines, merge_alike
from firmament.core.placement.admission import admit
from firmament.core.placement.class_aggregation import Bundled
from firmament.core.placement.fallback.class_by_class import place_greedily
from firmament.core.placement.fallback.completion import SMALL_REST, completed
from firmament.core.placement.stopwatch import Stopwatch, Timer, no_timer
from firmament.solvers.base import Solver, SolverTimeoutError


@dataclass(frozen=True, slots=True)
class PassOptions:
    """Limits of a round: passes and waves before the rest is placed greedily, seconds per solve, column generation."""

    max_passes: int = 8
    max_waves: int = 12
    solve_time_limit: float | None = 10.0
    generation: GenerationOptions = field(default_factory=GenerationOptions)


@dataclass(slots=True)
class PassLog:
    """Figures gathered over the passes of a round; seconds per stage; ``arcs`` of the largest network.

    ``first``: the flow of the first pass, and ``first_alike`` what its network's machine rows stand for, if merged.
    ``about``: what ``first`` is a flow of, if not of the round's problem as it is; ``first_classes``: the classes of
    that for which each class of the flow stands, None: itself. ``last``: the flow of the last pass.
    ``shortages``: by gang, why a group found no place.
    """

    passes: int = 0
    solves: int = 0
    arcs: int = 0
    waves: int = 0
    first: FlowOutcome | None = None
    first_alike: AlikeMachines | None = None
    first_classes: list[list[int]] | None = None
    about: Bundled | None = None
    last: FlowOutcome | None = None
    network_seconds: float = 0.0
    solve_seconds: float = 0.0
    admit_seconds: float = 0.0
    time_limited: bool = False
    shortages: dict[int, str] = field(default_factory=dict)
    timer: Timer = no_timer


def place_all(residual: Residual, solver: Solver, options: PassOptions, log: PassLog) -> Assignments:
    """Place as much as possible of what ``residual`` holds, book it there, and return it.

    Afterwards no remaining task fits any machine it may use. Raises ``SolverError`` if the solver fails for another
    reason than time.
    """
    parts: list[Assignments] = []
    penalties = unscheduled_penalties(residual, dearest_path(residual))
    for number in range(options.max_passes):
        waiting = int(residual.remaining.sum())
        try:
            proposed = propose(residual, solver, options, log, penalties=penalties, later=number > 0)
        except SolverTimeoutError:
            log.time_limited = True
            break
        if proposed is None:
            return Assignments.joined(parts)
        watch = Stopwatch(log.timer)
        admitted = admit(residual, proposed)
        parts.append(admitted)
        if _nearly_done(residual, proposed, waiting) and (rest := completed(residual)) is not None:
            parts.append(rest)
        log.admit_seconds += watch.seconds()
        if not residual.remaining.any():
            return Assignments.joined(parts)
        if len(admitted.cls) == 0:
            break
    watch = Stopwatch(log.timer)
    parts.append(place_greedily(residual))
    log.admit_seconds += watch.seconds()
    return Assignments.joined(parts)


def _nearly_done(residual: Residual, proposed: Assignments, waiting: int) -> bool:
    """Whether a flow found a place for all that were ``waiting``, and admission left but a few of them."""
    left = int(residual.remaining.sum())
    return 0 < left <= SMALL_REST * waiting and int(proposed.count.sum()) == waiting


def propose(
    residual: Residual,
    solver: Solver,
    options: PassOptions,
    log: PassLog,
    *,
    penalties: Penalties | None = None,
    later: bool = False,
    classes: list[list[int]] | None = None,
) -> Assignments | None:
    """Solve the network of what ``residual`` holds; None if nothing fits anywhere.

    ``later``: only a small rest is to be placed. ``classes``: what the classes of ``residual`` stand for. Raises what
    the solver raises, ``SolverTimeoutError`` included.
    """
    watch = Stopwatch(log.timer)
    shapes = np.unique(residual.problem.shape[residual.active()]).tolist()
    fits = residual.fits_of(shapes)
    alike = narrowed(residual, fits) or merge_alike(residual, fits)
    outcome = optimal_flow(
        alike.residual if alike else residual,
        alike.fits if alike else fits,
        solver,
        _later(options.generation) if later else options.generation,
        penalties=penalties,
        time_limit=options.solve_time_limit,
    )
    if outcome is None:
        log.network_seconds += watch.seconds()
        return None
    proposed = outcome.assignments()
    if alike:
        proposed = alike.dealt_out(proposed)
    if log.first is None:
        log.first, log.first_alike, log.first_classes = outcome, alike, classes
    _note(log, outcome, watch.seconds())
    return proposed


def _later(options: GenerationOptions) -> GenerationOptions:
    """Later passes place a small rest on machines that cost nearly the same: it is the cheapest ones that count."""
    return replace(options, base_total=2 * options.base_total)


def _note(log: PassLog, outcome: FlowOutcome, seconds: float) -> None:
    """Add a pass to the log."""
    log.passes += 1
    log.solves += outcome.solves
    log.arcs = max(log.arcs, outcome.arcs)
    log.last = outcome
    log.time_limited |= outcome.time_limited
    log.solve_seconds += outcome.seconds
    log.network_seconds += max(0.0, seconds - outcome.seconds)
