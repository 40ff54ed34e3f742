"""Prefers cheap nodes: the price of a node stands in one of its labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cost_models.interface import (
    Assessment,
    Float64,
    Int64,
    MachineColumns,
    ModelArgumentError,
    Range,
    ShapeBatch,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cost_models.registry import Kind

REASON = "node(s) were too expensive"


class NodePrice:
    """Charges 0 points on a node that costs nothing, 100 on one that costs ``dearest`` or more.

    ``label`` holds the price, as a number in any currency. A node without a readable price counts as ``dearest``. With
    a ``limit``, dearer nodes are refused.
    """

    name = "node_price"
    kind: ClassVar[Kind] = "overlay"
    record_kinds = ()

    def __init__(
        self, label: str = "example.com/price", dearest: float = 1.0, limit: float | None = None
    ) -> None:
        for argument, value in (("dearest", dearest), ("limit", limit)):
            if value is not None and not (_is_number(value) and 0 < value < math.inf):
                raise ModelArgumentError(f"{argument} is {value!r}; give a number above 0")
        if not isinstance(label, str) or not label:
            raise ModelArgumentError(f"label is {label!r}; name the label that holds the price")
        self._label = label
        self._limit = limit
        self.range = Range(best=0.0, worst=float(dearest))

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the price of every machine, the same for every shape: float64[S, M]."""
        price = np.array([self._price(labels) for labels in machines.labels], dtype=np.float64)
        every_shape = (shapes.count, machines.count)
        if self._limit is None:
            return Assessment(raw=np.broadcast_to(price, every_shape))
        affordable = np.broadcast_to(price <= self._limit, every_shape).copy()
        return Assessment(raw=np.broadcast_to(price, every_shape), feasible=affordable, reason=REASON)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:  # noqa: ARG002 - interface
        """Return 0: a node costs the same however many tasks run on it."""
        return np.zeros(machines.count)

    def _price(self, labels: Mapping[str, str]) -> float:
        """Return the price in 0..dearest."""
        try:
            price = float(labels.get(self._label, ""))
        except ValueError:
            return self.range.worst
        return min(max(price, 0.0), self.range.worst) if math.isfinite(price) else self.range.worst


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
