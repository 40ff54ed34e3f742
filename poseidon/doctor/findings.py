"""The results of checks."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Verdict(Enum):
    """Outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    """An optional feature does not work."""
    WRONG = "wrong"


class Finding(NamedTuple):
    """Finding of a check: one line, with the remedy unless all is well."""

    check: str
    verdict: Verdict
    message: str

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {"check": self.check, "verdict": self.verdict.value, "message": self.message}
