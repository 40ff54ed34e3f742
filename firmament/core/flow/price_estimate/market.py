"""Describes waiting tasks and machines as a market: which tasks may buy places where, and at what cost.

Costs and numbers of tasks are in single precision in this module; nothing exact depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.problem import PlacementProblem

Float32 = NDArray[np.float32]

FORBIDDEN = np.float32(1e12)
"""Cost of a task on a machine that it may not use."""

HIGHEST = 2**29
"""Prices of classes lie between this number and minus this number, so that they fit into 32 bits."""


@dataclass(frozen=True, slots=True)
class CrowdingSteps:
    """What machines charge besides the tasks' own costs, and how many tasks they take: float32[M] each.

    A machine takes its first task at the price ``base``, and one more task for each ``growth`` (> 0) by which the
    price is higher. ``ahead``: number of tasks by which a machine's steps are, on average, ahead of the line (price -
    ``base``) / ``growth``. ``room``: most tasks that the machine takes. ``step``: a typical crowding step, in units
    of cost.
    """

    base: Float32
    growth: Float32
    ahead: Float32
    room: Float32
    step: float

    @classmethod
    def from_problem(
        cls, problem: PlacementProblem, base: Int64, room: Int64, flattest: float
    ) -> CrowdingSteps:
        """Return the crowding steps of all machines.

        ``base``: int64[M], units of cost that the next task pays; ``room``: int64[M], most tasks; ``flattest``:
        smallest growth, as a part of a typical step.
        """
        step = typical_step(problem)
        times = problem.times()
        return cls(
            base=base.astype(np.float32),
            growth=np.maximum(problem.crowd / times, flattest * step).astype(np.float32),
            ahead=(0.5 * problem.crowd_step() * times).astype(np.float32),
            room=room.astype(np.float32),
            step=step,
        )

    def select(self, machines: Int64) -> CrowdingSteps:
        """Return the crowding steps of the machines with these row numbers."""
        whole = self.base, self.growth, self.ahead, self.room
        base, growth, ahead, room = (each[machines] for each in whole)
        return CrowdingSteps(base, growth, ahead, room, self.step)

    def find_near(self, paid: Float32, reach: float) -> Int64:
        """Return machines that can take a task and charge at most ``paid`` (float32[M]) plus ``reach`` steps."""
        return np.flatnonzero((paid > self.base - reach * self.step) & (self.room > 0))

    def divide_evenly(self, price: Float32) -> Float32:
        """Return how many tasks machines would take at ``price`` if their steps were slopes.

        ``price`` and the result are float32[M].
        """
        return np.clip((price - self.base) / self.growth + self.ahead, 0, self.room)


@dataclass(frozen=True, slots=True)
class Market:
    """Tasks and machines for which prices are sought; ``tasks``: float32[S]; ``steps``: what the M machines charge.

    ``cost``: float32[S, M], ``FORBIDDEN`` where a task may not go; each row has at least one other entry.
    """

    cost: Float32
    tasks: Float32
    steps: CrowdingSteps

    def select(self, machines: Int64) -> Market:
        """Return the market of the same tasks with some of the machines (indices into the machines of this market)."""
        return Market(self.cost.take(machines, axis=1), self.tasks, self.steps.select(machines))


@dataclass(frozen=True, slots=True)
class MarketDemand:
    """The waiting tasks and what all machines charge; ``tasks``: float64[S], number of tasks of ``shapes`` (int64[S]).

    ``fits`` maps each shape to the machines on which it fits, bool[M]; ``steps``: what each machine charges.
    """

    problem: PlacementProblem
    fits: Mapping[int, Bool]
    steps: CrowdingSteps
    shapes: Int64
    tasks: Float64

    def market(self, machines: Int64, part: float = 1.0) -> tuple[Market, Int64]:
        """Return the market of a ``part`` of the tasks on some machines, and its shapes' indices in ``shapes``.

        Shapes that fit on none of these machines are left out.
        """
        cost = np.empty((len(self.shapes), len(machines)), dtype=np.float32)
        usable = np.empty(cost.shape, dtype=np.bool_)
        for row, shape in enumerate(self.shapes.tolist()):
            cost[row] = self.problem.cost[shape].take(machines)
            self.fits[shape].take(machines, out=usable[row], mode="clip")
        somewhere = np.flatnonzero(usable.any(axis=1))
        np.copyto(cost, FORBIDDEN, where=~usable)
        if len(somewhere) < len(self.shapes):
            cost = cost[somewhere]
        tasks = (self.tasks * part)[somewhere].astype(np.float32)
        return Market(cost, tasks, self.steps.select(machines)), somewhere

    def best_offers(self, among: Bool | Int64, worth: Float32) -> Float32:
        """Return the highest bid for a place on each machine, among the shapes ``among``: float32[M].

        ``worth``: the prices of the market's shapes. Where no shape fits, the bid is far below every price.
        """
        bid = np.zeros(self.problem.machines, dtype=np.int32)
        net = np.empty_like(bid)
        for shape, price in zip(self.shapes[among].tolist(), worth.tolist(), strict=True):
            # Bids are stored relative to a number far below zero, so that 0 stands for no bid.
            np.subtract(
                np.int32(HIGHEST + round(min(max(price, -HIGHEST), HIGHEST))),
                self.problem.cost[shape],
                out=net,
            )
            net *= self.fits[shape]
            np.maximum(bid, net, out=bid)
        # as an integer: with a float so far from zero, rounding errors would be dozens of units
        bid -= np.int32(HIGHEST)
        return bid.astype(np.float32)


def typical_step(problem: PlacementProblem) -> float:
    """Return the median crowding step, in units of cost, of the machines that have crowding; 1 if no machine has."""
    stepping = problem.crowd[problem.crowd > 0]
    return float(np.median(stepping)) if len(stepping) else 1.0
