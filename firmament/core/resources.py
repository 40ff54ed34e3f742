"""Manages resources as columns: which resources have a column, sums of amounts in 64 bits, and shapes' requests.

A sum that is too large stays at a ceiling instead of wrapping around. Resources that no machine offers have no
column.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.model import PODS, TaskClass

Number = TypeVar("Number", np.int64, np.float64, np.bool_)

FIRST_RESOURCES = (PODS, "cpu", "memory", "ephemeral-storage")
"""Columns that always exist, in the order in which a lack of them becomes the root cause."""


LEAST_SURPLUS = 16
"""If fewer columns than this are unused, they are not worth removing."""

NO_COLUMN = -1


class ResourceIndex:
    """Gives a column to each resource that some machine offers, in the order in which they are first offered.

    Requests of tasks create no columns: users choose the names freely, and every column is as long as there are
    machines. If no machine offers a resource any more, its column stays, empty, until ``compact`` is called.
    ``version`` grows when columns are added or removed.
    """

    def __init__(self) -> None:
        self.names: list[str] = list(FIRST_RESOURCES)
        self.version = 0
        self._column = {name: column for column, name in enumerate(self.names)}
        self._machines = [0] * len(self.names)  # By column: how many machines offer the resource.
        self._idle = 0

    def __len__(self) -> int:
        return len(self.names)

    @property
    def has_surplus(self) -> bool:
        """Whether many columns are unused: at least a fourth of all."""
        return self._idle >= max(LEAST_SURPLUS, len(self.names) // 4)

    def add_machine(self, names: Iterable[str]) -> None:
        """Count one more machine that offers each of ``names``.

        New resources get columns, in the order of the names.
        """
        for name in names:
            column = self._column.get(name)
            if column is None:
                column = self._column[name] = len(self.names)
                self.names.append(name)
                self._machines.append(0)
                self._idle += 1
                self.version += 1
            self._idle -= column >= len(FIRST_RESOURCES) and not self._machines[column]
            self._machines[column] += 1

    def remove_machine(self, names: Iterable[str]) -> None:
        """Count one machine less that offers each of ``names``; the machine must have been counted before."""
        for name in names:
            column = self._column[name]
            self._machines[column] -= 1
            self._idle += column >= len(FIRST_RESOURCES) and not self._machines[column]

    def compact(self) -> Int64:
        """Remove the columns of resources that no machine offers; the other columns keep their order.

        Return the former positions of the columns that stay: int64[K]. Callers must reduce arrays over resources to
        the columns that stay.
        """
        kept = [
            column
            for column, machines in enumerate(self._machines)
            if machines or column < len(FIRST_RESOURCES)
        ]
        self.names[:] = [self.names[column] for column in kept]
        self._machines = [self._machines[column] for column in kept]
        self._column = {name: column for column, name in enumerate(self.names)}
        self._idle = 0
        self.version += 1
        return np.array(kept, dtype=np.int64)

    def __contains__(self, name: object) -> bool:
        return name in self._column

    @property
    def known(self) -> KeysView[str]:
        """The names as a set, so that checks for thousands of shapes need no method call each."""
        return self._column.keys()

    def columns(self, names: Iterable[str]) -> list[int]:
        """Return the columns of ``names``; `NO_COLUMN` for names that have none."""
        return [self._column.get(name, NO_COLUMN) for name in names]

    def vector(self, amounts: Mapping[str, int]) -> Int64:
        """Return amounts as int64[K], without those of names that have no column."""
        vector = np.zeros(len(self.names), dtype=np.int64)
        for name, amount in amounts.items():
            column = self._column.get(name)
            if column is not None:
                vector[column] = amount
        return vector


def widen(array: NDArray[Number], rows: int, columns: int) -> NDArray[Number]:
    """Return ``array`` (2-d) enlarged with zeros to at least ``rows`` x ``columns``; itself if it is large enough."""
    if array.shape[0] >= rows and array.shape[1] >= columns:
        return array
    grown_rows = array.shape[0] if array.shape[0] >= rows else max(rows, 2 * array.shape[0], 64)
    grown = np.zeros((grown_rows, max(columns, array.shape[1])), dtype=array.dtype)
    grown[: array.shape[0], : array.shape[1]] = array
    return grown


CEILING = 2**62
"""The largest sum that is shown.

If one amount is added to or subtracted from a sum below the ceiling, the result still fits into 64 bits.
"""


class SaturatingSums:
    """Sums by row and column that never overflow.

    ``cells``: int64[rows, K]; a sum above `CEILING` is shown as `CEILING`. The true sum is remembered: the cell shows
    it again once enough has been subtracted.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.cells: Int64 = np.zeros((rows, columns), dtype=np.int64)
        self._beyond: dict[tuple[int, int], int] = {}

    @property
    def beyond(self) -> Int64:
        """Rows in which some cell shows less than the true sum, ascending."""
        return np.array(sorted({row for row, _ in self._beyond}), dtype=np.int64)

    def add(self, row: int, amounts: Int64, count: int) -> None:
        """Add (``count`` 1) or subtract (-1) amounts, int64[<= K], each from 0 to `MAX_QUANTITY`."""
        cells = self.cells[row, : len(amounts)]
        if self._beyond:
            self._add_exactly(row, 0, amounts, count)
        elif count == 1:
            cells += amounts
            if cells.max(initial=0) > CEILING:
                self._settle()
        else:
            cells -= amounts

    def add_all(self, rows: Int64, amounts: Int64, first: int = 0, count: int = 1) -> None:
        """Add (``count`` 1) or subtract (-1) a row of ``amounts`` (int64[N, <= K]) for each of ``rows`` (int64[N]).

        The amounts are for the columns from ``first`` on.
        """
        large = count > 0 and int(amounts.max(initial=0)) * len(rows) > CEILING // 2
        if self._beyond or large:
            for row, each in zip(rows.tolist(), amounts, strict=True):
                self._add_exactly(row, first, each, count)
            return
        change = np.add if count > 0 else np.subtract
        # Going column by column is several times faster than all columns at once.
        for column in range(amounts.shape[1]):
            change.at(self.cells[:, first + column], rows, amounts[:, column])
        if count > 0 and self.cells[rows].max(initial=0) > CEILING:
            self._settle()

    def subtract(self, row: int, amounts: Int64) -> Int64:
        """Return what a row would show after ``amounts`` (int64[<= K]) are subtracted: int64[K]; nothing changes."""
        left = self.cells[row].copy()
        for column, amount in enumerate(amounts.tolist()):
            left[column] = min(self._beyond.get((row, column), int(left[column])) - amount, CEILING)
        return left

    def clear(self, row: int) -> None:
        """Set the sums of a row to 0."""
        self.cells[row] = 0
        self._beyond = {cell: total for cell, total in self._beyond.items() if cell[0] != row}

    def move(self, source: int, target: int) -> None:
        """Move the sums of row ``source`` to row ``target``, whose sums are replaced; those of ``source`` become 0."""
        self.clear(target)
        self.cells[target] = self.cells[source]
        for (row, column), total in list(self._beyond.items()):
            if row == source:
                self._beyond[target, column] = total
        self.clear(source)

    def fit(self, rows: int, columns: int) -> None:
        """Grow the table to at least this size."""
        self.cells = widen(self.cells, rows, columns)

    def keep_columns(self, kept: Int64) -> None:
        """Keep only some columns; ``kept``: their former positions."""
        self.cells = widen(self.cells, 0, int(kept.max()) + 1).take(kept, axis=1)
        place = {column: index for index, column in enumerate(kept.tolist())}
        self._beyond = {
            (row, place[column]): total for (row, column), total in self._beyond.items() if column in place
        }

    def _add_exactly(self, row: int, first: int, amounts: Int64, count: int) -> None:
        """Add or subtract the amounts of one row as `add_all` does, in unbounded integers."""
        for column, amount in enumerate(amounts.tolist(), first):
            if amount:
                total = self._beyond.pop((row, column), int(self.cells[row, column])) + amount * count
                self.cells[row, column] = min(total, CEILING)
                if total > CEILING:
                    self._beyond[row, column] = total

    def _settle(self) -> None:
        """Lower cells above the ceiling to it, and remember their true sums."""
        for row, column in zip(*np.nonzero(self.cells > CEILING), strict=True):
            self._beyond[int(row), int(column)] = int(self.cells[row, column])
            self.cells[row, column] = CEILING


class ShapeRequests:
    """Requests of tasks by shape: one row per row of the shape table, computed when first needed.

    Resources that no machine offers have no column. When the columns have changed, all rows are computed again.
    """

    def __init__(self, resources: ResourceIndex, shapes: Sequence[TaskClass]) -> None:
        """``shapes``: the table of shapes, which may grow. When the table's rows change, call `forget`."""
        self._resources = resources
        self._shapes = shapes
        self._version = -1
        self._look()

    def get(self, shape: int) -> tuple[Int64, Int64]:
        """Return what tasks of one shape request, and what costs assume in addition: int64[<= K] each, read-only."""
        self._look()
        if shape >= len(self._known) or not self._known[shape]:
            self._learn(np.array([shape]))
        requested, assumed = self._tables
        return requested[shape], assumed[shape]

    def rows(self, shapes: Sequence[int]) -> tuple[Int64, Int64]:
        """Return what tasks of each of ``shapes`` request, and what costs assume in addition: int64[len(shapes), K]."""
        asked = np.array(shapes, dtype=np.int64)
        self._look()
        self._fit()
        if not self._known[asked].all():
            self._learn(asked[~self._known[asked]])
        requested, assumed = self._tables
        return requested[asked], assumed[asked]

    def forget(self) -> None:
        """Forget all rows, because shapes have got other rows."""
        self._known[:] = False

    def _learn(self, shapes: Int64) -> None:
        """Compute the rows of ``shapes`` (int64[N])."""
        self._fit()
        contents = [self._shapes[shape] for shape in shapes.tolist()]
        stated = [content.requests for content in contents], [content.assumed for content in contents]
        for table, by_shape in zip(self._tables, stated, strict=True):
            named = [resource for amounts in by_shape for resource, _ in amounts]
            columns = np.array(self._resources.columns(named), dtype=np.int64)
            table[shapes] = 0
            of_shape = np.repeat(shapes, [len(amounts) for amounts in by_shape])
            asked = np.array([amount for amounts in by_shape for _, amount in amounts], dtype=np.int64)
            offered = columns != NO_COLUMN
            table[of_shape[offered], columns[offered]] = asked[offered]
        self._known[shapes] = True

    def _look(self) -> None:
        """Forget the rows if the columns have changed."""
        if self._version != self._resources.version:
            self._version = self._resources.version
            # What tasks of a shape request, and what costs assume in addition.
            self._tables = [np.zeros((0, len(self._resources)), dtype=np.int64) for _ in range(2)]
            self._known = np.zeros(0, dtype=np.bool_)

    def _fit(self) -> None:
        """Enlarge the tables to the present numbers of shapes and resources."""
        self._tables = [widen(each, len(self._shapes), len(self._resources)) for each in self._tables]
        new = len(self._tables[0]) - len(self._known)
        self._known = np.append(self._known, np.zeros(new, dtype=np.bool_)) if new else self._known
