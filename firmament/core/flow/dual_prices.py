"""What tasks of some shapes were worth when a round ended: a start for the expected prices of the next one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64


@dataclass(frozen=True, slots=True)
class DualPrices:
    """Prices of shapes in units: ``price``: float32[K], of the shapes numbered ``shape``: int64[K], ascending.

    They count relative to each other; their common level is found anew wherever they are used.
    """

    shape: Int64
    price: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.shape)

    @classmethod
    def of(cls, shapes: Int64, price: NDArray[np.float32]) -> DualPrices:
        """Prices of ``shapes`` (int64[A], in any order); of a shape that occurs twice the first counts."""
        distinct, first = np.unique(shapes, return_index=True)
        return cls(distinct, price[first])

    @classmethod
    def none(cls) -> DualPrices:
        """No price of any shape."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))

    def at(self, shapes: Int64) -> NDArray[np.float32]:
        """float32[A]: the prices of ``shapes``, NaN for those that have none."""
        found = np.full(len(shapes), np.nan, dtype=np.float32)
        if len(self.shape):
            place = np.minimum(np.searchsorted(self.shape, shapes), len(self.shape) - 1)
            known = self.shape[place] == shapes
            found[known] = self.price[place[known]]
        return found
