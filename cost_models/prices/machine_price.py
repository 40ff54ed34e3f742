"""Keeps expensive machines free: a task costs more on a machine with a higher price.

A machine's price is a number in one of its labels, or what a table says for the label's value: with the label
``node.kubernetes.io/instance-type``, a table gives each type its price. Only the ratio to ``highest`` counts, the
price that is worth 100 points, so prices may be in any currency, and for any period. Machines without a price that
can be read cost ``unknown``.

With ``onlyEmpty``, a machine costs its price only while it has no task: a machine in use is paid for already. Tasks
then gather on dear machines that are in use rather than on cheap ones that are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cost_models.arguments import Arguments, is_number
from cost_models.interface import Assessment, BaseModel, MachineColumns, Promises, Range, ShapeBatch

LABEL = "firmament.io/price"
HIGHEST = 1.0
MOST = 1e9
"""No price counts as more than this many times the highest."""


class MachinePrice(BaseModel):
    """Charges a machine's price for each task, the same for all tasks."""

    name = "machine_price"
    kind = "overlay"
    promises = Promises(per_machine=True)

    def __init__(self, **args: Any) -> None:
        read = Arguments(self.name, args)
        self.label = read.text("label", LABEL)
        self._table = _read_table(read)
        highest = max(self._table.values(), default=0.0) or HIGHEST
        self._highest = read.number("highest", highest)
        if self._highest <= 0:
            raise read.error("highest", self._highest, "a number above 0")
        self._unknown = read.number("unknown", 0.0)
        self._only_empty = read.flag("onlyEmpty", default=False)
        read.finish()
        self.range = Range(best=0.0, worst=self._highest, bounded=False)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the price of each machine: the same row for every shape, as a view (float64[S, M])."""
        prices = np.array([self._find_price(labels) for labels in machines.labels], dtype=np.float64)
        if self._only_empty:
            prices[machines.running > 0] = 0.0
        return Assessment(raw=np.broadcast_to(prices, (shapes.count, machines.count)))

    def _find_price(self, labels: Mapping[str, str]) -> float:
        value = labels.get(self.label)
        if value is None:
            return self._unknown
        price = self._table.get(value)
        if price is None:
            price = _read_price(value)
        return self._unknown if price is None else min(price, MOST * self._highest)


def _read_table(read: Arguments) -> dict[str, float]:
    table = read.mapping("prices")
    for value, price in table.items():
        if not is_number(price) or not math.isfinite(price) or price < 0:
            raise read.error(f"prices[{value}]", price, "a number, 0 or more")
    return {value: float(price) for value, price in table.items()}


def _read_price(value: str) -> float | None:
    """Return a label's value as a price; None if it is no number, or below 0."""
    try:
        price = float(value)
    except ValueError:
        return None
    return price if math.isfinite(price) and price >= 0 else None
