"""Prefers cheap nodes: the price of a node stands in one of its labels."""

from __future__ import annotations

import math

import numpy as np

from cost_models.interface import (
    Assessment,
    BaseModel,
    MachineColumns,
    ModelArgumentError,
    Promises,
    Range,
    ShapeBatch,
)

REASON = "node(s) were too expensive"


class NodePrice(BaseModel):
    """Charges 0 points for a free node, 100 for one that costs ``dearest`` or more; refuses those above ``limit``.

    ``label`` holds the price, as a number in any currency. A node without a readable price counts as ``dearest``.
    """

    name = "node_price"
    kind = "overlay"
    promises = Promises(per_machine=True)

    def __init__(self, label: str = "example.com/price", dearest: float = 1.0, limit: float = 1e12) -> None:
        for argument, value in (("dearest", dearest), ("limit", limit)):
            if type(value) not in (int, float) or not 0 < value < math.inf:
                raise ModelArgumentError(f"{argument} is {value!r}; give a number above 0")
        if not isinstance(label, str) or not label:
            raise ModelArgumentError(f"label is {label!r}; name the label that holds the price")
        self._label, self._limit = label, limit
        self.range = Range(best=0.0, worst=float(dearest))

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the price of every machine, the same for every shape: float64[S, M]."""
        row = np.array([self._price(labels.get(self._label, "")) for labels in machines.labels])
        price = np.tile(row, (shapes.count, 1))
        return Assessment(raw=price, feasible=price <= self._limit, reason=REASON)

    def _price(self, text: str) -> float:
        """Return the price in 0..dearest."""
        try:
            price = float(text)
        except ValueError:
            price = math.nan
        return self.range.worst if math.isnan(price) else min(max(price, 0.0), self.range.worst)
