"""Types for the results of `poseidon doctor`'s checks."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Verdict(Enum):
    """Outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    """An optional feature does not work, but the bridge can run."""
    WRONG = "wrong"


class Finding(NamedTuple):
    """Result of one check, in one line; unless all is well, the line says what to do."""

    check: str
    verdict: Verdict
    message: str

    def as_json(self) -> dict[str, Any]:
        """Return the finding as the JSON object that the documents describe."""
        return {"check": self.check, "verdict": self.verdict.value, "message": self.message}
