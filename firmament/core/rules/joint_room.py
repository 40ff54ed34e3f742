"""What is left of limits that machines' tasks share: joint rows, as tasks come and go."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Int64, JointRows


@dataclass(frozen=True, slots=True)
class JointRoom:
    """A block of joint rows, and what is ``left`` of each: int64[R], written to as tasks are booked."""

    rows: JointRows
    left: Int64

    @classmethod
    def of(cls, rows: JointRows) -> JointRoom:
        """All of it."""
        return cls(rows, rows.limit.copy())

    def copy(self) -> JointRoom:
        """An independent copy."""
        return JointRoom(self.rows, self.left.copy())

    def part(self, shapes: Int64, machines: Int64) -> JointRoom:
        """A copy for some shapes and machines alone, which count anew."""
        rows = replace(self.rows, row_of=self.rows.row_of[machines], amount=self.rows.amount[shapes])
        return JointRoom(rows, self.left.copy())

    def as_limit(self) -> JointRows:
        """The rows with what is left of them as their limit; it is known of none of it whether it comes back."""
        return replace(self.rows, limit=self.left.copy(), returned=None)

    def per_machine(self, beyond: int) -> Int64:
        """int64[M]: what is left of the row of each machine, ``beyond`` of those on none."""
        return np.append(self.left, beyond)[self.rows.row_of]

    def close_full(self, machines: Bool, shape: int) -> None:
        """Take those out of ``machines`` (bool[M]) that have no room for one more task of a shape."""
        amount = int(self.rows.amount[shape])
        if amount > 0:
            on_row = self.rows.row_of >= 0
            machines[on_row] &= self.left[self.rows.row_of[on_row]] >= amount

    def limit_units(self, units: Int64, shapes: Int64, machines: Int64) -> None:
        """Lower ``units`` to how many tasks of ``shapes[i]`` have room on ``machines[i]``: int64[A] each."""
        amount, row = self.rows.amount[shapes], self.rows.row_of[machines]
        limited = (amount > 0) & (row >= 0)
        units[limited] = np.minimum(units[limited], self.left[row[limited]] // amount[limited])

    def take(self, shapes: Int64, machines: Int64, counts: Int64) -> None:
        """Book ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; negative: give back."""
        row = self.rows.row_of[machines]
        on_row = row >= 0
        np.subtract.at(self.left, row[on_row], (self.rows.amount[shapes] * counts)[on_row])

    # --- one machine ---------------------------------------------------------------------------------------------

    def takes(self, shape: int, machine: int) -> bool:
        """Whether a machine has room for one more task of a shape."""
        row, amount = int(self.rows.row_of[machine]), int(self.rows.amount[shape])
        return row < 0 or amount <= 0 or bool(self.left[row] >= amount)

    def add(self, shape: int, machine: int, count: int) -> None:
        """Book tasks of a shape on a machine; negative: give back."""
        row = int(self.rows.row_of[machine])
        if row >= 0:
            self.left[row] -= self.rows.amount[shape] * count
