"""Labels of machines as columns of small integers, one column per key that some selector looks at.

A column is built the first time its key is asked for and kept up to date from then on, so that matching a selector
over ten thousand machines is a few array operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool

ABSENT = 0
"""Code of a machine that lacks the key; values count from 1."""

LONGEST_INTEGER = 19
"""Decimal digits of the largest 64-bit integers."""


class LabelColumn:
    """Codes of one key's values per machine. ``codes``: int32[capacity], valid up to the number of machines."""

    def __init__(self, rows: Sequence[str | None]) -> None:
        self.values: dict[str, int] = {}
        self.codes: NDArray[np.int32] = np.zeros(max(64, len(rows)), dtype=np.int32)
        for row, value in enumerate(rows):
            self.set(row, value)

    def set(self, row: int, value: str | None) -> None:
        """Give ``row`` a value, or none; the column grows as needed."""
        if row >= len(self.codes):
            self.codes = np.concatenate([self.codes, np.zeros(max(row + 1, len(self.codes)), dtype=np.int32)])
        if value is None:
            self.codes[row] = ABSENT
        else:
            self.codes[row] = self.values.setdefault(value, len(self.values) + 1)

    def any_of(self, values: Sequence[str], count: int) -> Bool:
        """bool[count]: machines whose value is one of ``values``."""
        codes = [self.values[value] for value in values if value in self.values]
        if len(codes) == 1:
            return self.codes[:count] == codes[0]
        return np.isin(self.codes[:count], np.array(codes, dtype=np.int32))

    def present(self, count: int) -> Bool:
        """bool[count]: machines that have the key."""
        return self.codes[:count] != ABSENT

    def compared(self, operator: str, bound: int, count: int) -> Bool:
        """bool[count]: machines whose value is an integer greater (Gt) or less (Lt) than ``bound``."""
        matching = np.zeros(len(self.values) + 1, dtype=np.bool_)
        for value, code in self.values.items():
            number = parse_integer(value)
            if number is not None:
                matching[code] = number > bound if operator == "Gt" else number < bound
        return matching[self.codes[:count]]


def parse_integer(text: str) -> int | None:
    """The integer that Go's strconv.ParseInt(text, 10, 64) reads, or None."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0")
    if len(significant) > LONGEST_INTEGER:
        return None  # Python refuses to convert texts of some thousand digits
    number = -int(significant or "0") if text[0] == "-" else int(significant or "0")
    return number if -(2**63) <= number < 2**63 else None


class LabelIndex:
    """Label columns over a table of machines, whose rows it follows."""

    def __init__(self) -> None:
        self._labels: list[Mapping[str, str]] = []
        self._columns: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def rows(self) -> Sequence[Mapping[str, str]]:
        """Labels of each machine as given."""
        return self._labels

    def set(self, row: int, labels: Mapping[str, str]) -> None:
        """Set the labels of a row; ``row`` may be the next new one."""
        if row == len(self._labels):
            self._labels.append(labels)
        else:
            self._labels[row] = labels
        for key, column in self._columns.items():
            column.set(row, labels.get(key))

    def remove(self, row: int) -> None:
        """Drop a row by moving the last one into its place."""
        last = len(self._labels) - 1
        self.set(row, self._labels[last])
        self._labels.pop()

    def column(self, key: str) -> LabelColumn:
        """The column of a key, built if need be."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn([labels.get(key) for labels in self._labels])
        return column
