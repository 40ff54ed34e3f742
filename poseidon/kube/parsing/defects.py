"""Reports what is wrong with an object, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_FIELD, LONGEST_PROBLEM = 300, 500
"""Most characters of a field's path and of a problem that are shown, because the faulty text may be a megabyte."""

MOST_LISTED = 20


def shorten(text: str, most: int = 80) -> str:
    """Return a text, cut to ``most`` characters."""
    return text if len(text) <= most else f"{text[:most]}…"


def list_defects(defects: Sequence[Defect], most: int = MOST_LISTED) -> str:
    """Return defects as one text; if there are more than ``most``, only the first ones and a count."""
    text = "; ".join(str(defect) for defect in defects[:most])
    return text if len(defects) <= most else f"{text}; and {len(defects) - most} more"


@dataclass(frozen=True, slots=True)
class Defect:
    """One fault of an object: ``field`` is a path in it, ``problem`` says what is wrong and what to do.

    The text of a defect is short, whatever the object contains.
    """

    field: str
    problem: str

    def __str__(self) -> str:
        problem = shorten(self.problem, LONGEST_PROBLEM)
        return f"{shorten(self.field, LONGEST_FIELD)}: {problem}" if self.field else problem

    def prefix_path(self, prefix: str) -> Defect:
        """Return the same defect for an object that is part of another object, at ``prefix``."""
        return Defect(f"{prefix}.{self.field}" if self.field else prefix, self.problem)
