"""A cost model that says what a test tells it to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import (
    Assessment,
    Float64,
    Int64,
    MachineColumns,
    Needs,
    Promises,
    Range,
    ShapeBatch,
)

POINTS = Range(best=0.0, worst=100.0)
NEEDS = Needs(labels=("app", "taskType"), namespaces=True)
PROMISES = Promises()


def indifferent(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
    """No cost, no filter."""
    return Assessment(raw=np.zeros((shapes.count, 1)))


@dataclass
class Stated:
    """A model that says what a test tells it to, and keeps what it was shown."""

    raw: Callable[[MachineColumns, ShapeBatch], Assessment]
    growth: float = 0.0
    name: str = "stated"
    range: Range = POINTS
    needs: Needs = NEEDS
    promises: Promises = PROMISES
    seen: list[tuple[MachineColumns, ShapeBatch]] = field(default_factory=list)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        self.seen.append((machines, shapes))
        return self.raw(machines, shapes)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        return np.full(machines.count, self.growth) * request[1]


def flat(*figures: float) -> Callable[[MachineColumns, ShapeBatch], Assessment]:
    """One figure per machine, the same for every shape."""
    return lambda _, shapes: Assessment(raw=np.tile(np.array(figures), (shapes.count, 1)))
