"""Indexes contents of machines that are empty lists for most machines: images, and storage for new volumes.

``rules/image_locality.py`` and ``rules/volumes/storage_capacity.py`` turn these contents into scores and refusals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.model import Image, StorageRoom

Entry = TypeVar("Entry")
Column = TypeVar("Column")


class _Lists(Generic[Entry, Column]):
    """Lists for a table of machines; ``rows``: by row, the lists that are not empty.

    ``changes``: number of changes. ``_columns``: data derived from the lists, by name, computed on first use.
    """

    def __init__(self) -> None:
        self.rows: dict[int, tuple[Entry, ...]] = {}
        self.changes = 0
        self._columns: dict[str, Column] = {}

    def set(self, row: int, entries: tuple[Entry, ...]) -> None:
        """Set the list of a row."""
        former = self.rows.get(row, ())
        if former != entries:
            self.rows.pop(row, None)
            if entries:
                self.rows[row] = entries
            self.changes += 1
            self._replace(row, former, entries)

    def _replace(self, row: int, former: tuple[Entry, ...], entries: tuple[Entry, ...]) -> None:  # noqa: ARG002
        """Update the derived data: this method drops them, and later calls derive them anew."""
        self._columns.clear()

    def remove(self, last: int, row: int) -> None:
        """Drop ``row``, and move the ``last`` row to its place."""
        self.set(row, self.rows.get(last, ()))
        self.set(last, ())


class ImageIndex(_Lists[Image, "tuple[Int64, Float64]"]):
    """Says which machines have which container images, and how large the images are."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, dict[int, int]] = {}
        """Sizes by name and row: nodes pull images one by one, so the sizes of other names stay unchanged."""

    def sum_scaled_sizes(self, images: Sequence[str], machines: int) -> Float64 | None:
        """Return the bytes of those of the ``images`` that each machine has: float64[``machines``].

        Each size is scaled by the share of machines that have the image. Return None if no machine has any of the
        images.
        """
        known = [self._column(name) for name in images if name in self._sizes]
        if not known:
            return None
        total = np.zeros(machines)
        for rows, sizes in known:
            total[rows] += np.floor(sizes * (len(rows) / machines))
        return total

    def _column(self, name: str) -> tuple[Int64, Float64]:
        """Return the machines (rows, ascending) that have an image, and its size on each."""
        column = self._columns.get(name)
        if column is None:
            held = sorted(self._sizes[name].items())
            rows = np.array([row for row, _ in held], dtype=np.int64)
            column = self._columns[name] = rows, np.array([size for _, size in held], dtype=np.float64)
        return column

    def _replace(self, row: int, former: tuple[Image, ...], entries: tuple[Image, ...]) -> None:
        before, after = _by_name(former), _by_name(entries)
        for name in before.keys() - after.keys():
            del self._sizes[name][row]
            if not self._sizes[name]:
                del self._sizes[name]
            self._columns.pop(name, None)
        for name, size in after.items():
            if before.get(name) != size:
                self._sizes.setdefault(name, {})[row] = size
                self._columns.pop(name, None)


def _by_name(images: Sequence[Image]) -> dict[str, int]:
    """Return the sizes of images by each of their names."""
    return {name: image.size for image in images for name in image.names}


class FreeStorage(NamedTuple):
    """Machines (rows, ascending) with free storage of one storage class, and the bytes on each."""

    rows: Int64
    largest: Int64
    capacity: Int64


class StorageIndex(_Lists[StorageRoom, FreeStorage]):
    """Says how much storage for new volumes each machine reaches, by storage class."""

    def get(self, storage_class: str) -> FreeStorage | None:
        """Return the machines that reach free storage of a storage class; None if there are none."""
        return self._by_class().get(storage_class)

    def _by_class(self) -> dict[str, FreeStorage]:
        if not self._columns and self.rows:
            gathered: dict[str, list[tuple[int, int, int]]] = {}
            for row in sorted(self.rows):
                for room in self.rows[row]:
                    gathered.setdefault(room.storage_class, []).append((row, room.largest, room.capacity))
            self._columns = {
                name: FreeStorage(*np.array(found, dtype=np.int64).T) for name, found in gathered.items()
            }
        return self._columns
