"""Reads disruption budgets, and says how many more evictions of which tasks each of them allows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import Requirement, TaskSelector
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskTable

MOST_ALLOWED = 2**31 - 1
"""Upper bound of a budget's allowance, which Kubernetes counts in 32 bits."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget.

    ``allowed`` tasks that ``selector`` matches may be disrupted, besides those in ``disrupted``.
    """

    selector: TaskSelector
    allowed: int
    disrupted: frozenset[str] = frozenset()


def read_budgets(cluster: Cluster) -> dict[str, Budget]:
    """Return the disruption budgets of a cluster by name of their records; a malformed budget covers no task."""
    return {
        name: _parse(payload)
        for name, payload in sorted(cluster.records.payloads.get(BUDGET_RECORD, {}).items())
    }


def _parse(payload: bytes) -> Budget:
    """Return the budget in a record's payload, see ``BUDGET_RECORD``.

    If the payload is malformed, the budget selects nothing.
    """
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
            disrupted=_names(content.get("disrupted")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return Budget(TaskSelector(nothing=True), 0)


def _names(listed: object) -> frozenset[str]:
    if listed is None:
        return frozenset()
    if not isinstance(listed, list):
        raise TypeError("disrupted")
    return frozenset(str(each) for each in listed)


def _requirement(entry: Mapping[str, object]) -> Requirement:
    values = entry.get("values") or ()
    if not isinstance(values, (list, tuple)):
        raise TypeError("values")
    return Requirement(str(entry["key"]), str(entry["operator"]), tuple(str(each) for each in values))


def split_kinds(
    tasks: TaskTable, rows: Int64, known: Mapping[str, Budget]
) -> tuple[Int64, Int64, list[frozenset[str]]]:
    """Return the kinds of the tasks in ``rows``; a kind has tasks of one class that the same budgets count as gone.

    The result has three parts: int64[H], the class row of each kind; int64[V], the kind of each task; and for each
    kind, the budgets (names of ``known``) that have already counted the disruption of its tasks.
    """
    classes, found = np.unique(tasks.cls[rows], return_inverse=True)
    kind = found.astype(np.int64)
    counted: list[frozenset[str]] = [frozenset()] * len(classes)
    counts: dict[str, list[str]] = {}
    for name, budget in known.items():
        for task in budget.disrupted:
            counts.setdefault(task, []).append(name)
    if not counts:
        return classes, kind, counted
    kinds = classes.tolist()
    place_of: dict[tuple[int, frozenset[str]], int] = {}
    for place, row in enumerate(rows.tolist()):
        if tasks.name[row] in counts:
            key = int(kind[place]), frozenset(counts[tasks.name[row]])
            if key not in place_of:
                place_of[key] = len(kinds)
                kinds.append(kinds[key[0]])
                counted.append(key[1])
            kind[place] = place_of[key]
    return np.array(kinds, dtype=np.int64), kind, counted


def count_allowed_evictions(
    cluster: Cluster,
    evictions: PendingEvictions,
    known: Mapping[str, Budget],
    kinds: Int64,
    counted: Sequence[frozenset[str]],
) -> tuple[tuple[tuple[int, ...], ...], Int64]:
    """Return, for each of ``kinds`` (class rows), the budgets that evictions use, and what each budget still allows.

    ``counted``: the budgets that have counted the tasks of each kind as gone. A budget's record does not contain the
    evictions since it came, so these are subtracted.
    """
    covered: list[list[int]] = [[] for _ in range(len(kinds))]
    places_of: dict[int, list[int]] = {}
    for place, row in enumerate(kinds.tolist()):
        places_of.setdefault(row, []).append(place)
    allowed: list[int] = []
    for name, budget in known.items():
        matching = cluster.selector().matching(budget.selector)
        for row in matching.tolist():
            for place in places_of.get(row, ()):
                if name not in counted[place]:
                    covered[place].append(len(allowed))
        pending = evictions.count_since_record(cluster, name, frozenset(matching.tolist()), budget.disrupted)
        allowed.append(max(0, budget.allowed - pending))
    return tuple(tuple(each) for each in covered), np.array(allowed, dtype=np.int64)
