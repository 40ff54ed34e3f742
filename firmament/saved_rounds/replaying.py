"""Runs a saved round again, and compares the results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments
from firmament.core.placement.cost import placement_cost
from firmament.core.placement.outcome import Timer
from firmament.core.results import RoundStats
from firmament.core.round_flow.assembly import ClassWords, RoundFlow, RoundSummary, RoundWords, problem_flow
from firmament.core.rounds import decide
from firmament.saved_rounds.description import name_classes
from firmament.saved_rounds.saving import SavedRound
from firmament.solvers.base import Solver


@dataclass(frozen=True, slots=True)
class Replay:
    """A saved round compared with its repetition.

    Costs are in hundredths of a point, including the costs of pending tasks.
    """

    cluster: str
    """Name of the cluster."""
    round: int
    """Number of the round."""
    same: bool
    """Whether the saved round and its repetition decided the same."""
    moved: int
    """Number of tasks that the two rounds placed on different machines, or that only one round placed."""
    placed: int
    """Number of tasks that the repetition placed."""
    cost_then: int
    """Cost of the saved round, in hundredths of a point."""
    cost_now: int
    """Cost of the repetition, in hundredths of a point."""
    then: RoundStats
    """Figures of the saved round."""
    now: RoundStats
    """Figures of the repetition."""
    versions: dict[str, str]
    """Packages whose versions differ."""
    bound: int | None = None
    """Cost of the saved flow; None without a network."""
    checked: int | None = None
    """Least cost of the network by a second solver; None without a network, or if it is too large for that solver."""

    @property
    def agrees(self) -> bool:
        """Whether the second solver found the cost of the saved flow; True if no second solver ran."""
        return self.checked is None or self.checked == self.bound

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain values, with costs in points."""
        return {
            "cluster": self.cluster,
            "round": self.round,
            "same": self.same,
            "moved": self.moved,
            "placed": self.placed,
            "totalCost": {
                "then": self.cost_then / COST_UNITS_PER_POINT,
                "now": self.cost_now / COST_UNITS_PER_POINT,
            },
            "then": asdict(self.then),
            "now": asdict(self.now),
            "versions": self.versions,
            "network": {"bound": self.bound, "checked": self.checked},
        }


def replay(saved: SavedRound, solver: Solver, timer: Timer) -> Replay:
    """Solve a saved round again with its own options, and compare the results.

    Raise ``SolverError`` if the solve fails.

    The placement is the same unless a time limit stopped one of the two solves, or they ran with different releases
    of the solver or of this package.
    """
    problem, description = saved.problem, saved.description
    again = decide(problem, solver, description.options, timer)
    moved = differing_tasks(saved.placed, again.assignments, problem.machines)
    count = int(again.assignments.count.sum())
    return Replay(
        cluster=description.cluster,
        round=description.round,
        same=moved == 0,
        moved=moved,
        placed=count,
        cost_then=placement_cost(problem, saved.placed),
        cost_now=placement_cost(problem, again.assignments),
        then=description.stats,
        now=replace(again.stats, placed=count, pending=int(problem.counts.sum()) - count),
        versions=dict(description.versions),
    )


def differing_tasks(one: Assignments, other: Assignments, machines: int) -> int:
    """Return how many tasks change machine between two placements; tasks of a class are interchangeable."""
    pairs = [placed.cls * max(1, machines) + placed.machine for placed in (one, other)]
    keys, at = np.unique(np.concatenate(pairs), return_inverse=True)
    difference: Int64 = np.zeros(len(keys), dtype=np.int64)
    np.add.at(difference, at[: len(pairs[0])], one.count)
    np.subtract.at(difference, at[len(pairs[0]) :], other.count)
    return int(max(difference[difference > 0].sum(), -difference[difference < 0].sum()))


def replay_flow(saved: SavedRound, solver: Solver, timer: Timer) -> tuple[RoundSummary, RoundFlow]:
    """Decide a saved round again; return its saved figures and the new flow.

    Raise ``SolverError`` if the solver fails. The costs of each model and the uids of tasks are not saved, so the
    repetition lacks them. The time at which the saved round ended counts as 0.
    """
    description = saved.description
    placement = decide(saved.problem, solver, description.options, timer)
    classes = [
        ClassWords(name, namespace=each.namespace)
        for name, each in zip(name_classes(description), description.classes, strict=True)
    ]
    flow = problem_flow(
        saved.problem, placement, RoundWords(description.machines, description.resources, classes)
    )
    return RoundSummary(description.round, 0.0, description.stats, len(placement.evictions)), flow
