"""Keeps account of NUMA zones in a round: records each placement in the zone that the kubelet will choose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cost_models.api.arrays import Arrays, Layout, MalformedArraysError, layout_faults
from cost_models.interface import Bool, Int32, Int64
from cost_models.numa.arguments import MODEL_NAME
from cost_models.numa.kubelet_simulation import ZoneRoom
from cost_models.numa.records import POLICIES
from cost_models.numa.requests import Requests
from cost_models.numa.single_zone_alignment import UNLIMITED

REASON = "cannot align pod"
"""Reason for a machine whose zones are full once the round's placements are on it."""

EXACT, ROUGH = range(2)
UNKNOWN = -1
ANY = np.int32(2**31 - 1)
"""Stands for ``UNLIMITED`` in the 32 bits of cached answers."""


@dataclass(slots=True)
class ZoneLedger:
    """The ledger of NUMA zones; the scheduler's ``Ledger`` states what the methods guarantee.

    The kubelet sees tasks in the order of their bindings and gives each the lowest zone that fits. On machines that
    align tasks, admission must therefore keep the order of bindings.

    ``_answers``: int32[2, S, M], cached results of ``ZoneRoom.count_room`` (``EXACT``) and ``ZoneRoom.room_of``
    (``ROUGH``), ``UNKNOWN`` where none is cached; None for no cache. The cache pays because a network is built
    several times between two bookings.
    """

    zones: ZoneRoom
    reason: str = REASON
    model: ClassVar[str] = MODEL_NAME
    _answers: Int32 | None = field(default=None, compare=False)

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        """Return whether the kubelet of ``machines[i]`` aligns tasks of ``shapes[i]``: bool[A]."""
        return self.zones.policies(shapes, machines) > 0

    def count_room(self, shape: int) -> Int64:
        """Return how many more tasks of a shape each machine takes if no other tasks are placed: int64[M]."""
        known_room = self._memory()[ROUGH, shape]
        unknown = np.flatnonzero(known_room == UNKNOWN)
        if 2 * len(unknown) > len(known_room):
            known_room[:] = np.minimum(self.zones.room_of(shape), ANY)
        elif len(unknown):
            known_room[unknown] = np.minimum(
                self.zones.count_room(np.full(len(unknown), shape), unknown), ANY
            )
        return _widen(known_room)

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        """Return how many more tasks of ``shapes[i]`` fit on ``machines[i]`` if no others are placed: int64[A]."""
        exact = self._memory()[EXACT]
        known_room = exact[shapes, machines]
        unknown = np.flatnonzero(known_room == UNKNOWN)
        if len(unknown):
            of, at = shapes[unknown], machines[unknown]
            known_room[unknown] = np.minimum(self.zones.count_room(of, at), ANY)
            exact[of, at] = known_room[unknown]
        return _widen(known_room)

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Record up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; return how many fitted: int64[A]."""
        if self._answers is not None:
            self._answers[:, :, np.unique(machines)] = UNKNOWN
        return self.zones.book(shapes, machines, counts)

    def copy(self) -> ZoneLedger:
        """Return an independent copy."""
        return ZoneLedger(
            self.zones.copy(), self.reason, None if self._answers is None else self._answers.copy()
        )

    def save(self) -> Arrays:
        """Return the state of the zones and the requests of shapes as arrays, without cached results."""
        room, requests = self.zones, self.zones.requests
        found = {name: getattr(room, name) for name in _ROOM}
        found |= {name: getattr(requests, name) for name in _REQUESTS}
        return found | {name: np.array(json.dumps(getattr(requests, name))) for name in _TEXTS}

    def _memory(self) -> Int32:
        if self._answers is None:
            shape = 2, self.zones.requests.count, len(self.zones.policy)
            self._answers = np.full(shape, UNKNOWN, dtype=np.int32)
        return self._answers


def _widen(known_room: Int32) -> Int64:
    return np.where(known_room == ANY, UNLIMITED, known_room).astype(np.int64)


# --- Saving the room in zones as plain arrays, and reading it back. Arrays are named like the fields of ``ZoneRoom``
# and ``Requests``.


_ROOM: Mapping[str, tuple[Any, Layout]] = {
    "policy": (np.int8, Layout("M", 0, len(POLICIES))),
    "pod_scope": (np.bool_, Layout("M")),
    "total": (np.int64, Layout("RMZ")),
    "left": (np.int64, Layout("RMZ")),
}
_REQUESTS: Mapping[str, tuple[Any, Layout]] = {
    "apps": (np.int64, Layout("S", 0, "U")),
    "amounts": (np.int64, Layout("SUR")),
    "threshold": (np.int64, Layout("SUR")),
    "taken": (np.int64, Layout("SUR", 0)),
    "init_amounts": (np.int64, Layout("SIR")),
    "init_threshold": (np.int64, Layout("SIR")),
    "guaranteed": (np.bool_, Layout("S")),
    "checked": (np.bool_, Layout("S")),
    "hint": (np.int8, Layout("S", 0, len(POLICIES))),
    "init_implied": (np.bool_, Layout("S")),
}
"""Axes by letter: machines, resources, zones, shapes, units, init containers."""

_TEXTS = ("resources", "names", "init_names")
"""Fields that are saved as JSON."""


def read_room(arrays: Arrays, shapes: int, machines: int) -> ZoneRoom:
    """Return the free amounts of zones from a saved ledger.

    The result may have more shapes than ``shapes``: those of tasks that are on machines. Raises ``KeyError`` for a
    missing array, ``MalformedArraysError`` for an array with wrong type or size.
    """
    given = []
    for name, (kind, layout) in {**_ROOM, **_REQUESTS}.items():
        if arrays[name].dtype != kind:
            raise MalformedArraysError(f"{name} is {arrays[name].dtype}, not {np.dtype(kind)}")
        given.append((name, arrays[name], layout))
    sizes = {"M": machines}
    for fault in layout_faults(given, sizes):
        raise MalformedArraysError(fault)
    if sizes["S"] < shapes:
        raise MalformedArraysError(f"apps knows {sizes['S']} shapes, not {shapes}")
    requests: dict[str, Any] = {name: arrays[name] for name in _REQUESTS}
    for name, count in (("resources", sizes["R"]), ("names", sizes["S"]), ("init_names", sizes["S"])):
        try:
            read = json.loads(str(arrays[name]))
            requests[name] = tuple(each if name == "resources" else tuple(each) for each in read)
        except (ValueError, TypeError) as error:
            raise MalformedArraysError(f"{name} is not what was saved") from error
        if len(requests[name]) != count:
            raise MalformedArraysError(f"{name} has {len(requests[name])} entries, not {count}")
    return ZoneRoom(Requests(**requests), *(arrays[name] for name in _ROOM))
