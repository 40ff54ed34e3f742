"""Container images that machines hold already, and what that is worth to a task.

As kube-scheduler's ImageLocality: the sizes of a task's images that a machine has, each scaled by the share of machines
that have it (so that one machine with a rare image does not draw everything), between two thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.model import Image

LEAST = 23 * 2**20
"""Bytes below which images are not worth a thought."""

MOST = 1000 * 2**20
"""Bytes per container from which on a machine gets the full score."""


class ImageIndex:
    """Images over a table of machines. ``rows``: by row, those of the machines that have any."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[Image, ...]] = {}
        self._found: dict[str, tuple[Int64, Float64]] | None = None

    def set(self, row: int, images: tuple[Image, ...]) -> None:
        """Set the images of a row."""
        if self.rows.get(row, ()) != images:
            self.rows.pop(row, None)
            if images:
                self.rows[row] = images
            self._found = None

    def remove(self, last: int, row: int) -> None:
        """Drop ``row`` by moving the ``last`` one into its place."""
        self.set(row, self.rows.get(last, ()))
        self.set(last, ())

    def scores(self, images: Sequence[str], machines: int) -> Float64 | None:
        """float64[``machines``], 0..100: how much of a task's ``images`` each has; None if none has any of them."""
        found = self._by_name()
        known = [found[name] for name in images if name in found]
        if not known:
            return None
        total = np.zeros(machines)
        for rows, sizes in known:
            total[rows] += np.floor(sizes * (len(rows) / machines))
        most = MOST * len(images)
        return np.floor(100.0 * (np.clip(total, LEAST, most) - LEAST) / (most - LEAST))

    def _by_name(self) -> dict[str, tuple[Int64, Float64]]:
        """Machines (rows, ascending) and sizes of every image that some machine holds."""
        if self._found is None:
            gathered: dict[str, tuple[list[int], list[int]]] = {}
            for row in sorted(self.rows):
                for image in self.rows[row]:
                    for name in set(image.names):
                        rows, sizes = gathered.setdefault(name, ([], []))
                        rows.append(row)
                        sizes.append(image.size)
            self._found = {
                name: (np.array(rows, dtype=np.int64), np.array(sizes, dtype=np.float64))
                for name, (rows, sizes) in gathered.items()
            }
        return self._found
