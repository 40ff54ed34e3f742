"""Counts the deltas of the solver that the bridge does not carry out, by reason, and logs the first of each reason."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from enum import StrEnum

_log = logging.getLogger(__name__)

ROUNDS = 30
SECONDS = 60.0
"""Limit of suspicious rounds (``ROUNDS``) within this many seconds.

An honest solver with old data doubles its pause after each failure, so it has only a few such rounds a minute.
"""


class Kind(StrEnum):
    """The kinds of deltas that may be refused."""

    BINDING = "binding"
    EVICTION = "eviction"
    MIGRATION = "migration"


class Reason(StrEnum):
    """Why a delta is not carried out."""

    GONE = "gone"  # the pod does not exist, or this scheduler can neither place nor evict it
    ELSEWHERE = "elsewhere"  # the pod is on another node
    NOT_PENDING = "not_pending"  # the pod must not be scheduled now
    NO_NODE = "no_node"  # the node does not exist
    UNFIT = "unfit"  # the pod does not fit the node any more
    BEING_BOUND = "being_bound"  # the pod to be evicted is being bound
    NO_REASON = "no_reason"  # no pod needs the victim's place, and the victim's gang has not failed
    NOT_LOWER = "not_lower"  # the victim is not less important than the pod that needs its place
    IN_VAIN = "in_vain"  # the pod that needs the victim's place cannot come
    RATE = "rate"  # too many pods have been evicted lately
    UNSUPPORTED = "unsupported"  # the bridge cannot carry out such a delta


_SUSPICIOUS = frozenset({Reason.NO_REASON, Reason.NOT_LOWER, Reason.UNSUPPORTED})
"""Reasons for refusing requests that a solver with correct data never makes.

Other refusals happen while changes are under way, or if very many pods must be evicted at once.
"""
_WARNED_OF = _SUSPICIOUS | {Reason.RATE}


class Refusals:
    """The numbers of refused deltas by kind and reason; ``counts`` are the numbers since ``take_counts``."""

    def __init__(self) -> None:
        self.suspicious = 0
        """Number of refused deltas that a solver with correct data never sends."""
        self.counts: Counter[tuple[Kind, Reason]] = Counter()
        self._logged: set[tuple[Kind, Reason]] = set()

    def note(self, kind: Kind, reason: Reason, pod: str, words: str) -> None:
        """Count a refused delta about ``pod`` (name or uid); ``words`` say why, for the log."""
        self.counts[kind, reason] += 1
        self.suspicious += reason in _SUSPICIOUS
        if (kind, reason) not in self._logged:
            self._logged.add((kind, reason))
            level = logging.WARNING if reason in _WARNED_OF else logging.INFO
            _log.log(level, 'delta refused kind=%s reason=%s pod=%s message="%s"', kind, reason, pod, words)

    def take_counts(self) -> Counter[tuple[Kind, Reason]]:
        """Return the numbers of refused deltas by kind and reason since the last call."""
        counts, self.counts = self.counts, Counter()
        return counts


class Distrust:
    """The number of rounds of one stream that contain suspicious requests; ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rounds: deque[float] = deque()

    def suspect(self) -> bool:
        """Record a suspicious round; return whether ``ROUNDS`` such rounds came within ``SECONDS``."""
        now = self._clock()
        self._rounds.append(now)
        while self._rounds[0] <= now - SECONDS:
            self._rounds.popleft()
        return len(self._rounds) >= ROUNDS

    def forget(self) -> None:
        """Reset the number of suspicious rounds, because the stream has ended."""
        self._rounds.clear()
