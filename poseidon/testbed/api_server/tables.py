"""Writes lists and objects in the ``meta.k8s.io/v1`` Table form, which kubectl prints.

For the kinds used most, the columns are those of the real server; all other kinds have name and age.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.pods import condition_of
from poseidon.testbed.objects.store import decode

Object = dict[str, Any]
Reader = Callable[[Object, float], Any]

_NONE = "<none>"
_UNITS = ((31_536_000, "y"), (86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; kubectl prints columns of ``priority`` 1 only with ``-o wide``.

    ``read`` is called with the object and the time.
    """

    name: str
    read: Reader
    kind: str = "string"
    priority: int = 0


def wants_table(accept: str) -> bool:
    """Return whether an ``Accept`` header asks for a table."""
    return "as=Table" in accept and "v=v1;" in accept


def table(collection: str, records: list[Record], metadata: Mapping[str, Any], now: float) -> bytes:
    """Return the JSON text of a Table of ``records``; ``now`` is in seconds, from which ages are computed."""
    columns = _COLUMNS.get(collection, _DEFAULT)
    kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    rows = [
        {
            "cells": [column.read(obj, now) for column in columns],
            "object": {**kind, "metadata": obj["metadata"]},
        }
        for obj in map(decode, records)
    ]
    definitions = [
        {
            "name": column.name,
            "type": column.kind,
            "format": "name" if column.name == "Name" else "",
            "description": "",
            "priority": column.priority,
        }
        for column in columns
    ]
    return msgspec.json.encode(
        {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": dict(metadata),
            "columnDefinitions": definitions,
            "rows": rows,
        }
    )


def _get(obj: Any, *path: str, default: Any = None) -> Any:
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return default if obj is None else obj


def _field(*path: str, default: Any = _NONE) -> Reader:
    return lambda obj, _now: _get(obj, *path, default=default)


def _format_age(timestamp: Any, now: float) -> str:
    try:
        seconds = int(now - datetime.fromisoformat(timestamp).timestamp())
    except (TypeError, ValueError):
        return "<unknown>"
    for size, unit in _UNITS:
        # Like the real server, print smaller units up to two of the larger unit, such as 119s before 2m.
        if seconds >= size * (1 if unit in "ys" else 2):
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"


def _pod_ready(pod: Object, _now: float) -> str:
    statuses = _get(pod, "status", "containerStatuses", default=[])
    total = len(_get(pod, "spec", "containers", default=[]))
    return f"{sum(bool(status.get('ready')) for status in statuses)}/{total}"


def _pod_status(pod: Object, _now: float) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if _get(pod, "spec", "schedulingGates"):
        return "SchedulingGated"
    phase: str = _get(pod, "status", "phase", default="Unknown")
    return "Completed" if phase == "Succeeded" else _get(pod, "status", "reason", default=phase)


def _node_status(node: Object, _now: float) -> str:
    ready = {"True": "Ready", "False": "NotReady"}.get(condition_of(node, "Ready"), "Unknown")
    return f"{ready},SchedulingDisabled" if _get(node, "spec", "unschedulable") else ready


def _replicas(obj: Object, _now: float) -> str:
    return f"{_get(obj, 'status', 'readyReplicas', default=0)}/{_get(obj, 'spec', 'replicas', default=1)}"


def _event_object(event: Object, _now: float) -> str:
    kind, name = (_get(event, "involvedObject", field, default="") for field in ("kind", "name"))
    return f"{kind.lower()}/{name}"


def _last_seen(event: Object, now: float) -> str:
    seen = _get(event, "series", "lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return _format_age(seen or event["metadata"].get("creationTimestamp"), now)


_NAME = Column("Name", lambda obj, _now: obj["metadata"]["name"])
_AGE = Column("Age", lambda obj, now: _format_age(obj["metadata"].get("creationTimestamp"), now))
_DEFAULT = (_NAME, _AGE)
_WORKLOAD = (_NAME, Column("Ready", _replicas), _AGE)

_COLUMNS: dict[str, tuple[Column, ...]] = {
    "pods": (
        _NAME,
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", lambda _pod, _now: "0"),
        _AGE,
        Column("IP", _field("status", "podIP"), priority=1),
        Column("Node", _field("spec", "nodeName"), priority=1),
        Column("Nominated Node", _field("status", "nominatedNodeName"), priority=1),
    ),
    "nodes": (
        _NAME,
        Column("Status", _node_status),
        _AGE,
        Column("CPU", _field("status", "allocatable", "cpu"), priority=1),
        Column("Memory", _field("status", "allocatable", "memory"), priority=1),
        Column("Zone", _field("metadata", "labels", "topology.kubernetes.io/zone")),
    ),
    "namespaces": (_NAME, Column("Status", _field("status", "phase")), _AGE),
    "events": (
        Column("Last Seen", _last_seen),
        Column("Type", _field("type")),
        Column("Reason", _field("reason")),
        Column("Object", _event_object),
        Column("Message", _field("message")),
        Column("Name", lambda obj, _now: obj["metadata"]["name"], priority=1),
    ),
    "deployments.apps": _WORKLOAD,
    "statefulsets.apps": _WORKLOAD,
    "replicasets.apps": _WORKLOAD,
    "priorityclasses.scheduling.k8s.io": (
        _NAME,
        Column("Value", _field("value", default=0), kind="integer"),
        Column("Global-Default", lambda obj, _now: bool(obj.get("globalDefault")), kind="boolean"),
        _AGE,
    ),
}
