"""Names of resources and the columns they have in every array over resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.model import PODS

Number = TypeVar("Number", np.int64, np.float64, np.bool_)

FIRST_RESOURCES = (PODS, "cpu", "memory", "ephemeral-storage")
"""Columns that always exist, in the order in which a lack of them is named as the root cause."""


LEAST_SURPLUS = 16
"""Columns that no machine has any use for before it is worth taking them back."""

NO_COLUMN = -1


class ResourceIndex:
    """Gives a column to each resource that some machine offers, in the order in which they came.

    What tasks ask for makes no column: names are free to choose, and every column is as long as there are machines.
    The column of a resource that no machine offers any more is still there, empty, until ``compact`` is called.
    ``version`` grows when names get columns, or lose them.
    """

    def __init__(self) -> None:
        self.names: list[str] = list(FIRST_RESOURCES)
        self.version = 0
        self._column = {name: column for column, name in enumerate(self.names)}
        self._machines = [0] * len(self.names)  # by column: how many offer it
        self._idle = 0

    def __len__(self) -> int:
        return len(self.names)

    @property
    def has_surplus(self) -> bool:
        """Whether many columns are of no use: at least a fourth of those that could go."""
        return self._idle >= max(LEAST_SURPLUS, len(self.names) // 4)

    def offer(self, names: Iterable[str]) -> None:
        """One more machine offers each of ``names``; new ones get columns, in their order."""
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

    def withdraw(self, names: Iterable[str]) -> None:
        """One machine less offers each of ``names``, which it has offered before."""
        for name in names:
            column = self._column[name]
            self._machines[column] -= 1
            self._idle += column >= len(FIRST_RESOURCES) and not self._machines[column]

    def compact(self) -> Int64:
        """Take back the columns of resources that no machine offers; the others keep their order.

        Returns where those that stay have been: int64[K]. Whoever has arrays over resources has to take these alone.
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

    def columns(self, names: Iterable[str]) -> list[int]:
        """Columns of ``names``, `NO_COLUMN` for those that have none."""
        return [self._column.get(name, NO_COLUMN) for name in names]

    def vector(self, amounts: Mapping[str, int]) -> Int64:
        """Amounts as int64[K], of the names that have columns."""
        vector = np.zeros(len(self.names), dtype=np.int64)
        for name, amount in amounts.items():
            column = self._column.get(name)
            if column is not None:
                vector[column] = amount
        return vector


def widened(array: NDArray[Number], rows: int, columns: int) -> NDArray[Number]:
    """``array`` (2-d) with at least ``rows`` x ``columns``, new cells 0; itself if it is large enough."""
    if array.shape[0] >= rows and array.shape[1] >= columns:
        return array
    grown_rows = array.shape[0] if array.shape[0] >= rows else max(rows, 2 * array.shape[0], 64)
    grown = np.zeros((grown_rows, max(columns, array.shape[1])), dtype=array.dtype)
    grown[: array.shape[0], : array.shape[1]] = array
    return grown
