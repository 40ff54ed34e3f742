"""Adapts models' limits and models' constraints between tasks to the protocol of constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Int64, JointRows, Ledger, ReasonedLedger
from cost_models.task_constraints import TaskConstraint
from firmament.core.constraints.quota_refusals import list_quota_refusals
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.reasons import AnyReason, by_limit, by_task


@dataclass(frozen=True, slots=True)
class RemainingJointCapacity:
    """A block of joint rows, and what is ``left`` of each row: int64[R], which changes as tasks are booked."""

    rows: JointRows
    left: Int64

    @classmethod
    def from_rows(cls, rows: JointRows) -> RemainingJointCapacity:
        """Return a block of joint rows of which nothing is used."""
        return cls(rows, rows.limit.copy())

    def copy(self) -> RemainingJointCapacity:
        """Return an independent copy."""
        return RemainingJointCapacity(self.rows, self.left.copy())

    def part(self, shapes: Int64 | slice, machines: Int64) -> RemainingJointCapacity:
        """Return a copy for some shapes and machines, renumbered from 0."""
        rows = replace(self.rows, row_of=self.rows.row_of[machines], amount=self.rows.amount[shapes])
        return RemainingJointCapacity(rows, self.left.copy())

    def as_limit(self) -> JointRows:
        """Return the rows with what is left as limits, without the amounts that evictions would give back."""
        return replace(self.rows, limit=self.left.copy(), returned=None)

    def get_per_machine(self, beyond: int) -> Int64:
        """Return what is left of each machine's row, int64[M]; ``beyond`` for machines without a row."""
        return np.append(self.left, beyond)[self.rows.row_of]

    def close_full(self, machines: Bool, shape: int) -> None:
        """Set in ``machines`` (bool[M]) those to False that cannot take one more task of a shape."""
        amount = int(self.rows.amount[shape])
        if amount > 0:
            on_row = self.rows.row_of >= 0
            machines[on_row] &= self.left[self.rows.row_of[on_row]] >= amount

    def limit_units(self, units: Int64, shapes: Int64, machines: Int64) -> None:
        """Reduce ``units`` (int64[A]) to how many tasks of ``shapes[i]`` the rows allow on ``machines[i]``."""
        amount, row = self.rows.amount[shapes], self.rows.row_of[machines]
        limited = (amount > 0) & (row >= 0)
        units[limited] = np.minimum(units[limited], self.left[row[limited]] // amount[limited])

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> None:
        """Book ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; negative counts release them."""
        row = self.rows.row_of[machines]
        on_row = row >= 0
        np.subtract.at(self.left, row[on_row], (self.rows.amount[shapes] * counts)[on_row])

    # --- questions about one machine -----------------------------------------------------------------------------

    def fits(self, shape: int, machine: int) -> bool:
        """Return whether the rows allow one more task of a shape on a machine."""
        row, amount = int(self.rows.row_of[machine]), int(self.rows.amount[shape])
        return row < 0 or amount <= 0 or bool(self.left[row] >= amount)

    def add(self, shape: int, machine: int, count: int) -> None:
        """Book tasks of a shape on a machine; a negative count releases them."""
        row = int(self.rows.row_of[machine])
        if row >= 0:
            self.left[row] -= self.rows.amount[shape] * count


class ModelLimits:
    """What is left within models' limits while a round places tasks.

    ``shape``: int64[C], the number of each class's shape in joint rows, quotas and ledgers; -1 for classes without
    one. The given joint rows, ledgers and quotas are not changed, but copied. Ledgers depend on the order in which
    tasks come, so tasks cannot be removed from ledgers.
    """

    def __init__(
        self,
        joint: Sequence[JointRows],
        ledgers: Sequence[Ledger],
        shape: Int64,
        quotas: QuotaTerms | None = None,
    ) -> None:
        self._shape = shape
        self._joint = [RemainingJointCapacity.from_rows(rows) for rows in joint]
        self._quotas = None if quotas is None else RemainingQuota(quotas)
        self._ledgers = [ledger.copy() for ledger in ledgers]

    @classmethod
    def sharing(
        cls,
        joint: list[RemainingJointCapacity],
        quotas: RemainingQuota | None,
        ledgers: list[Ledger],
        shape: Int64,
    ) -> ModelLimits:
        """Return limits that share their state with the given objects: a booking in one is a booking in the other."""
        limits = cls((), (), shape)
        limits._joint, limits._quotas, limits._ledgers = joint, quotas, ledgers
        return limits

    def involves(self, cls: int) -> bool:
        """Return whether the limits apply to a class."""
        return bool(self._shape[cls] >= 0)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return the reason of each limit, with the machines that cannot take one more task of a class."""
        if not self.involves(cls):
            return []
        shape = int(self._shape[cls])
        found: list[tuple[AnyReason, Bool]] = []
        for joint in self._joint:
            open_to = np.ones(len(joint.rows.row_of), dtype=np.bool_)
            joint.close_full(open_to, shape)
            found.append((by_limit(joint.rows.reason), ~(open_to if at is None else open_to[at])))
        for reason, refused in () if self._quotas is None else list_quota_refusals(self._quotas, shape):
            found.append((reason, refused if at is None else refused[at]))
        for ledger in self._ledgers:
            refused = ledger.count_room(shape) <= 0
            reasoned = ledger if isinstance(ledger, ReasonedLedger) else None
            if reasoned is not None and (fault := reasoned.find_fault(shape)):
                found.append((by_task(fault), refused if at is None else refused[at]))
                continue
            for words, there in () if reasoned is None else reasoned.list_faults(shape):
                concerned = refused & there
                found.append((by_limit(words), concerned if at is None else concerned[at]))
                refused = refused & ~there
            found.append((by_limit(ledger.reason), refused if at is None else refused[at]))
        return found

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether the limits allow one more task of a class on a machine."""
        if not self.involves(cls):
            return True
        shape, at = int(self._shape[cls]), np.array([machine])
        if self._quotas is not None and not self._quotas.lets_in(shape, machine):
            return False
        return all(joint.fits(shape, machine) for joint in self._joint) and all(
            ledger.room_at(self._shape[[cls]], at)[0] > 0 for ledger in self._ledgers
        )

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks of a class on a machine.

        Raise ``ValueError`` if tasks are to be removed and there are ledgers.
        """
        if count < 0 and self._ledgers:
            raise ValueError("a ledger gives nothing back")
        self.add_all(np.array([cls]), np.array([machine]), np.array([count]))

    # --- many tasks at once --------------------------------------------------------------------------------------

    def add_all(self, cls: Int64, machine: Int64, count: Int64) -> None:
        """Count ``count[i]`` tasks of ``cls[i]``, to which the limits apply, on ``machine[i]``."""
        shape = self._shape[cls]
        for joint in self._joint:
            joint.book(shape, machine, count)
        if self._quotas is not None:
            self._quotas.book(shape, machine, count)
        for ledger in self._ledgers:
            ledger.book(shape, machine, count)

    def find_crowded(self, cls: Int64, machine: Int64) -> Bool:
        """Return which of these tasks, one per entry, may not all be allowed if they come in this order: bool[N]."""
        crowded: Bool = np.zeros(len(cls), dtype=np.bool_)
        shape = self._shape[cls]
        for joint in self._joint:
            row, amount = joint.rows.row_of[machine], joint.rows.amount[shape]
            on_row = (row >= 0) & (amount > 0)
            after = joint.copy()
            after.book(shape, machine, np.ones_like(shape))
            crowded[on_row] |= (after.left < 0)[row[on_row]]
        if self._quotas is not None:
            crowded |= self._quotas.find_crowded(shape, machine)
        for ledger in self._ledgers:
            lost = ledger.copy().book(shape, machine, np.ones_like(shape)) == 0
            crowded |= np.isin(machine, machine[lost])
        return crowded


# --- A model's constraint between tasks, by the classes of a round.


@dataclass(frozen=True, slots=True)
class ModelConstraint:
    """Adapts a model's ``constraint`` to the classes of a round.

    ``model``: the model's name. ``kind``: int64[C], the kind of each problem class, -1 for none.

    Adding tasks changes ``constraint`` itself, so callers add tasks only to a copy.
    """

    model: str
    kind: Int64
    constraint: TaskConstraint

    def copy(self) -> ModelConstraint:
        """Return an independent copy."""
        return ModelConstraint(self.model, self.kind, self.constraint.copy())

    def involves(self, cls: int) -> bool:
        """Return whether the constraint concerns a class.

        The constraint may close machines to tasks of the class, or close them to other tasks because of tasks of the
        class.
        """
        return bool(self.kind[cls] >= 0)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return each reason for which machines refuse one more task of a class, with these machines.

        ``at``: the machines to consider (int64[A]); None: all.
        """
        if not self.involves(cls):
            return []
        found = self.constraint.refusals(int(self.kind[cls]))
        return [(by_limit(words), refused if at is None else refused[at]) for words, refused in found]

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether one more task of a class may go to a machine."""
        return not self.involves(cls) or self.constraint.allows(int(self.kind[cls]), machine)

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks of a class on a machine; a negative ``count`` removes them."""
        if self.involves(cls):
            self.constraint.add(int(self.kind[cls]), machine, count)
