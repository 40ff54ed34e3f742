"""Constraints between tasks that a cost model adds to those of Kubernetes.

Whether the places of other tasks allow one more task on a machine is asked in many places: when a flow is admitted,
in waves, for gangs, when tasks are evicted, when a round is closed after events, and in explanations. A constraint
answers the question wherever it is asked by one small protocol, `TaskConstraint`. A model with a constraint promises
``constraints``, has the methods of `ConstrainingModel`, and needs the ``kind_labels`` that matter. Tasks with equal
values of these labels are of one *kind*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from cost_models.api.arrays import Arrays, Bool, Int64, MalformedArraysError
from cost_models.api.columns import ShapeRow
from cost_models.interface import CostModel


class MalformedConstraintError(MalformedArraysError):
    """Saved arrays that describe no constraint."""


@runtime_checkable
class TaskConstraint(Protocol):
    """Decides which machines (rows) may not take one more task of a kind because of where other tasks are.

    The answers depend on which tasks have been added, not on their order; removing a task undoes adding it.
    ``allows`` answers for one machine, and ``refusals`` for all machines; the two agree.
    """

    def refusals(self, kind: int) -> Sequence[tuple[str, Bool]]:
        """Return reasons, in kube-scheduler's style ("node(s) ..."), each with the machines that refuse the task for
        it: bool[M].
        """
        ...

    def allows(self, kind: int, machine: int) -> bool:
        """Return whether one more task of a kind may go to a machine."""
        ...

    def add(self, kind: int, machine: int, count: int) -> None:
        """Add ``count`` tasks of a kind to a machine's count; subtract if it is negative."""
        ...

    def copy(self) -> TaskConstraint:
        """Return an independent copy."""
        ...

    def save(self) -> Arrays:
        """Return the constraint's present state as arrays of numbers, truth values or text, so that a saved round
        can be run again.
        """
        ...


class ConstrainingModel(CostModel, Protocol):
    """A cost model with a constraint between tasks."""

    def constraint(
        self, machines: Sequence[Mapping[str, str]], kinds: Sequence[ShapeRow], kind: Int64, machine: Int64
    ) -> TaskConstraint | None:
        """Return the constraint, with the tasks on machines; None if it restricts no task.

        ``machines``: labels of each machine; ``kinds``: labels of each kind, only those in ``needs.kind_labels``;
        task i on a machine is of ``kind[i]`` and on ``machine[i]``: int64[A].
        """
        ...

    @staticmethod
    def restore_constraint(arrays: Arrays, kinds: int, machines: int) -> TaskConstraint:
        """Return the constraint whose arrays ``save`` returned; raises `MalformedConstraintError` or ``KeyError`` for
        other arrays.
        """
        ...


def constrains(model: CostModel) -> TypeGuard[ConstrainingModel]:
    """Return whether a model has a constraint between tasks."""
    return model.promises.constraints
