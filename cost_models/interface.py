"""What a cost model is given and what it answers.

A model looks at a batch of *shapes* (tasks whose requests and selectors are alike) and at columns of *machines*, and
answers with an `Assessment`: a filter, the native figure of placing one task of a shape on a machine, how that figure
grows as a machine fills, and joint rows for whatever several tasks share. The scheduler maps native figures to points
(0 best, 100 worst) through the model's declared `Range`, multiplies by the configured weight and builds the network.

Models import all of it from here. It depends on numpy alone, so that a model can be written and tested without the
scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Bool, Float64, Int32, Int64
from cost_models.api.assessment import (
    Assessment,
    ByTask,
    Heights,
    JointRows,
    Ledger,
    Opening,
    Returned,
    SparseArcs,
)
from cost_models.api.columns import (
    Arrivals,
    Assigned,
    ContainerRow,
    Kinds,
    Load,
    MachineColumns,
    Residents,
    ShapeBatch,
    ShapeRow,
    Windows,
)

__all__ = [
    "Arrivals",
    "Assessment",
    "Assigned",
    "Bool",
    "ByTask",
    "ContainerRow",
    "CostModel",
    "Float64",
    "Heights",
    "Int32",
    "Int64",
    "JointRows",
    "Kinds",
    "Ledger",
    "Load",
    "MachineColumns",
    "ModelArgumentError",
    "Opening",
    "Range",
    "Residents",
    "Returned",
    "ShapeBatch",
    "ShapeRow",
    "SparseArcs",
    "Windows",
    "label_keys",
    "uses_arrivals",
    "uses_load",
    "uses_namespaces",
    "uses_residents",
    "uses_unseen",
]


class ModelArgumentError(ValueError):
    """Bad ``args`` in the configuration: the message names the argument, what is wrong with it and what is allowed."""


@dataclass(frozen=True, slots=True)
class Range:
    """The span of a model's native figure: ``best`` maps to 0 points, ``worst`` to 100.

    ``best`` may lie above ``worst`` (scores). Figures outside are clipped if ``bounded``; a figure that has no upper
    end (such as a network cost) declares ``bounded=False`` and may exceed 100 points.
    """

    best: float
    worst: float
    bounded: bool = True

    def points(self, raw: NDArray[Any], out: Float64 | None = None) -> Float64:
        """Map native figures to points, elementwise; ``out``, of the same shape, takes the result if given."""
        points = np.subtract(raw, self.best, out=out, dtype=np.float64)
        points = np.multiply(points, 100.0 / (self.worst - self.best), out=out)
        points = np.maximum(points, 0.0, out=out)
        return np.minimum(points, 100.0, out=out) if self.bounded else points

    def points_per_unit(self) -> float:
        """Points that one unit of the native figure is worth, as a positive number."""
        return abs(100.0 / (self.worst - self.best))


class CostModel(Protocol):
    """A scheduling policy or overlay.

    A model is pure: equal inputs give equal answers, inputs are never written to, and it keeps no state between
    rounds (history reaches it as records and samples). ``range`` declares the span of ``raw``. A model that looks at
    the tasks on the machines has a further attribute ``uses_residents = True``: they are counted only on request. One
    that looks at use in detail, or at single tasks on the machines, has ``uses_load = True``; one that adds requests to
    measured use has ``uses_unseen = True``. One whose answer about a machine depends on that machine alone says so by
    ``per_machine = True`` and is asked less; `per_machine` says what that promises.
    """

    name: str
    range: Range
    record_kinds: Sequence[str]

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Judge every machine for every shape."""
        ...

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return by how much ``raw`` of a task with ``request`` (int64[K]) grows per such task already placed on a
        machine in this round: float64[M], >= 0. Zero means indifference to crowding.
        """
        ...


def label_keys(model: CostModel) -> frozenset[str]:
    """Labels of tasks that a model looks at: its attribute ``label_keys``, none if it has none."""
    return frozenset(getattr(model, "label_keys", ()))


def uses_namespaces(model: CostModel) -> bool:
    """Whether a model looks at the namespace of tasks."""
    return bool(getattr(model, "uses_namespaces", False))


def uses_arrivals(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.arrivals``."""
    return bool(getattr(model, "uses_arrivals", False))


def uses_residents(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.residents``."""
    return bool(getattr(model, "uses_residents", False))


def uses_load(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.load``."""
    return bool(getattr(model, "uses_load", False))


def uses_unseen(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.unseen``."""
    return bool(getattr(model, "uses_unseen", False))
