"""The room in zones as plain arrays, and back."""

from __future__ import annotations

from cost_models.api.array_codec import ArrayCodec, Layout
from cost_models.api.arrays import Arrays
from cost_models.numa.records import POLICIES
from cost_models.numa.room import ZoneRoom
from cost_models.saved_ledgers import MalformedLedgerError

ROOM = ArrayCodec(
    ZoneRoom,
    {
        "policy": Layout("M", 0, len(POLICIES)),
        "pod_scope": Layout("M"),
        "total": Layout("RMZ"),
        "left": Layout("RMZ"),
        "requests.apps": Layout("S", 0, "U"),
        "requests.amounts": Layout("SUR"),
        "requests.threshold": Layout("SUR"),
        "requests.taken": Layout("SUR", 0),
        "requests.init_amounts": Layout("SIR"),
        "requests.init_threshold": Layout("SIR"),
        "requests.guaranteed": Layout("S"),
        "requests.checked": Layout("S"),
        "requests.hint": Layout("S", 0, len(POLICIES)),
        "requests.init_implied": Layout("S"),
    },
)
"""By letters: machines, resources, zones, shapes, units, init containers."""


def read_room(arrays: Arrays, shapes: int, machines: int) -> ZoneRoom:
    """Return what was saved by ``ROOM``.

    It may know more than ``shapes``: those of tasks that were on the machines. Raises ``KeyError`` for a missing array,
    ``MalformedArraysError`` for one that makes no sense.
    """
    room = ROOM.decode(arrays, M=machines)
    requests = room.requests
    if requests.count < shapes:
        raise MalformedLedgerError(f"requests.apps knows {requests.count} shapes, not {shapes}")
    if requests.count and not requests.threshold.shape[1]:
        raise MalformedLedgerError("requests.threshold has no units")
    if len(requests.resources) != requests.threshold.shape[2]:
        raise MalformedLedgerError(f"requests.resources names {len(requests.resources)} resources")
    if not len(requests.names) == len(requests.init_names) == requests.count:
        raise MalformedLedgerError(
            f"requests.names or requests.init_names is no list of {requests.count} lists"
        )
    return room
