"""The results of checks."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Verdict(Enum):
    """How a check has come out."""

    OK = "ok"
    WARNING = "warning"
    """A feature that may be wanted does not work."""
    WRONG = "wrong"


class Finding(NamedTuple):
    """What a check has found: one line, which says what to do unless all is well."""

    check: str
    verdict: Verdict
    message: str

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {"check": self.check, "verdict": self.verdict.value, "message": self.message}
