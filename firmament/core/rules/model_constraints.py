"""A model's constraint between tasks, asked by the classes of a round."""

from __future__ import annotations

from dataclasses import dataclass

from cost_models.interface import Bool, Int64
from cost_models.task_constraints import TaskConstraint


@dataclass(frozen=True, slots=True)
class ModelConstraint:
    """``constraint`` of the model called ``model``; ``kind``: int64[C], the kind of each problem class, -1 for none.

    The constraint moves on as tasks are added, so whoever adds works on a copy.
    """

    model: str
    kind: Int64
    constraint: TaskConstraint

    def copy(self) -> ModelConstraint:
        """An independent copy."""
        return ModelConstraint(self.model, self.kind, self.constraint.copy())

    def involves(self, cls: int) -> bool:
        """Whether tasks of a class may be refused machines, or matter to others."""
        return bool(self.kind[cls] >= 0)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[str, Bool]]:
        """Reasons with the machines (of ``at``, or all) that are closed to one more task of a class."""
        if not self.involves(cls):
            return []
        found = self.constraint.refusals(int(self.kind[cls]))
        return [(reason, refused if at is None else refused[at]) for reason, refused in found]

    def allows(self, cls: int, machine: int) -> bool:
        """Whether one more task of a class may go to a machine."""
        return not self.involves(cls) or self.constraint.allows(int(self.kind[cls]), machine)

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks of a class on a machine; with a negative ``count`` no longer."""
        if self.involves(cls):
            self.constraint.add(int(self.kind[cls]), machine, count)
