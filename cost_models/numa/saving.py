"""The room in zones as plain arrays, and back: named like the fields of ``ZoneRoom`` and ``Requests``.

``names`` and ``init_names`` are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.numa.records import POLICIES
from cost_models.numa.requests import Requests
from cost_models.numa.room import ZoneRoom
from cost_models.saved_ledgers import Arrays, MalformedLedgerError

_ROOM: Mapping[str, tuple[Any, str]] = {
    "policy": (np.int8, "M"),
    "pod_scope": (np.bool_, "M"),
    "total": (np.int64, "RMZ"),
    "left": (np.int64, "RMZ"),
}
_REQUESTS: Mapping[str, tuple[Any, str]] = {
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
    for fault in (*_size_faults(given, machines), *_number_faults(given, shapes)):
        raise MalformedLedgerError(fault)
    names = {name: _read_names(arrays[name], len(given["apps"]), name) for name in _NAMES}
    requests: dict[str, Any] = {name: given[name] for name in _REQUESTS} | {
        "resources": tuple(given["resources"].tolist()),
        **names,
    }
    return ZoneRoom(Requests(**requests), *(given[name] for name in _ROOM))


def _size_faults(given: Arrays, machines: int) -> Iterator[str]:
    """Yield what has another kind or size than it should."""
    sizes = {"M": machines}
    for name, (kind, letters) in {**_ROOM, **_REQUESTS}.items():
        array = given[name]
        right = array.dtype.kind == "U" if kind is np.str_ else array.dtype == kind
        if not right or array.ndim != len(letters):
            yield f"{name} is {array.dtype} of the size {array.shape}"
            return
        expected = tuple(
            sizes.setdefault(letter, found) for letter, found in zip(letters, array.shape, strict=True)
        )
        if array.shape != expected:
            yield f"{name} has the size {array.shape}, not {expected}"


def _number_faults(given: Arrays, shapes: int) -> Iterator[str]:
    """Yield which numbers cannot be; sizes match by now."""
    known, units = given["threshold"].shape[:2]
    if known < shapes:
        yield f"apps knows {known} shapes, not {shapes}"
    limits = {"policy": len(POLICIES), "hint": len(POLICIES), "apps": max(units, 1)}
    for name, end in limits.items():
        if ((given[name] < 0) | (given[name] >= end)).any():
            yield f"{name} holds numbers out of range"
    if known and not units:
        yield "threshold has no units"
    if (given["taken"] < 0).any():
        yield "taken holds numbers out of range"


def _read_names(text: NDArray[Any], shapes: int, name: str) -> tuple[tuple[str, ...], ...]:
    try:
        read = json.loads(str(text))
    except json.JSONDecodeError as error:
        raise MalformedLedgerError(f"{name} is no JSON") from error
    if not isinstance(read, list) or len(read) != shapes or not all(isinstance(each, list) for each in read):
        raise MalformedLedgerError(f"{name} is no list of {shapes} lists")
    return tuple(tuple(str(unit) for unit in each) for each in read)
