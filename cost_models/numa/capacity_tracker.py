"""The ledger of zones: what a round's placements take, as the kubelets will take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cost_models.api.array_codec import ArrayCodec, Layout
from cost_models.api.arrays import Arrays
from cost_models.interface import Bool, Int32, Int64
from cost_models.numa.arguments import MODEL_NAME
from cost_models.numa.containers import UNLIMITED
from cost_models.numa.records import POLICIES
from cost_models.numa.room import ZoneRoom
from cost_models.saved_ledgers import MalformedLedgerError

REASON = "cannot align pod"
"""Why a machine is refused whose zones are full once the round's placements are there."""

UNKNOWN = -1
ANY = np.int32(2**31 - 1)
"""Stands for ``UNLIMITED`` in what is remembered."""


@dataclass(slots=True)
class _Answers:
    """Answers that still hold, ``UNKNOWN`` elsewhere: a network is built several times between two bookings.

    ``exact``: int32[S, M] of ``ZoneRoom.room``; ``rough``: int32[S, M] of ``ZoneRoom.room_of``.
    """

    exact: Int32
    rough: Int32

    @classmethod
    def nothing(cls, zones: ZoneRoom) -> _Answers:
        """Nothing is remembered yet."""
        shape = zones.requests.count, len(zones.policy)
        return cls(*(np.full(shape, UNKNOWN, dtype=np.int32) for _ in range(2)))

    def copy(self) -> _Answers:
        """Return an independent copy."""
        return _Answers(self.exact.copy(), self.rough.copy())

    def forget(self, machines: Int64) -> None:
        """Something was booked on ``machines``."""
        self.exact[:, machines] = UNKNOWN
        self.rough[:, machines] = UNKNOWN


@dataclass(slots=True)
class ZoneLedger:
    """Zones behind the scheduler's ``Ledger``; see there for what the methods guarantee.

    The kubelet sees tasks in the order in which they are bound and gives each the lowest zone that fits, so the order
    of admission has to be that of bindings wherever it aligns.
    """

    zones: ZoneRoom
    reason: str = REASON
    model: ClassVar[str] = MODEL_NAME
    _answers: _Answers | None = field(default=None, compare=False)

    def ordered(self, shapes: Int64, machines: Int64) -> Bool:
        """bool[A]: the machine's kubelet aligns tasks of ``shapes[i]``."""
        return self.zones.policies(shapes, machines) > 0

    def room(self, shape: int) -> Int64:
        """int64[M]: how many more tasks of a shape each machine takes by themselves."""
        told = self._memory().rough[shape]
        unknown = np.flatnonzero(told == UNKNOWN)
        if 2 * len(unknown) > len(told):
            told[:] = np.minimum(self.zones.room_of(shape), ANY)
        elif len(unknown):
            told[unknown] = np.minimum(self.zones.room(np.full(len(unknown), shape), unknown), ANY)
        return _widened(told)

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        """int64[A]: how many more tasks of ``shapes[i]`` machine ``machines[i]`` takes by themselves."""
        exact = self._memory().exact
        told = exact[shapes, machines]
        unknown = np.flatnonzero(told == UNKNOWN)
        if len(unknown):
            of, at = shapes[unknown], machines[unknown]
            told[unknown] = np.minimum(self.zones.room(of, at), ANY)
            exact[of, at] = told[unknown]
        return _widened(told)

    def take(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Book up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; int64[A] of how many each took."""
        if self._answers is not None:
            self._answers.forget(np.unique(machines))
        return self.zones.take(shapes, machines, counts)

    def copy(self) -> ZoneLedger:
        """Return an independent copy."""
        return ZoneLedger(
            self.zones.copy(), self.reason, None if self._answers is None else self._answers.copy()
        )

    def saved(self) -> Arrays:
        """What the zones have and what shapes ask of them; not what is remembered of it."""
        return ROOM.encode(self.zones)

    def _memory(self) -> _Answers:
        if self._answers is None:
            self._answers = _Answers.nothing(self.zones)
        return self._answers


def _widened(told: Int32) -> Int64:
    return np.where(told == ANY, UNLIMITED, told).astype(np.int64)


# --- The room in zones as plain arrays, and back.


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
