"""Stores labels of machines as columns of small integers, one column for each key that some selector uses.

A column is built when its key is first used, and updated from then on, so matching a selector over ten thousand
machines takes a few array operations. The column is dropped with the last machine that has the key, and numbers of
values that no machine has any more are reused. The memory used therefore follows the labels that machines have now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64

Value = TypeVar("Value", bound=Hashable)

ABSENT = 0
"""Code of a machine that lacks the key; the codes of values begin at 1."""

NAME_FIELD = "metadata.name"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
"""Kubernetes' names of a label and of a field."""

LONGEST_INTEGER = 19
"""Number of decimal digits of the largest 64-bit integer."""


class Codes(Generic[Value]):
    """Numbers the values that rows have, from 1 on; `ABSENT` stands for rows without a value (``nothing``).

    When no row has a value any more, the value's number is reused. ``values``: numbers by value. ``by_code``: values
    by number. ``counts``: by number, how many rows have the value. ``version`` grows whenever the set of values
    changes.
    """

    def __init__(self, nothing: Value) -> None:
        self.values: dict[Value, int] = {}
        self.by_code: list[Value] = [nothing]
        self.counts: list[int] = [0]
        self.version = 0
        self._free: list[int] = []

    def __len__(self) -> int:
        """Return a number above all codes in use."""
        return len(self.by_code)

    def join(self, value: Value, count: int = 1) -> int:
        """Record that ``count`` more rows have a value; return its number."""
        if value == self.by_code[ABSENT]:
            return ABSENT
        code = self.values.get(value)
        if code is None:
            if self._free:
                code = self._free.pop()
                self.by_code[code] = value
            else:
                code = len(self.by_code)
                self.by_code.append(value)
                self.counts.append(0)
            self.values[value] = code
            self.version += 1
        self.counts[code] += count
        return code

    def leave(self, code: int) -> None:
        """Record that one row less has the value with this number; drop the value if no row is left."""
        if not code:
            return
        self.counts[code] -= 1
        if not self.counts[code]:
            del self.values[self.by_code[code]]
            self.by_code[code] = self.by_code[ABSENT]
            self._free.append(code)
            self.version += 1


class CodedColumn(Codes[Value]):
    """The values of machines: ``codes``: int32[capacity], valid up to the number of machines."""

    def __init__(self, nothing: Value) -> None:
        super().__init__(nothing)
        self.codes: NDArray[np.int32] = np.zeros(64, dtype=np.int32)

    def set(self, row: int, value: Value) -> None:
        """Give ``row`` a value, or nothing; the column grows as needed."""
        if row >= len(self.codes):
            self.fit(row + 1)
        former = int(self.codes[row])
        self.codes[row] = self.join(value)  # The new value is added first, as it may equal the former one.
        self.leave(former)

    def fit(self, rows: int) -> None:
        """Enlarge the column to ``rows`` rows; rows that were never set have no value."""
        if rows > len(self.codes):
            more = np.zeros(max(rows, 2 * len(self.codes)) - len(self.codes), dtype=np.int32)
            self.codes = np.concatenate([self.codes, more])


class LabelColumn(CodedColumn[str | None]):
    """The values of one label key."""

    def __init__(self, rows: Sequence[str | None]) -> None:
        super().__init__(None)
        found = Counter(value for value in rows if value is not None)
        self.by_code += found
        self.counts += found.values()
        self.values = {value: code for code, value in enumerate(found, 1)}
        self.fit(len(rows))
        self.codes[: len(rows)] = [ABSENT if value is None else self.values[value] for value in rows]
        #: The version of the values for which ``read_integers`` computed its answer, and the answer.
        self._numbers: tuple[int, Int64, Bool] | None = None

    def any_of(self, values: Sequence[str], count: int) -> Bool:
        """Return the machines that have one of ``values``: bool[count]."""
        codes = [self.values[value] for value in values if value in self.values]
        if len(codes) == 1:
            return self.codes[:count] == codes[0]
        wanted = np.zeros(len(self), dtype=np.bool_)
        wanted[codes] = True
        return wanted[self.codes[:count]]

    def present(self, count: int) -> Bool:
        """Return which machines have the key: bool[count]."""
        return self.codes[:count] != ABSENT

    def read_integers(self) -> tuple[Int64, Bool]:
        """Return the integer that each code stands for, and whether it stands for an integer at all."""
        if self._numbers is None or self._numbers[0] != self.version:
            parsed = [parse_integer(value or "") for value in self.by_code]
            numbers = np.array([number or 0 for number in parsed], dtype=np.int64)
            known = np.array([number is not None for number in parsed], dtype=np.bool_)
            self._numbers = self.version, numbers, known
        return self._numbers[1:]


def parse_integer(text: str) -> int | None:
    """Return the integer that Go's strconv.ParseInt(text, 10, 64) reads; None if it reads none."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0")
    if len(significant) > LONGEST_INTEGER:
        return None  # Python refuses to convert texts of some thousand digits.
    number = -int(significant or "0") if text[0] == "-" else int(significant or "0")
    return number if -(2**63) <= number < 2**63 else None


class LabelIndex:
    """Label columns for a table of machines, with the same rows."""

    def __init__(self) -> None:
        self._labels: list[Mapping[str, str]] = []
        self._columns: dict[str, LabelColumn] = {}
        self._machines: Counter[str] = Counter()  # By label key: how many machines have the key.
        self._expected: frozenset[str] = frozenset()
        self._nowhere = LabelColumn([])

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def rows(self) -> Sequence[Mapping[str, str]]:
        """The labels of each machine as the driver states them."""
        return self._labels

    def expect(self, keys: Collection[str]) -> None:
        """Announce keys that selectors will use.

        Columns of the expected keys are then built together with the rows, and not in the first round.
        """
        self._expected = frozenset(keys)

    def set(self, row: int, labels: Mapping[str, str]) -> None:
        """Set the labels of a machine (row); ``row`` may be the next new one."""
        for key in self._expected:
            if key in labels and key not in self._columns:
                self._columns[key] = LabelColumn([known.get(key) for known in self._labels])
        former: Mapping[str, str] = {}
        if row == len(self._labels):
            self._labels.append(labels)
        else:
            former = self._labels[row]
            self._labels[row] = labels
        for key, column in self._columns.items():
            column.set(row, labels.get(key))
        self._machines.update(labels.keys())
        self._leave(former)

    def remove(self, row: int) -> None:
        """Drop a row, and move the last row to its place."""
        last = len(self._labels) - 1
        self.set(row, self._labels[last])
        self._leave(self._labels.pop())
        for column in self._columns.values():
            column.set(last, None)

    def column(self, key: str) -> LabelColumn:
        """Return the column of a key, which is built if needed.

        One empty column serves all keys that no machine has.
        """
        column = self._columns.get(key)
        if column is not None:
            return column
        if key not in self._machines:
            if len(self._nowhere.codes) < len(self._labels):
                self._nowhere = LabelColumn([None] * 2 * len(self._labels))
            return self._nowhere
        column = self._columns[key] = LabelColumn([labels.get(key) for labels in self._labels])
        return column

    def _leave(self, labels: Mapping[str, str]) -> None:
        """Subtract a machine's ``labels`` from the counts."""
        for key in labels:
            self._machines[key] -= 1
            if not self._machines[key]:
                del self._machines[key]
                self._columns.pop(key, None)
