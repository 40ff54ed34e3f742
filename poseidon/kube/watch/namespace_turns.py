"""Handles changes of many namespaces in turn, so that one namespace's slow objects do not delay others.

Some objects take a hundred times as long to handle as others, and the time cannot be known beforehand. The time spent
on each namespace is therefore measured, and slowly forgotten. Changes wait in one queue per namespace, and the
namespace with the least time goes first. If several namespaces have changes, a namespace with more time than another
pauses after each piece of work, for a multiple of the work's time: the event loop then has time for the other
namespaces' objects, such as their bindings. If only one namespace has changes, the work on it never pauses.

Changes of one object keep their order. If several changes of one object wait, only the last one is passed on, as with
a list.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

from poseidon.kube.api.metadata import KubeStruct, get_metadata
from poseidon.kube.api.resource import Change

T = TypeVar("T", bound=KubeStruct)

PAUSE = 2
"""While other namespaces are served, a namespace pauses this many times as long as its last piece of work took."""

RECENT = 0.25
"""Seconds for which a namespace counts as being served after a change of it was passed on: as long as bindings take."""

MOST_BYTES = 64 * 2**20
"""Most bytes of JSON that may wait. If more wait, no namespace pauses, and the watch is not read until fewer wait."""

_SLICE = 0.01
"""Seconds of work after which the event loop may do other work."""
LONG = 0.004
"""Target for the longest time, in seconds, that changes of one namespace are passed on without a break."""
_FIRST, _LARGEST = 4, 256
"""Number of changes that are passed on together: at first, and at most."""
_FORGOTTEN = 0.25
"""Seconds of a namespace's work that are forgotten per second."""
_NAMESPACES_SERVED = 16
"""Number of namespaces for which the time of the last change is remembered."""


@dataclass(slots=True)
class _Namespace:
    waiting: deque[str] = field(default_factory=deque)
    """Uids of objects with waiting changes."""
    used: float = 0.0
    """Seconds of work as of ``at``, less what has been forgotten."""
    at: float = 0.0
    not_before: float = 0.0
    """The time when the namespace's pause ends."""
    piece: int = _FIRST

    def decay(self, now: float) -> float:
        """Return the seconds of work that still count for a namespace; they decrease over time."""
        return max(0.0, self.used - (now - self.at) * _FORGOTTEN)


class NamespaceTurns(Generic[T]):
    """The waiting changes, of which a few of one namespace at a time go to ``deliver``; ``clock`` is monotonic."""

    def __init__(self, deliver: Callable[[Sequence[Change[T]]], None], clock: Callable[[], float]) -> None:
        self._deliver, self._clock = deliver, clock
        self._namespaces: dict[str, _Namespace] = {}
        self._waiting: dict[str, _Namespace] = {}
        self._changes: dict[str, tuple[Change[T], int]] = {}
        self._served: dict[str, float] = {}
        self._bytes = 0
        self._quiet_at = clock()

    def __len__(self) -> int:
        """Return how many objects wait."""
        return len(self._changes)

    @property
    def is_idle(self) -> bool:
        """Whether no change waits and no past work counts any more."""
        return not self._changes and self._clock() >= self._quiet_at

    def take(self, changes: Sequence[Change[T]], size: int = 0) -> None:
        """Add changes (of ``size`` bytes in all), and pass on some of them; the others wait for ``hand_on``."""
        each = size // len(changes) if changes else 0
        for change in changes:
            known = self._changes.get(change.uid)
            if known is None:
                self._queue(change).waiting.append(change.uid)
            self._bytes += each - (known[1] if known is not None else 0)
            self._changes[change.uid] = change, each
        self.hand_on()
        while self._bytes > MOST_BYTES:
            self.hand_on()

    def hand_on(self) -> None:
        """Pass on waiting changes for a short time, first those of namespaces that have used the least time."""
        begun = now = self._clock()
        crowded = self._bytes > MOST_BYTES
        ready = [
            (each.decay(now), name)
            for name, each in self._waiting.items()
            if crowded or each.not_before <= now
        ]
        heapify(ready)
        while ready and now - begun < _SLICE:
            name = ready[0][1]
            now = self._hand_on_piece(name)
            left = self._waiting.get(name)
            if left is not None and (crowded or left.not_before <= now):
                heapreplace(ready, (left.decay(now), name))
            else:
                heappop(ready)

    def next_in(self) -> float | None:
        """Return in how many seconds a change may be passed on by ``hand_on``; None if none waits."""
        if not self._waiting:
            return None
        return max(0.0, min(each.not_before for each in self._waiting.values()) - self._clock())

    def charge(self, change: Change[T], took: float) -> None:
        """Count ``took`` seconds for the namespace of a change that was handled at once, without waiting here."""
        self._charge(self._find(change), 1, took, self._clock())

    def _queue(self, change: Change[T]) -> _Namespace:
        name = self._find(change)
        namespace = self._waiting[name] = self._namespaces[name]
        return namespace

    def _find(self, change: Change[T]) -> str:
        """Return the namespace of a change, and add it if it is new."""
        found = change.object
        # The namespace of a deleted object is not known at this point; handling the end of an object takes little
        # time.
        name = get_metadata(found).namespace if found is not None else ""
        if name not in self._namespaces:
            self._namespaces[name] = _Namespace(at=self._clock())
        return name

    def _hand_on_piece(self, name: str) -> float:
        """Pass on a few changes of a namespace; return the clock's time afterwards."""
        namespace = self._namespaces[name]
        uids = [namespace.waiting.popleft() for _ in range(min(namespace.piece, len(namespace.waiting)))]
        if not namespace.waiting:
            del self._waiting[name]
        taken = [self._changes.pop(uid) for uid in uids]
        self._bytes -= sum(size for _, size in taken)
        begun = self._clock()
        try:
            self._deliver([change for change, _ in taken])
        finally:
            now = self._clock()
            self._charge(name, len(uids), now - begun, now)
        return now

    def _charge(self, name: str, count: int, took: float, now: float) -> None:
        namespace = self._namespaces[name]
        namespace.used, namespace.at = namespace.decay(now) + took, now
        if took > LONG:
            namespace.piece = max(1, int(count * LONG / took))
        elif took < LONG / 2 and count == namespace.piece:
            namespace.piece = min(2 * namespace.piece, _LARGEST)
        namespace.not_before = now + PAUSE * took if self._has_company(name, namespace.used, now) else now
        self._served.pop(name, None)
        self._served[name] = now
        if len(self._served) > _NAMESPACES_SERVED:
            del self._served[next(iter(self._served))]
        self._quiet_at = max(self._quiet_at, now + namespace.used / _FORGOTTEN)
        if namespace.used <= 0.0 and name not in self._waiting:
            del self._namespaces[name]

    def _has_company(self, name: str, used: float, now: float) -> bool:
        """Return whether another namespace that has used less time has been served lately."""
        return any(
            now - at < RECENT and other != name and self._get_used(other, now) < used
            for other, at in self._served.items()
        )

    def _get_used(self, name: str, now: float) -> float:
        namespace = self._namespaces.get(name)
        return namespace.decay(now) if namespace is not None else 0.0
