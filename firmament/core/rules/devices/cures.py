"""Cures for tasks that lack devices: claims that ask for fewer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import TaskClaim

_MOST_ASKED = 32
"""Requests for more devices than the API allows a claim are not tried with fewer."""


def propose_fewer_devices(standing: ChangedMachine) -> Iterator[CureProposal]:
    """Yield cures: fewer devices in a request of one of the task's own claims, the largest number first."""
    for place, claim in enumerate(standing.content.claims):
        for number, name, count in _list_counts(claim):
            for fewer in _list_fewer(count):
                claims = list(standing.content.claims)
                claims[place] = _with_count(claim, number, fewer)
                subject = f"request {name} of claim {claim.name}"
                step = CureChange(CureKind.FEWER_DEVICES, subject, before=count, after=fewer)
                content = replace(standing.content, claims=tuple(claims))
                yield CureProposal((step,), TrialChange(content))


def _list_counts(claim: TaskClaim) -> Iterator[tuple[int, str, int]]:
    """Yield (place, name, count) of each request of a task's own claim that asks for several devices."""
    for place, request in enumerate(_list_requests(claim)):
        exactly = request.get("exactly") if isinstance(request, dict) else None
        if not isinstance(exactly, dict) or exactly.get("allocationMode") == "All":
            continue
        count = exactly.get("count")
        if isinstance(count, int) and 1 < count <= _MOST_ASKED:
            yield place, str(request.get("name")), count


def _list_requests(claim: TaskClaim) -> list[Any]:
    try:
        found = json.loads(claim.spec)["devices"]["requests"] if claim.spec else []
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _list_fewer(count: int) -> list[int]:
    """Return the smaller counts to be tried, descending: all of them up to 8, seven of them above."""
    if count <= 8:
        return list(range(count - 1, 0, -1))
    return [count - 1, count * 3 // 4, count // 2, count // 4, 4, 2, 1]


def _with_count(claim: TaskClaim, place: int, count: int) -> TaskClaim:
    content = json.loads(claim.spec)
    content["devices"]["requests"][place]["exactly"]["count"] = count
    return replace(claim, spec=json.dumps(content, sort_keys=True, separators=(",", ":")))
