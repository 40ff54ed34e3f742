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
    """Images over a table of machines, whose rows it follows."""

    def __init__(self) -> None:
        self._rows: list[tuple[Image, ...]] = []
        self._found: dict[str, tuple[Int64, Float64]] | None = None

    def set(self, row: int, images: tuple[Image, ...]) -> None:
        """Set the images of a row; ``row`` may be the next new one."""
        if row == len(self._rows):
            self._rows.append(())
        if self._rows[row] != images:
            self._rows[row] = images
            self._found = None

    def remove(self, row: int) -> None:
        """Drop a row by moving the last one into its place."""
        self.set(row, self._rows[-1])
        self._rows.pop()
        self._found = None

    def scores(self, images: Sequence[str]) -> Float64 | None:
        """float64[M], 0..100: how much of a task's ``images`` each machine has; None if no machine has any of them."""
        found = self._by_name()
        known = [found[name] for name in images if name in found]
        if not known:
            return None
        total = np.zeros(len(self._rows))
        for rows, sizes in known:
            total[rows] += np.floor(sizes * (len(rows) / len(self._rows)))
        most = MOST * len(images)
        return np.floor(100.0 * (np.clip(total, LEAST, most) - LEAST) / (most - LEAST))

    def _by_name(self) -> dict[str, tuple[Int64, Float64]]:
        """Machines (rows, ascending) and sizes of every image that some machine holds."""
        if self._found is None:
            gathered: dict[str, tuple[list[int], list[int]]] = {}
            for row, images in enumerate(self._rows):
                for image in images:
                    for name in set(image.names):
                        rows, sizes = gathered.setdefault(name, ([], []))
                        rows.append(row)
                        sizes.append(image.size)
            self._found = {
                name: (np.array(rows, dtype=np.int64), np.array(sizes, dtype=np.float64))
                for name, (rows, sizes) in gathered.items()
            }
        return self._found
