"""Names of resources and the columns they have in every array over resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.model import PODS

Number = TypeVar("Number", np.int64, np.float64, np.bool_)

FIRST_RESOURCES = (PODS, "cpu", "memory", "ephemeral-storage")
"""Columns that always exist, in the order in which a lack of them is named as the root cause."""


class ResourceIndex:
    """Gives each resource name a column, in order of appearance; columns are never taken back."""

    def __init__(self) -> None:
        self.names: list[str] = list(FIRST_RESOURCES)
        self._column = {name: column for column, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str) -> int:
        """Column of ``name``, which is added if it is new."""
        column = self._column.get(name)
        if column is None:
            column = self._column[name] = len(self.names)
            self.names.append(name)
        return column

    def columns(self, names: Sequence[str]) -> list[int]:
        """Columns of ``names``; new ones are added, in their order."""
        for name in dict.fromkeys(names):
            self.column(name)
        return list(map(self._column.__getitem__, names))

    def vector(self, amounts: Mapping[str, int] | Iterable[tuple[str, int]]) -> Int64:
        """Amounts as int64[K]; new names get columns first."""
        items = list(amounts.items()) if isinstance(amounts, Mapping) else list(amounts)
        columns = [self.column(name) for name, _ in items]
        vector = np.zeros(len(self.names), dtype=np.int64)
        for column, (_, amount) in zip(columns, items, strict=True):
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
