"""Defines the input and results of the stages of placement, with their durations for statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from firmament.core import defaults
from firmament.core.flow.column_generation import FlowOutcome, GenerationOptions
from firmament.core.flow.problem import Assignments
from firmament.core.flow.reduction import AlikeMachines, MergedClasses
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.search.driver import SearchLog
from firmament.core.tree_solver.nested.search import SearchSteps
from firmament.solvers.base import Solver

ROUND_STEPS = 60_000
"""Most steps of all searches for places of trees of groups in a round; a step takes 0.1 ms or more."""

Timer = Callable[[], float]
"""A function that returns seconds on any monotonic clock; the core's caller passes it in."""


def no_timer() -> float:
    """Return 0 always, so that stages seem to take no time; for callers that need no statistics."""
    return 0.0


class Stopwatch:
    """Measures the seconds since its creation with a given timer."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._started = timer()

    def seconds(self) -> float:
        """Return the seconds since the stopwatch was created."""
        return self._timer() - self._started


@dataclass(frozen=True, slots=True)
class PassOptions:
    """Limits of a round's work: passes and waves, seconds per solve, and column generation."""

    max_passes: int = defaults.MAX_PASSES
    max_waves: int = 12
    solve_time_limit: float | None = defaults.SOLVE_TIME_LIMIT
    generation: GenerationOptions = field(default_factory=GenerationOptions)
    relocates: bool = True
    """Whether tasks of the round are moved so that tasks left over find a place."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a round works with: solver, options, timer and constants.

    ``timer`` serves only statistics; searches append their results to ``searches``, and searches for trees of groups
    subtract their steps from ``nested_steps``.
    """

    solver: Solver
    options: PassOptions = field(default_factory=PassOptions)
    timer: Timer = no_timer
    tuning: PlacementTuning = field(default_factory=PlacementTuning)
    searches: SearchLog = field(default_factory=list)
    nested_steps: SearchSteps = field(default_factory=lambda: SearchSteps(ROUND_STEPS))

    def stopwatch(self) -> Stopwatch:
        """Return a stopwatch that starts now."""
        return Stopwatch(self.timer)


@dataclass(frozen=True, slots=True)
class StageFigures:
    """Work and time of a stage of placement; the figures of several stages can be added."""

    passes: int = 0
    """Number of passes."""
    solves: int = 0
    """Number of solves."""
    arcs: int = 0
    """Number of arcs of the largest network."""
    waves: int = 0
    """Number of waves."""
    network_seconds: float = 0.0
    """Seconds spent on building networks."""
    solve_seconds: float = 0.0
    """Seconds spent on solving networks."""
    admit_seconds: float = 0.0
    """Seconds spent on admission."""
    time_limited: bool = False
    """Whether any solve ended at its time limit."""

    def __add__(self, other: StageFigures) -> StageFigures:
        return StageFigures(
            self.passes + other.passes,
            self.solves + other.solves,
            max(self.arcs, other.arcs),
            self.waves + other.waves,
            self.network_seconds + other.network_seconds,
            self.solve_seconds + other.solve_seconds,
            self.admit_seconds + other.admit_seconds,
            self.time_limited or other.time_limited,
        )


@dataclass(frozen=True, slots=True)
class FirstFlow:
    """The flow over all waiting tasks; no placement costs less on arcs.

    ``alike``: the groups of machines that its network's machine rows stand for, None if machines were not merged;
    ``classes``: for each class of its network, the classes that it stands for; None: the class itself.
    """

    outcome: FlowOutcome
    alike: AlikeMachines | None = None
    classes: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """The tasks that a stage has placed, in order of admission, and the work that placing them took.

    ``first``: the flow of the first pass; ``about``: the merged classes over which this flow was solved, None if it was
    solved over the problem's own classes; ``last``: the flow of the last pass. ``shortages``: by gang, why a group over
    a tree found no place.
    """

    assignments: Assignments = field(default_factory=Assignments.empty)
    figures: StageFigures = field(default_factory=StageFigures)
    first: FirstFlow | None = None
    last: FlowOutcome | None = None
    about: MergedClasses | None = None
    shortages: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def join(cls, parts: Iterable[Placed]) -> Placed:
        """Return what several stages have placed one after another, as one result."""
        every = list(parts)
        return cls(
            Assignments.join([part.assignments for part in every]),
            sum((part.figures for part in every), StageFigures()),
            next((part.first for part in every if part.first is not None), None),
            next((part.last for part in reversed(every) if part.last is not None), None),
            next((part.about for part in reversed(every) if part.about is not None), None),
            {gang: why for part in every for gang, why in part.shortages.items()},
        )

    def replace_assignments(self, assignments: Assignments, seconds: float = 0.0) -> Placed:
        """Return a copy with other ``assignments``; ``seconds`` are added to the time of admission."""
        return replace(
            self, assignments=assignments, figures=self.figures + StageFigures(admit_seconds=seconds)
        )

    def add_assignments(self, assignments: Assignments, seconds: float) -> Placed:
        """Return a copy with additional assignments; ``seconds`` are added to the time of admission."""
        return self.replace_assignments(Assignments.join([self.assignments, assignments]), seconds)
