"""Disruption budgets: how many of which tasks may be told to go at present."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from firmament.core.model import BUDGET_RECORD, Requirement, TaskSelector
from firmament.core.state.cluster import Cluster

MOST_ALLOWED = 2**31 - 1
"""More disruptions than that are never asked for; Kubernetes counts them in 32 bits."""


@dataclass(frozen=True, slots=True)
class Budget:
    """``allowed`` tasks that ``selector`` matches may be disrupted."""

    selector: TaskSelector
    allowed: int


def budgets(cluster: Cluster) -> dict[str, Budget]:
    """The disruption budgets of a cluster by name of their records; a malformed one covers nobody."""
    return {
        name: _parsed(payload)
        for name, payload in sorted(cluster.records.payloads.get(BUDGET_RECORD, {}).items())
    }


def _parsed(payload: bytes) -> Budget:
    """Read a record's payload, see ``BUDGET_RECORD``. What cannot be read selects nothing."""
    try:
        content = json.loads(payload)
        if not isinstance(content, Mapping):
            return Budget(TaskSelector(nothing=True), 0)
        selector = content.get("selector")
        return Budget(
            selector=TaskSelector(
                labels=tuple(_requirement(each) for each in selector or ()),
                nothing=selector is None,
                namespaces=(str(content.get("namespace", "")),),
            ),
            allowed=min(max(0, int(content.get("allowed", 0))), MOST_ALLOWED),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return Budget(TaskSelector(nothing=True), 0)


def _requirement(entry: Mapping[str, object]) -> Requirement:
    values = entry.get("values") or ()
    if not isinstance(values, (list, tuple)):
        raise TypeError("values")
    return Requirement(str(entry["key"]), str(entry["operator"]), tuple(str(each) for each in values))
