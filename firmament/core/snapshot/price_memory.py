"""Remembers the prices of shapes in the last rounds, from which the next round's price estimate begins.

The prices decide how quickly a round finds its optimum, and so which of several equally cheap optima. Prices depend
on the events and rounds so far; a scheduler that starts anew knows none, and learns them in a round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.snapshot.snapshot import Snapshot

MOST_ROUNDS = 16


class PriceMemory:
    """The prices of shapes, by the shapes' rows in the cluster's class table.

    A price without a new value is kept for ``most_rounds`` rounds that find prices, and moves with the other prices
    meanwhile. ``rounds``: number of rounds that have found prices.
    """

    def __init__(self, most_rounds: int = MOST_ROUNDS) -> None:
        self._most_rounds = most_rounds
        self._known = DualPrices.none()
        # The value of ``rounds`` at each price's last update.
        self._found: Int64 = np.empty(0, dtype=np.int64)
        self.rounds = 0

    def __len__(self) -> int:
        return len(self._known)

    def recall(self, shapes: Sequence[int]) -> DualPrices | None:
        """Return the known prices of a round's shapes (rows); None if there are none."""
        price = self._known.get(np.array(shapes, dtype=np.int64))
        known = np.flatnonzero(~np.isnan(price))
        return DualPrices(known, price[known]) if len(known) else None

    def learn(self, snapshot: Snapshot, found: DualPrices) -> None:
        """Store the prices that a round ``found``, by the shapes of ``snapshot``."""
        shapes = np.array(snapshot.assessed.shapes, dtype=np.int64)
        self.take_over(DualPrices.from_shapes(shapes[found.shape], found.price))

    def renumber(self, new_row: Int64) -> None:
        """Move shapes to new rows in the same order: ``new_row[old]``, int64[S], -1 for removed shapes."""
        rows = new_row[self._known.shape]
        self._known = DualPrices(rows[rows >= 0], self._known.price[rows >= 0])
        self._found = self._found[rows >= 0]

    def take_over(self, new: DualPrices) -> None:
        """Add ``new`` prices; prices without a new value move by the mean change of the others."""
        self.rounds += 1
        moved = new.price - self._known.get(new.shape)
        moved = moved[~np.isnan(moved)]
        stays = ~np.isin(self._known.shape, new.shape)
        stays &= self._found >= self.rounds - self._most_rounds
        if not len(moved):
            stays[:] = False  # Without a common shape, the general change of prices is unknown.
        shape = np.concatenate([self._known.shape[stays], new.shape])
        price = np.concatenate(
            [self._known.price[stays] + (moved.mean() if len(moved) else 0), new.price], dtype=np.float32
        )
        found = np.concatenate([self._found[stays], np.full(len(new), self.rounds)])
        order = np.argsort(shape)
        self._known, self._found = DualPrices(shape[order], price[order]), found[order]
