"""Measures how good a placement is: its cost, how many machines it uses, and how evenly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cost_models.interface import Float64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.cost import compute_placed_cost, placement_cost
from firmament.core.results import MachineState
from firmament.core.rounds import OpenRound, Placement

RESOURCES = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Quality:
    """``utilisation``: taken share of what all machines offer, mean over cpu and memory.

    ``imbalance``: standard deviation of that share over machines. ``fullest``: the largest share of any resource.
    """

    machines_used: int
    utilisation: float
    imbalance: float
    fullest: float

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def cluster_quality(states: Iterable[MachineState]) -> Quality:
    """Return the figures of a whole cluster, with all running tasks."""
    listed = list(states)
    offered = np.array([[state.allocatable.get(name, 0) for name in RESOURCES] for state in listed])
    free = np.array([[state.free.get(name, 0) for name in RESOURCES] for state in listed])
    used = np.array([state.tasks > 0 for state in listed])
    return _quality(offered.reshape(-1, 2), (offered - free).reshape(-1, 2), int(used.sum()))


def _quality(offered: Float64, taken: Float64, used: int) -> Quality:
    offered, taken = np.asarray(offered, dtype=np.float64), np.asarray(taken, dtype=np.float64)
    if not offered.sum():
        return Quality(used, 0.0, 0.0, 0.0)
    share = np.divide(taken, offered, out=np.zeros_like(taken), where=offered > 0)
    total = np.divide(taken.sum(axis=0), offered.sum(axis=0), out=np.zeros(2), where=offered.sum(axis=0) > 0)
    return Quality(used, float(total.mean()), float(share.mean(axis=1).std()), float(share.max()))


@dataclass(frozen=True, slots=True)
class PlacementQuality:
    """Figures of a placement; costs are in hundredths of a point.

    ``machines_used``: machines that got a task. ``imbalance``: standard deviation over machines of the tasks they got.
    """

    cost: int
    placed_cost: int
    placed: int
    unplaced: int
    machines_used: int
    imbalance: float

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def placement_quality(problem: PlacementProblem, placed: Assignments) -> PlacementQuality:
    """Return the figures of a placement by the core's definition of cost; raises ``ValueError`` if it overfills a
    machine.
    """
    check_fits(problem, placed)
    on_machine = np.bincount(placed.machine, weights=placed.count, minlength=problem.machines)
    count = int(placed.count.sum())
    return PlacementQuality(
        cost=placement_cost(problem, placed),
        placed_cost=compute_placed_cost(problem, placed),
        placed=count,
        unplaced=int(problem.counts.sum()) - count,
        machines_used=int((on_machine > 0).sum()),
        imbalance=float(on_machine.std()),
    )


def check_fits(problem: PlacementProblem, placed: Assignments) -> None:
    """Raise ``ValueError`` if a placement uses forbidden machines or overfills one."""
    shapes = problem.shape[placed.cls]
    if not problem.feasible[shapes, placed.machine].all():
        raise ValueError("a task is on a machine that it may not use")
    taken = np.zeros_like(problem.free)
    np.add.at(taken, placed.machine, problem.requests[shapes] * placed.count[:, None])
    if ((taken > 0) & (taken > problem.free)).any():
        raise ValueError("a machine has more tasks than it has room for")
    per_class = np.bincount(placed.cls, weights=placed.count, minlength=problem.classes)
    if (per_class > problem.counts.sum(axis=1)).any():
        raise ValueError("a class has more placements than tasks")


class CostObserver:
    """Sums up ``placement_cost`` over the rounds of a measurement; an ``Observer`` of the algorithm's target."""

    def __init__(self) -> None:
        self.cost = 0
        self.largest: tuple[PlacementProblem, Placement, float] | None = None
        """The problem of the round that placed most, its placement and its seconds."""

    def __call__(self, opened: OpenRound, placement: Placement, seconds: float) -> None:
        """Add the cost of one round."""
        if opened.snapshot is None:
            return
        problem = opened.snapshot.problem
        self.cost += placement_cost(problem, placement.assignments)
        size = int(placement.assignments.count.sum())
        if self.largest is None or size > int(self.largest[1].assignments.count.sum()):
            self.largest = (problem, placement, seconds)
