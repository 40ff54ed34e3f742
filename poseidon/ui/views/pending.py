"""Shows waiting pods, grouped by reason or by workload."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poseidon.ui.cluster.records import PodEntry
    from poseidon.ui.cluster.store import ClusterStore

_EXAMPLES = 5
_AVAILABLE = re.compile(r"^\d+/\d+ nodes are available: ")
_COUNTED = re.compile(r"(?:^|, )\d+ ")
_END = re.compile(r"\. (?:preemption|no new claims)|\.\s*$")


@lru_cache(maxsize=16_384)
def reason_key(message: str) -> str:
    """Return a scheduler's message without numbers, so that pods with the same cause have the same reason.

    "0/9 nodes are available: 5 Insufficient cpu, 4 node(s) had untolerated taint(s) {a: b}." becomes "Insufficient
    cpu, node(s) had untolerated taint(s) {a: b}". All other messages are their own reasons.
    """
    found = _AVAILABLE.match(message)
    if found is None:
        return message
    body = _END.split(message[found.end() :], maxsplit=1)[0]
    causes = [each for each in _COUNTED.split(body) if each]
    return ", ".join(dict.fromkeys(causes)) or message


def by_reason(pods: Iterable[PodEntry]) -> dict[str, list[PodEntry]]:
    """Return the pods of each reason, by reason."""
    found: dict[str, list[PodEntry]] = {}
    for each in pods:
        found.setdefault(reason_key(each.reason), []).append(each)
    return found


def show_pending(store: ClusterStore, by: str, offset: int, limit: int, now: float) -> dict[str, Any]:
    """Return waiting pods, grouped by reason or class (``by``), as the JSON object that the documents describe."""
    if by == "class":
        grouped: dict[str, list[PodEntry]] = {}
        for each in store.waiting.values():
            grouped.setdefault(each.task_class, []).append(each)
    else:
        grouped = by_reason(store.waiting.values())
    ordered = sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0]))
    return {
        "total": len(store.waiting),
        "groups": [_group(key, pods, by, now) for key, pods in ordered[offset : offset + limit]],
        "groupsTotal": len(ordered),
    }


def _group(key: str, pods: list[PodEntry], by: str, now: float) -> dict[str, Any]:
    waits = [max(now - each.since, 0.0) for each in pods]
    reasons = {reason_key(each.reason) for each in pods}
    classes = {each.task_class for each in pods}
    oldest_first = sorted(pods, key=lambda each: (each.since, each.name))
    return {
        "key": key,
        "reason": key if by != "class" else min(reasons),
        "class": min(classes) if len(classes) == 1 else "",
        "pods": len(pods),
        "oldest": round(max(waits), 3),
        "median": round(median(waits), 3),
        "oldestSince": oldest_first[0].since,
        "medianSince": round(median(each.since for each in pods), 3),
        "examples": [each.name for each in oldest_first[:_EXAMPLES]],
        "kinds": len(classes),
    }
