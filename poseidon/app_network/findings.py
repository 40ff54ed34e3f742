"""What is said of an object: conditions in its status, and which of them are worth an event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poseidon.kube.parsing.defects import Defect

VALID, ORDERED, MEASURED = "Valid", "Ordered", "Measured"

_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition: its type, whether it holds, a reason in one word, and a message. ``warns``: people are told."""

    type: str
    holds: bool
    reason: str
    message: str
    warns: bool = False


def validity(defects: Sequence[Defect], *, in_force: bool) -> Finding:
    """Say whether a spec is in order. ``in_force``: there is a former one that counts in its place."""
    if not defects:
        return Finding(VALID, True, "Accepted", "the spec is in force")
    state = "the last good spec stays in force" if in_force else "nothing is in force"
    return Finding(VALID, False, "InvalidSpec", f"{listed(defects)}; {state}", warns=True)


def listed(defects: Sequence[Defect]) -> str:
    """Return the first few defects as one text."""
    shown = "; ".join(str(each) for each in defects[:_MOST_SHOWN])
    more = len(defects) - _MOST_SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


def conditions(existing: Any, findings: Iterable[Finding], now: str) -> list[dict[str, Any]]:
    """Return conditions that state the findings, among those of others that an object has.

    The time of a transition stays as it is while the status does; ``now`` is RFC 3339.
    """
    former = [each for each in existing if isinstance(each, dict)] if isinstance(existing, list) else []
    wanted = {each.type: each for each in findings}
    result = [each for each in former if each.get("type") not in wanted]
    for finding in wanted.values():
        status = "True" if finding.holds else "False"
        before = condition_of(former, finding.type)
        since = before.get("lastTransitionTime") if before.get("status") == status else None
        result.append(
            {
                "type": finding.type,
                "status": status,
                "reason": finding.reason,
                "message": finding.message,
                "lastTransitionTime": since or now,
            }
        )
    return result


def condition_of(existing: Any, kind: str) -> dict[str, Any]:
    """Return an object's condition of a type, {} if it has none."""
    if isinstance(existing, list):
        for each in existing:
            if isinstance(each, dict) and each.get("type") == kind:
                return each
    return {}
