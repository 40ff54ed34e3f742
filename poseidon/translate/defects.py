"""What is wrong with an object, field by field."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that is wrong: ``field`` is a path in the object, ``problem`` says what and what to do."""

    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}" if self.field else self.problem

    def below(self, prefix: str) -> Defect:
        """Return the same defect of an object that lies at ``prefix`` within another one."""
        return Defect(f"{prefix}.{self.field}" if self.field else prefix, self.problem)
