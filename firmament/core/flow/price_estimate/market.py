"""The waiting tasks and some machines as a market: who may buy places where, at what cost, and how many there are.

Costs and places are single-precision numbers here; nothing exact depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.problem import PlacementProblem

Float32 = NDArray[np.float32]

FORBIDDEN = np.float32(1e12)
"""Cost of a task on a machine that it may not use."""


@dataclass(frozen=True, slots=True)
class Stairs:
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
    def of(cls, problem: PlacementProblem, base: Int64, room: Int64, flattest: float) -> Stairs:
        """The stairs of all machines; ``base``, ``room``: int64[M], units that the next task pays, and tasks.

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

    def at(self, machines: Int64) -> Stairs:
        """Those of some machines."""
        return Stairs(
            self.base[machines], self.growth[machines], self.ahead[machines], self.room[machines], self.step
        )

    def evenly(self, price: Float32) -> Float32:
        """Tasks that machines would take at ``price`` (float32[M]) if their stairs were slopes."""
        return np.clip((price - self.base) / self.growth + self.ahead, 0, self.room)


@dataclass(frozen=True, slots=True)
class Market:
    """What is to be cleared: ``cost``: float32[S, M], ``FORBIDDEN`` where a task may not go, but not all over a row;
    ``tasks``: float32[S]; ``stairs``: of the M machines.
    """

    cost: Float32
    tasks: Float32
    stairs: Stairs

    @classmethod
    def of(
        cls,
        problem: PlacementProblem,
        fits: dict[int, Bool],
        stairs: Stairs,
        machines: Int64,
        shapes: Int64,
        tasks: Float64,
    ) -> tuple[Market, Int64]:
        """The market of ``tasks[i]`` tasks of ``shapes[i]`` on ``machines``, which ``stairs`` are those of.

        ``fits`` maps each shape to the machines with room for it: bool[M]. Shapes that fit none of ``machines`` are
        left out; returns the market, and the places of the others in ``shapes``.
        """
        cost = np.empty((len(shapes), len(machines)), dtype=np.float32)
        usable = np.empty(cost.shape, dtype=np.bool_)
        for row, shape in enumerate(shapes.tolist()):
            cost[row] = problem.cost[shape].take(machines)
            fits[shape].take(machines, out=usable[row], mode="clip")
        somewhere = np.flatnonzero(usable.any(axis=1))
        np.copyto(cost, FORBIDDEN, where=~usable)
        if len(somewhere) < len(shapes):
            cost = cost[somewhere]
        return cls(cost, tasks[somewhere].astype(np.float32), stairs), somewhere

    def at(self, machines: Int64) -> Market:
        """The same tasks with some of the machines (indices into those of the market)."""
        return Market(self.cost.take(machines, axis=1), self.tasks, self.stairs.at(machines))


def typical_step(problem: PlacementProblem) -> float:
    """Median crowding step over the machines that have one, in units; 1 if none has."""
    stepping = problem.crowd[problem.crowd > 0]
    return float(np.median(stepping)) if len(stepping) else 1.0
