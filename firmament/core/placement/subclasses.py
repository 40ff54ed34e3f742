"""Derives the problem of a wave: divides classes into parts that may only use some machines, at present costs.

Rules between tasks decide which machines a class may use now. If a domain takes a limited number of tasks, the rules
also decide how many tasks go to each domain. The parts become the classes of a problem derived from the round's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.problem import COST_UNITS_PER_POINT, WAIT_BUCKETS, Assignments
from firmament.core.flow.residual import Residual
from firmament.core.ranks import count_up
from firmament.solvers.base import Int32

LARGEST_COST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ClassPart:
    """``count`` tasks of class ``cls`` that may use the machines in ``allowed`` (bool[M]; None: those of the class).

    ``points``: float64[M], added to the class's cost, None if nothing is added; ``most``: most tasks per machine, 0 for
    no limit.
    """

    cls: int
    count: int
    allowed: Bool | None = None
    points: Float64 | None = None
    most: int = 0


@dataclass(frozen=True, slots=True)
class Wave:
    """A derived problem with the remaining capacity (``residual``); ``bundles``: the parts in each of its classes."""

    residual: Residual
    bundles: list[list[ClassPart]]

    def stands_for(self) -> list[list[int]]:
        """Return, for each class of the derived problem, the round's classes whose tasks it contains."""
        return [sorted({part.cls for part in bundle}) for bundle in self.bundles]

    def in_round(self, proposed: Assignments) -> Assignments:
        """Return assignments of the derived problem's classes as assignments of the round's classes.

        If a derived class consists of several parts, its assignments become single tasks. The parts of a derived class
        get tasks in turn, machine by machine, so that no part gets more of a machine than it may have.
        """
        whole = np.array([len(bundle) == 1 for bundle in self.bundles], dtype=np.bool_)[proposed.cls]
        origin = np.array([bundle[0].cls for bundle in self.bundles], dtype=np.int64)
        found = [replace(proposed, cls=origin[proposed.cls]).select(whole)]
        shared = proposed.select(~whole)
        for number in np.unique(shared.cls).tolist():
            entries = shared.select(shared.cls == number)
            machines = np.sort(np.repeat(entries.machine, entries.count))
            turns = _turns(self.bundles[number])[: len(machines)]
            found.append(Assignments(turns, machines, np.ones(len(machines), dtype=np.int64)))
        return Assignments.join(found)


def _turns(parts: list[ClassPart]) -> Int64:
    """Return the class of each task of several parts: first one task of each part, then a second one, and so on."""
    counts = np.array([part.count for part in parts], dtype=np.int64)
    part = np.repeat(np.arange(len(parts)), counts)
    classes = np.array([part.cls for part in parts], dtype=np.int64)
    return classes[part[np.lexsort((part, count_up(counts)))]]


def derive(residual: Residual, parts: list[ClassPart], pinned_up_to: int, *, dealt: bool = False) -> Wave:
    """Return the problem of a wave; the parts of a class must not have more tasks than wait.

    ``dealt``: whether quota was set apart for all parts; the derived problem then has no quotas. A part that may use at
    most ``pinned_up_to`` machines is pinned to them, so that it needs no dense rows of its own. Equal parts, such as
    those of many small applications, become one class of the problem.
    """
    problem = residual.problem
    masks = _Masks(pinned_up_to)
    shapes = _ShapeRows(residual, masks)
    left = residual.remaining.copy()
    bundles: dict[tuple[int, int, bytes | None, int], _Bundle] = {}
    for part in parts:
        pins, allowed = masks.confine(problem.pins.get(part.cls), part.allowed)
        row = shapes.find_or_add(int(problem.shape[part.cls]), allowed, part.points)
        mark = (row, int(problem.priority[part.cls]), None if pins is None else pins.tobytes(), part.most)
        bundle = bundles.setdefault(mark, _Bundle(row, pins, []))
        bundle.parts.append(part)
        taken = _oldest(left[part.cls], part.count)
        left[part.cls] -= taken
        bundle.counts += taken
    found = list(bundles.values())
    base = np.array(shapes.base, dtype=np.int64)
    shape = np.array([bundle.row for bundle in found], dtype=np.int64)
    if shapes.are_all_as_before():
        # With thousands of queues there are thousands of shapes, and copying their rows is slow.
        base, shape = np.arange(len(problem.requests)), base[shape]
    derived = problem.derive(
        counts=np.stack([bundle.counts for bundle in found]),
        priority=problem.priority[[bundle.parts[0].cls for bundle in found]],
        shape=shape,
        requests=problem.requests[base],
        feasible=shapes.list_feasible(),
        cost=shapes.list_costs(),
        pins={index: bundle.pins for index, bundle in enumerate(found) if bundle.pins is not None},
        most={
            index: bundle.parts[0].most * len(bundle.parts)
            for index, bundle in enumerate(found)
            if bundle.parts[0].most
        },
        joint=tuple(replace(rows, amount=rows.amount[base], returned=None) for rows in problem.joint),
        quotas=None if problem.quotas is None or dealt else problem.quotas.part(base),
        model_shape=problem.map_to_ledgers(base),
    )
    wave = residual.from_problem(derived)
    wave.remaining = derived.counts.copy()
    return Wave(wave, [bundle.parts for bundle in found])


@dataclass(slots=True)
class _Bundle:
    """Parts that share one row of shape arrays and the same pins (None: no pins), and the sum of their tasks."""

    row: int
    pins: Int64 | None
    parts: list[ClassPart]
    counts: Int64 = field(default_factory=lambda: np.zeros(WAIT_BUCKETS, dtype=np.int64))


class _Masks:
    """The machines that parts may use, as pins or as packed bits; a mask that several parts share is converted once."""

    def __init__(self, pinned_up_to: int) -> None:
        self._pinned_up_to = pinned_up_to
        self._seen: dict[int, tuple[Bool, Int64 | None, bytes]] = {}

    def confine(self, pins: Int64 | None, allowed: Bool | None) -> tuple[Int64 | None, Bool | None]:
        """Return a part's pins if they are few, otherwise the mask of its machines; None for no limit.

        ``pins``: the pins of the part's class.
        """
        if pins is not None:
            return (pins if allowed is None else pins[allowed[pins]]), None
        if allowed is None:
            return None, None
        few = self._look(allowed)[1]
        return (None, allowed) if few is None else (few, None)

    def bits(self, allowed: Bool) -> bytes:
        """Return the bits of a mask, packed into bytes."""
        return self._look(allowed)[2]

    def _look(self, allowed: Bool) -> tuple[Bool, Int64 | None, bytes]:
        seen = self._seen.get(id(allowed))
        if seen is None:
            few = np.count_nonzero(allowed) <= self._pinned_up_to
            # The mask is kept so that Python does not reuse its id for another mask.
            seen = allowed, np.flatnonzero(allowed) if few else None, np.packbits(allowed).tobytes()
            self._seen[id(allowed)] = seen
        return seen


def _oldest(left: Int64, count: int) -> Int64:
    """Return how many of ``count`` tasks come from each bucket of ``left``, longest waiting first."""
    taken = []
    for (
        tasks
    ) in left.tolist():  # few buckets, and there may be tens of thousands of classes: faster than arrays
        taken.append(min(tasks, count))
        count -= taken[-1]
    return np.array(taken, dtype=np.int64)


class _ShapeRows:
    """Rows of a derived problem's shape arrays; equal rows are stored once. ``base``: each row's original shape."""

    def __init__(self, residual: Residual, masks: _Masks) -> None:
        self._problem = residual.problem
        self._masks = masks
        self._row_of: dict[tuple[int, bytes, bytes], int] = {}
        self.base: list[int] = []
        self._feasible: dict[int, Bool] = {}  # machines of rows that differ from their original shape
        self._cost: dict[int, Int32] = {}

    def find_or_add(self, shape: int, allowed: Bool | None, points: Float64 | None) -> int:
        """Return the row for tasks of ``shape`` that may use ``allowed`` machines and cost ``points`` more.

        If no row has these machines and costs, one is added.
        """
        key = (
            shape,
            b"" if allowed is None else self._masks.bits(allowed),
            b"" if points is None else points.tobytes(),
        )
        row = self._row_of.get(key)
        if row is None:
            row = self._row_of[key] = len(self.base)
            self.base.append(shape)
            if allowed is not None:
                self._feasible[row] = self._problem.feasible[shape] & allowed
            if points is not None:
                more = np.rint(points * COST_UNITS_PER_POINT).astype(np.int64)
                cost = np.minimum(self._problem.cost[shape] + more, LARGEST_COST)
                self._cost[row] = cost.astype(np.int32)
        return row

    def are_all_as_before(self) -> bool:
        """Return whether there is one row for each shape of the original problem, with its machines and costs."""
        return len(self.base) == len(self._problem.requests) and not (self._feasible or self._cost)

    def list_feasible(self) -> Bool:
        """Return which machines each row may use: bool[R, M]."""
        if self.are_all_as_before():
            return self._problem.feasible
        found: Bool = self._problem.feasible[self.base]
        for row, feasible in self._feasible.items():
            found[row] = feasible
        return found

    def list_costs(self) -> Int32:
        """Return the costs of each row: int32[R, M]."""
        if self.are_all_as_before():
            return self._problem.cost
        found: Int32 = self._problem.cost[self.base]
        for row, cost in self._cost.items():
            found[row] = cost
        return found
