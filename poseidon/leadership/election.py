"""Decides which process leads, by one Lease; does no I/O.

The rules are those of client-go's ``leaderelection``: a process may take over a Lease if no process holds it, or if it
has seen no renewal for as long as the Lease states. A leader stops if it has not renewed the Lease for
``renew_deadline``. A Lease that states more than ``longest_lease`` counts as if it stated ``longest_lease``: its holder
is no bridge, or has another configuration. Clocks of different machines are never compared: only the times matter at
which this process sees changes of the Lease.

A fencing number goes with the Lease, in an annotation: each leader's number is larger than those of all earlier
leaders, and at least the milliseconds since the epoch, which bridges without a Lease use. Solvers refuse drivers with
smaller numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from random import Random
from typing import NamedTuple

from poseidon.kube.api.coordination import Lease, LeaseSpec
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.leadership.options import JITTER, LeaderElectionOptions

FENCING = "poseidon.firmament.io/fencing"
"""Annotation of the Lease: the fencing number of its holder."""

_RELEASED_SECONDS = 1
"""Duration that a released Lease states; Kubernetes does not allow zero."""
_AHEAD_MS = 3_600_000
"""Milliseconds: a fencing number further ahead of the clock than this is ignored, as solvers do too."""
_RETRY_AT_ONCE = 0.1
"""Seconds until a candidate tries again after another process has written the Lease first."""


class Role(Enum):
    """The role of this process in the election."""

    STANDBY = "standby"
    LEADER = "leader"
    ENDED = "ended"
    """The process has lost or released the Lease, and never leads again."""


class LeaseWrite(NamedTuple):
    """A Lease to write.

    The Lease replaces the one with the resource version in its metadata; without a version, the Lease is created.

    ``begun``: time of the decision, by the election's ``clock``.
    """

    lease: Lease
    begun: float


class Election:
    """A candidate of an election.

    ``identity``: a name that no other candidate has; ``clock``: monotonic seconds; ``wall``: seconds since the epoch;
    ``random``: varies the times at which candidates try, so that not all try at once.
    """

    def __init__(
        self,
        identity: str,
        options: LeaderElectionOptions,
        *,
        namespace: str,
        clock: Callable[[], float],
        wall: Callable[[], float],
        random: Random,
    ) -> None:
        self._identity = identity
        self._options = options
        self._namespace = namespace
        self._clock = clock
        self._wall = wall
        self._random = random
        self._seen: Lease | None = None
        self._seen_at = float("-inf")
        self._try_at = float("-inf")
        self._deadline = float("-inf")
        self.role = Role.STANDBY
        """The role of this process in the election."""
        self.fencing = 0
        """The fencing number of this leader; 0 before it leads."""

    @property
    def holder(self) -> str:
        """The holder of the Lease as last seen, "" if no process held it."""
        return self._seen.spec.holder_identity if self._seen is not None else ""

    @property
    def deadline(self) -> float:
        """Time, by ``clock``, until which this leader may write unless it renews the Lease."""
        return self._deadline

    def may_write(self) -> bool:
        """Return whether this process may change the cluster now."""
        return self.role is Role.LEADER and self._clock() < self._deadline

    def observe(self, lease: Lease | None) -> None:
        """Note the Lease as a watch shows it, which may be out of date; None: the Lease was deleted.

        If a leader sees another holder in the Lease, it renews the Lease at once, which shows who holds it.
        """
        if self.role is not Role.LEADER:
            self.read(lease)
        elif lease is None or lease.spec.holder_identity != self._identity:
            self._try_at = self._clock()

    def read(self, lease: Lease | None) -> None:
        """Note the present Lease from the API server's answer, None if no Lease exists."""
        former = self._seen
        if former is None or lease is None or lease.spec != former.spec:
            self._seen_at = self._clock()
        self._seen = lease
        if self.role is Role.LEADER and self.holder not in ("", self._identity):
            self.role = Role.ENDED

    def due(self) -> float:
        """Return the time, by ``clock``, to call ``next_write``; ``-inf`` for a process that has ended."""
        if self.role is Role.ENDED:
            return float("-inf")
        if self._seen is None or self.role is Role.LEADER or self.holder in ("", self._identity):
            return self._try_at
        stated = min(self._seen.spec.lease_duration_seconds, self._options.longest_lease)
        return max(self._try_at, self._seen_at + stated)

    def next_write(self) -> LeaseWrite | None:
        """Return the Lease to write now to become or stay leader; None if it is too early or this process has ended.

        If a leader has not renewed the Lease in time, this call ends its lead.
        """
        now = self._clock()
        if self.role is Role.LEADER and now >= self._deadline:
            self.role = Role.ENDED
        if self.role is Role.ENDED or now < self.due():
            return None
        self._try_at = now + self._options.retry_period
        if self.role is Role.STANDBY:
            self._try_at += self._random.random() * (JITTER - 1.0) * self._options.retry_period
        return LeaseWrite(self._propose(), now)

    def note_written(self, write: LeaseWrite, lease: Lease) -> None:
        """Note a successful write, after which this process leads; ``lease``: the Lease as the API server returned it.

        The leader's time counts from the beginning of ``write``, because other processes cannot have seen the Lease
        earlier.
        """
        self.read(lease)
        if self.role is Role.ENDED:
            return
        self._deadline = write.begun + self._options.renew_deadline
        self._try_at = write.begun + self._options.retry_period
        self.fencing = _fencing(lease)
        self.role = Role.LEADER

    def note_overtaken(self, lease: Lease | None) -> None:
        """Record that another process has written the Lease first; ``lease``: the present Lease."""
        self.read(lease)
        self._try_at = min(self._try_at, self._clock() + _RETRY_AT_ONCE)

    def release(self) -> Lease | None:
        """End the candidacy for ever; return the Lease to write for a quick takeover, None if it did not lead."""
        led = self.may_write()
        self.role = Role.ENDED
        if not led or self._seen is None:
            return None
        now = _micro_time(self._wall())
        spec = LeaseSpec(
            holder_identity="",
            lease_duration_seconds=_RELEASED_SECONDS,
            acquire_time=now,
            renew_time=now,
            lease_transitions=self._seen.spec.lease_transitions,
        )
        return Lease(self._metadata(self.fencing), spec)

    def _propose(self) -> Lease:
        seen, now = self._seen.spec if self._seen is not None else LeaseSpec(), _micro_time(self._wall())
        leads = self.role is Role.LEADER
        fencing = self.fencing if leads else self._next_fencing()
        spec = LeaseSpec(
            holder_identity=self._identity,
            lease_duration_seconds=max(round(self._options.lease_duration), 1),
            acquire_time=seen.acquire_time if leads else now,
            renew_time=now,
            lease_transitions=seen.lease_transitions + (not leads and self._seen is not None),
        )
        return Lease(self._metadata(fencing), spec)

    def _next_fencing(self) -> int:
        now, former = int(self._wall() * 1000), _fencing(self._seen)
        return now if former > now + _AHEAD_MS else max(former + 1, now)

    def _metadata(self, fencing: int) -> ObjectMeta:
        version = self._seen.metadata.resource_version if self._seen is not None else ""
        return ObjectMeta(
            name=self._options.resource_name,
            namespace=self._namespace,
            resource_version=version,
            annotations={FENCING: str(fencing)},
        )


def _fencing(lease: Lease | None) -> int:
    """Return the fencing number in a Lease's annotation, 0 if the Lease has none."""
    text = lease.metadata.annotations.get(FENCING, "") if lease is not None else ""
    return int(text) if len(text) < 20 and text.isascii() and text.isdecimal() else 0


def _micro_time(seconds: float) -> str:
    """Return seconds since the epoch in the format of Kubernetes' ``MicroTime``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
