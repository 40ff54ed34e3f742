"""The room in zones as plain arrays, and back: named like the fields of ``ZoneRoom`` and ``Requests``.

``names`` and ``init_names`` are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, Schema, range_faults, size_faults
from cost_models.numa.records import POLICIES
from cost_models.numa.requests import Requests
from cost_models.numa.room import ZoneRoom
from cost_models.saved_ledgers import MalformedLedgerError

_ROOM: Schema = {
    "policy": (np.int8, "M"),
    "pod_scope": (np.bool_, "M"),
    "total": (np.int64, "RMZ"),
    "left": (np.int64, "RMZ"),
}
_REQUESTS: Schema = {
    "resources": (np.str_, "R"),
    "apps": (np.int64, "S"),
    "amounts": (np.int64, "SUR"),
    "threshold": (np.int64, "SUR"),
    "taken": (np.int64, "SUR"),
    "init_amounts": (np.int64, "SIR"),
    "init_threshold": (np.int64, "SIR"),
    "guaranteed": (np.bool_, "S"),
    "checked": (np.bool_, "S"),
    "hint": (np.int8, "S"),
    "init_implied": (np.bool_, "S"),
}
"""Kind of each array, and by letters its size: machines, resources, zones, shapes, units, init containers."""

_NAMES = ("names", "init_names")


def room_arrays(room: ZoneRoom) -> Arrays:
    """Return the arrays by name."""
    found = {name: np.array(getattr(room, name), dtype=kind) for name, (kind, _) in _ROOM.items()}
    found |= {
        name: np.array(getattr(room.requests, name), dtype=kind) for name, (kind, _) in _REQUESTS.items()
    }
    return found | {name: np.array(json.dumps(getattr(room.requests, name))) for name in _NAMES}


def read_room(arrays: Arrays, shapes: int, machines: int) -> ZoneRoom:
    """Return what ``room_arrays`` was given.

    It may know more than ``shapes``: those of tasks that were on the machines. Raises ``KeyError`` for a missing array,
    ``MalformedLedgerError`` for one that makes no sense.
    """
    given = {name: arrays[name] for name in (*_ROOM, *_REQUESTS)}
    for fault in (
        *size_faults(given, {**_ROOM, **_REQUESTS}, {"M": machines}),
        *_number_faults(given, shapes),
    ):
        raise MalformedLedgerError(fault)
    names = {name: _read_names(arrays[name], len(given["apps"]), name) for name in _NAMES}
    requests: dict[str, Any] = {name: given[name] for name in _REQUESTS} | {
        "resources": tuple(given["resources"].tolist()),
        **names,
    }
    return ZoneRoom(Requests(**requests), *(given[name] for name in _ROOM))


def _number_faults(given: Arrays, shapes: int) -> Iterator[str]:
    """Yield which numbers cannot be; sizes match by now."""
    known, units = given["threshold"].shape[:2]
    if known < shapes:
        yield f"apps knows {known} shapes, not {shapes}"
    if known and not units:
        yield "threshold has no units"
    most = {"policy": len(POLICIES), "hint": len(POLICIES), "apps": max(units, 1), "taken": 2**63 - 1}
    yield from range_faults(given, {name: (0, end) for name, end in most.items()})


def _read_names(text: NDArray[Any], shapes: int, name: str) -> tuple[tuple[str, ...], ...]:
    try:
        read = json.loads(str(text))
    except json.JSONDecodeError as error:
        raise MalformedLedgerError(f"{name} is no JSON") from error
    if not isinstance(read, list) or len(read) != shapes or not all(isinstance(each, list) for each in read):
        raise MalformedLedgerError(f"{name} is no list of {shapes} lists")
    return tuple(tuple(str(unit) for unit in each) for each in read)
