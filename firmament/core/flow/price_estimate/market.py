"""The waiting tasks and some machines as a market: who may buy places where, at what cost, and how many there are.

Costs and places are single-precision numbers here; nothing exact depends on them.
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
"""Prices of classes are cut off here, and at minus this, so that none leaves 32 bits."""


@dataclass(frozen=True, slots=True)
class CrowdingSteps:
    """What machines charge beside the tasks' own costs, and how many tasks they take: float32[M] each.

    A machine takes its first task at the price ``base`` and one more per ``growth`` (> 0) above; ``ahead`` of the
    middle of its stairs; at most ``room``. ``step``: a typical crowding step.
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
        """Return the stairs of all machines; ``base``, ``room``: int64[M], units that the next task pays, and
        tasks.

        ``flattest``: least growth, in typical steps.
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
        """Return the same for some machines."""
        whole = self.base, self.growth, self.ahead, self.room
        base, growth, ahead, room = (each[machines] for each in whole)
        return CrowdingSteps(base, growth, ahead, room, self.step)

    def find_near(self, paid: Float32, reach: float) -> Int64:
        """Return machines with room that are wanted at ``paid`` (float32[M]), or miss that by at most
        ``reach`` steps.
        """
        return np.flatnonzero((paid > self.base - reach * self.step) & (self.room > 0))

    def evenly(self, price: Float32) -> Float32:
        """Return tasks that machines would take at ``price`` (float32[M]) if their stairs were slopes."""
        return np.clip((price - self.base) / self.growth + self.ahead, 0, self.room)


@dataclass(frozen=True, slots=True)
class Market:
    """What is to be cleared: ``cost``: float32[S, M], ``FORBIDDEN`` where a task may not go, but not all over a row;
    ``tasks``: float32[S]; ``stairs``: of the M machines.
    """

    cost: Float32
    tasks: Float32
    stairs: CrowdingSteps

    def select(self, machines: Int64) -> Market:
        """Return the same tasks with some of the machines (indices into those of the market)."""
        return Market(self.cost.take(machines, axis=1), self.tasks, self.stairs.select(machines))


@dataclass(frozen=True, slots=True)
class MarketDemand:
    """What waits, and what all machines charge: ``tasks``: float64[S], how many tasks of ``shapes`` (int64[S]).

    ``fits`` maps each shape to the machines with room for it: bool[M]; ``stairs``: of all machines.
    """

    problem: PlacementProblem
    fits: Mapping[int, Bool]
    stairs: CrowdingSteps
    shapes: Int64
    tasks: Float64

    def market(self, machines: Int64, part: float = 1.0) -> tuple[Market, Int64]:
        """Return the market of this ``part`` of the tasks on some machines.

        Shapes that fit none of them are left out; returns the market, and the places of the others in ``shapes``.
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
        return Market(cost, tasks, self.stairs.select(machines)), somewhere

    def best_offers(self, among: Bool | Int64, worth: Float32) -> Float32:
        """Return what the most interested of the shapes ``among`` these would pay for a place: float32[M].

        ``worth``: their prices. Far below every price where none of them fits.
        """
        offer = np.zeros(self.problem.machines, dtype=np.int32)
        net = np.empty_like(offer)
        for shape, price in zip(self.shapes[among].tolist(), worth.tolist(), strict=True):
            # Counted from far below zero, so that 0 is no offer at all.
            np.subtract(
                np.int32(HIGHEST + round(min(max(price, -HIGHEST), HIGHEST))),
                self.problem.cost[shape],
                out=net,
            )
            net *= self.fits[shape]
            np.maximum(offer, net, out=offer)
        offer -= np.int32(HIGHEST)  # before it becomes a float, which so far from zero would be off by dozens
        return offer.astype(np.float32)


def typical_step(problem: PlacementProblem) -> float:
    """Return median crowding step over the machines that have one, in units; 1 if none has."""
    stepping = problem.crowd[problem.crowd > 0]
    return float(np.median(stepping)) if len(stepping) else 1.0
