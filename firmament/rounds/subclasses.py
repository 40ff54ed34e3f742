"""A wave's problem: classes cut into parts that may only use some machines, at the costs of the moment.

Rules between tasks decide where a class may go now and, where a domain takes a limited number, how many of its tasks go
to which domain. Each such part becomes a class of its own in a problem derived from the round's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64, JointRows
from firmament.flow.problem import COST_UNITS_PER_POINT, WAIT_BUCKETS, Assignments, Residual
from firmament.solvers.base import Int32

PINNED_UP_TO = 256
"""A part that may use at most so many machines is pinned to them, instead of having dense rows of its own."""

LARGEST_COST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """``count`` tasks of class ``cls`` that may use the machines in ``allowed`` (bool[M]; None: as the class).

    ``points``: float64[M] to be added to the class's cost, None for nothing; ``most``: tasks per machine, 0: no limit.
    """

    cls: int
    count: int
    allowed: Bool | None = None
    points: Float64 | None = None
    most: int = 0


@dataclass(frozen=True, slots=True)
class Wave:
    """``residual``: the derived problem with the room that is left; ``origin``: int64[parts], class of each part."""

    residual: Residual
    origin: Int64

    def in_round(self, proposed: Assignments) -> Assignments:
        """Assignments of parts as assignments of the round's classes."""
        return Assignments(self.origin[proposed.cls], proposed.machine, proposed.count)


def derive(residual: Residual, parts: list[Part]) -> Wave:
    """The problem of a wave; the parts of a class must not have more tasks than are left."""
    problem = residual.problem
    shapes = _ShapeRows(residual)
    counts = np.zeros((len(parts), WAIT_BUCKETS), dtype=np.int64)
    left = residual.remaining.copy()
    shape = np.empty(len(parts), dtype=np.int64)
    pins: dict[int, Int64] = {}
    most: dict[int, int] = {}
    for index, part in enumerate(parts):
        counts[index] = _oldest(left[part.cls], part.count)
        left[part.cls] -= counts[index]
        own_pins = problem.pins.get(part.cls)
        allowed = part.allowed
        if own_pins is not None:
            pins[index] = own_pins if allowed is None else own_pins[allowed[own_pins]]
            allowed = None
        elif allowed is not None and np.count_nonzero(allowed) <= PINNED_UP_TO:
            pins[index] = np.flatnonzero(allowed)
            allowed = None
        shape[index] = shapes.row(int(problem.shape[part.cls]), allowed, part.points)
        if part.most:
            most[index] = part.most
    origin = np.array([part.cls for part in parts], dtype=np.int64)
    base = np.array(shapes.base, dtype=np.int64)
    derived = replace(
        problem,
        counts=counts,
        priority=problem.priority[origin],
        shape=shape,
        requests=problem.requests[base],
        feasible=np.stack(shapes.feasible),
        cost=np.stack(shapes.cost),
        pins=pins,
        most=most,
        joint=tuple(
            JointRows(rows.row_of, rows.amount[base], rows.limit, rows.reason) for rows in problem.joint
        ),
        model_shape=problem.known_as(base),
        rules=None,
    )
    wave = Residual(derived)
    wave.free = residual.free.copy()
    wave.placed = residual.placed.copy()
    wave.joint_left = [room.copy() for room in residual.joint_left]
    wave.ledgers = [ledger.copy() for ledger in residual.ledgers]
    return Wave(wave, origin)


def _oldest(left: Int64, count: int) -> Int64:
    """``count`` tasks from int64[WAIT_BUCKETS], those that have waited longest first."""
    before = np.cumsum(left) - left
    return np.clip(count - before, 0, left)


class _ShapeRows:
    """Rows of a derived problem's shapes; equal ones are kept once. ``base``: the problem's shape of each."""

    def __init__(self, residual: Residual) -> None:
        self._problem = residual.problem
        self._row_of: dict[tuple[int, bytes, bytes], int] = {}
        self.base: list[int] = []
        self.feasible: list[Bool] = []
        self.cost: list[Int32] = []

    def row(self, shape: int, allowed: Bool | None, points: Float64 | None) -> int:
        """Row for tasks of ``shape`` that may use ``allowed`` machines at ``points`` more."""
        key = (
            shape,
            b"" if allowed is None else np.packbits(allowed).tobytes(),
            b"" if points is None else points.tobytes(),
        )
        row = self._row_of.get(key)
        if row is None:
            row = self._row_of[key] = len(self.base)
            feasible, cost = self._problem.feasible[shape], self._problem.cost[shape]
            self.base.append(shape)
            self.feasible.append(feasible if allowed is None else feasible & allowed)
            if points is not None:
                more = np.rint(points * COST_UNITS_PER_POINT).astype(np.int64)
                cost = np.minimum(cost + more, LARGEST_COST).astype(np.int32)
            self.cost.append(cost)
        return row
