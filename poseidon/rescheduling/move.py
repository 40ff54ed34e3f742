"""Moves as they are planned, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A pod (``namespace/name``) that goes from ``source`` to ``target``; ``why``, for people, and the points it saves.

    ``controller``: who replaces it, by namespace, kind and name; ``requests``: amounts by resource, its slot as a pod
    among them.
    """

    pod: str
    source: str
    target: str
    why: str
    saves: float
    controller: tuple[str, str, str]
    requests: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {
            "pod": self.pod,
            "from": self.source,
            "to": self.target,
            "why": self.why,
            "saves": round(self.saves, 2),
        }


class Result(Enum):
    """How a move has ended."""

    MOVED = "moved"
    ELSEWHERE = "elsewhere"  # its replacement runs on another node than was meant
    REFUSED = "refused"  # the pod was not evicted
    SKIPPED = "skipped"  # things have changed since the plan was made
    UNPLACED = "unplaced"  # evicted, and no replacement has a place yet


@dataclass(frozen=True, slots=True)
class MoveOutcome:
    """``replacement``: the pod that took its place (``namespace/name``), "" for none; ``reason`` why not as planned."""

    move: PlannedMove
    result: Result
    replacement: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {
            **self.move.as_json(),
            "result": self.result.value,
            "replacement": self.replacement,
            "reason": self.reason,
        }
