"""Who leads, decided by one Lease; sans I/O.

The rules are those of client-go's ``leaderelection``: a Lease may be taken over if nobody holds it, or if this process
has seen no renewal for as long as the Lease states; a leader stops when it has not renewed for ``renew_deadline``. A
Lease that states more than ``longest_lease`` counts as if it stated that: its holder is no bridge, or none that is
configured alike. Clocks of different machines are never compared: only changes of the Lease count, and when they are
seen here.

A fencing number goes with the Lease, in an annotation: each leader's is larger than that of all before it, and at least
the milliseconds since the epoch, which bridges without a Lease use. Solvers refuse drivers with smaller ones.
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
"""Annotation of the Lease: the number of its holder."""

_RELEASED_SECONDS = 1
"""What a Lease states that nobody holds; zero is no valid duration."""
_AHEAD_MS = 3_600_000
"""A number further ahead of the clock than this is nobody's: solvers think nothing of it either."""
_RETRY_AT_ONCE = 0.1
"""Seconds until a candidate asks again who has written in between."""


class Role(Enum):
    """How this process stands."""

    STANDBY = "standby"
    LEADER = "leader"
    ENDED = "ended"
    """Has led, and never will again."""


class LeaseWrite(NamedTuple):
    """A Lease to be written in place of the one that was seen; without a version it is to be created."""

    lease: Lease
    begun: float


class Election:
    """One candidate. ``identity`` tells it from all others, ``clock`` is monotonic, ``wall`` seconds since the epoch.

    ``random`` keeps candidates apart that wait for the same moment.
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
        """How this process stands."""
        self.fencing = 0
        """The number of this leader; 0 before it leads."""

    @property
    def holder(self) -> str:
        """The present holder of the Lease as far as it is known, "" if nobody holds it."""
        return self._seen.spec.holder_identity if self._seen is not None else ""

    @property
    def deadline(self) -> float:
        """Until when, by ``clock``, this leader may write unless it renews before."""
        return self._deadline

    def may_write(self) -> bool:
        """Return whether this process may change the cluster now."""
        return self.role is Role.LEADER and self._clock() < self._deadline

    def observe(self, lease: Lease | None) -> None:
        """Take the Lease as a watch shows it, None if it is deleted; this may be out of date.

        A leader that sees another holder renews at once, to make sure.
        """
        if self.role is not Role.LEADER:
            self.read(lease)
        elif lease is None or lease.spec.holder_identity != self._identity:
            self._try_at = self._clock()

    def read(self, lease: Lease | None) -> None:
        """Take the Lease as the API server has it at present, None if there is none."""
        former = self._seen
        if former is None or lease is None or lease.spec != former.spec:
            self._seen_at = self._clock()
        self._seen = lease
        if self.role is Role.LEADER and self.holder not in ("", self._identity):
            self._end()

    def due(self) -> float:
        """Return when, by ``clock``, to ask for the next write; who has ended does so at once, to be told."""
        if self.role is Role.ENDED:
            return float("-inf")
        if self._seen is None or self.role is Role.LEADER or self.holder in ("", self._identity):
            return self._try_at
        stated = min(self._seen.spec.lease_duration_seconds, self._options.longest_lease)
        return max(self._try_at, self._seen_at + stated)

    def next_write(self) -> LeaseWrite | None:
        """Return what to write now, to lead or to go on leading; None if there is nothing to be written yet.

        Who led and has not renewed in time does not lead from here on.
        """
        now = self._clock()
        if self.role is Role.LEADER and now >= self._deadline:
            self._end()
        if self.role is Role.ENDED or now < self.due():
            return None
        self._try_at = now + self._options.retry_period
        if self.role is Role.STANDBY:
            self._try_at += self._random.random() * (JITTER - 1.0) * self._options.retry_period
        return LeaseWrite(self._propose(), now)

    def note_written(self, write: LeaseWrite, lease: Lease) -> None:
        """Take that a write was made; ``lease`` is what the API server has made of it.

        Others cannot have seen it before ``write`` was begun, so that is when the time of this leader starts.
        """
        self.read(lease)
        if self.role is Role.ENDED:
            return
        self._deadline = write.begun + self._options.renew_deadline
        self._try_at = write.begun + self._options.retry_period
        self.fencing = _fencing(lease)
        self.role = Role.LEADER

    def outrun(self, lease: Lease | None) -> None:
        """Note that another candidate has written in between; ``lease`` is the present one."""
        self.read(lease)
        self._try_at = min(self._try_at, self._clock() + _RETRY_AT_ONCE)

    def release(self) -> Lease | None:
        """Return the Lease for others to take over at once, None if it is not this process's; it never leads again."""
        led = self.may_write()
        self._end()
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

    def _end(self) -> None:
        self.role = Role.ENDED
        self._deadline = float("-inf")

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
    """Return the number that a Lease bears, 0 if it bears none."""
    text = lease.metadata.annotations.get(FENCING, "") if lease is not None else ""
    return int(text) if len(text) < 20 and text.isascii() and text.isdecimal() else 0


def _micro_time(seconds: float) -> str:
    """Write seconds since the epoch as Kubernetes writes ``MicroTime``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
