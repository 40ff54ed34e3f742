"""Indexes contents of machines that are empty lists for most machines: images, and storage for new volumes.

As in kube-scheduler's ImageLocality, a machine's score is the sum of the sizes of a task's images that it has,
between two thresholds. Each size is scaled by the share of machines that have the image, so that one machine with a
rare image does not attract all tasks.

As in kube-scheduler's VolumeBinding, a machine is suitable if storage that it reaches can hold a volume as large as
the largest needed one (`hasEnoughCapacity`). If capacities are stated for scoring, each storage class of a task gets
the share that stays unused, 0 to 100. A machine's score is the mean of the task's shares (`StorageCapacityScoring`,
default shape).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.model import Image, NewStorage, StorageRoom

Entry = TypeVar("Entry")
Column = TypeVar("Column")

MIN_IMAGE_BYTES = 23 * 2**20
"""If a machine's images have fewer bytes than this, it gets no score."""

MAX_CONTAINER_IMAGE_BYTES = 1000 * 2**20
"""If a machine's images have at least this many bytes per container, it gets the full score."""


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
        """Update the derived data: this method drops them, so that they are derived anew."""
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

    def scores(self, images: Sequence[str], machines: int) -> Float64 | None:
        """Return a score, 0 to 100, by the task's ``images`` that each machine has: float64[``machines``].

        Return None if no machine has any of the images.
        """
        known = [self._column(name) for name in images if name in self._sizes]
        if not known:
            return None
        total = np.zeros(machines)
        for rows, sizes in known:
            total[rows] += np.floor(sizes * (len(rows) / machines))
        least, most = MIN_IMAGE_BYTES, MAX_CONTAINER_IMAGE_BYTES * len(images)
        return np.floor(100.0 * (np.clip(total, least, most) - least) / (most - least))

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


class _Column(NamedTuple):
    """Machines (rows, ascending) with free storage of one storage class, and the bytes on each."""

    rows: Int64
    largest: Int64
    capacity: Int64


class StorageIndex(_Lists[StorageRoom, _Column]):
    """Says how much storage for new volumes each machine reaches, by storage class."""

    def find_refused(self, wanted: Sequence[NewStorage], machines: int) -> Bool:
        """Return bool[``machines``]: those without storage for the largest new volume of some wanted storage class."""
        enough = np.ones(machines, dtype=np.bool_)
        for each in wanted:
            room = np.zeros(machines, dtype=np.bool_)
            column = self._by_class().get(each.storage_class)
            if column is not None:
                room[column.rows[column.largest >= each.largest]] = True
            enough &= room
        return ~enough

    def scores(self, wanted: Sequence[NewStorage], machines: int) -> Float64 | None:
        """Return what share of the wanted storage classes' capacity stays free on each machine, in percent.

        The result is float64[``machines``]. The score is that of kube-scheduler's StorageCapacityScoring; None if no
        capacity is known.
        """
        score = np.zeros(machines)
        classes = np.zeros(machines)
        for each in wanted:
            column = self._by_class().get(each.storage_class)
            if column is None:
                continue
            scored = column.capacity > 0
            rows, capacity = column.rows[scored], column.capacity[scored]
            used = np.minimum(100, 100.0 * each.total // capacity)
            score[rows] += 100 - used
            classes[rows] += 1
        if not classes.any():
            return None
        return np.rint(score / np.maximum(classes, 1))

    def _by_class(self) -> dict[str, _Column]:
        if not self._columns and self.rows:
            gathered: dict[str, list[tuple[int, int, int]]] = {}
            for row in sorted(self.rows):
                for room in self.rows[row]:
                    gathered.setdefault(room.storage_class, []).append((row, room.largest, room.capacity))
            self._columns = {
                name: _Column(*np.array(found, dtype=np.int64).T) for name, found in gathered.items()
            }
        return self._columns
