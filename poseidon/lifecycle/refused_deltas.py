"""Counts the deltas of the solver that the bridge does not carry out, by reason, and logs the first of each reason."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from enum import StrEnum

_log = logging.getLogger(__name__)

ROUNDS = 30
SECONDS = 60.0
"""An honest solver that has missed something backs off, twice as long each time, so it has a few such rounds a
minute.
"""


class Kind(StrEnum):
    """The kinds of requests by the solver that may be refused."""

    BINDING = "binding"
    EVICTION = "eviction"
    MIGRATION = "migration"


class Reason(StrEnum):
    """Why it is not done."""

    GONE = "gone"  # there is no such pod, or it is none that could be placed or evicted here
    ELSEWHERE = "elsewhere"  # the pod has another node
    NOT_PENDING = "not_pending"  # the pod must not be scheduled now
    NO_NODE = "no_node"  # there is no such node
    UNFIT = "unfit"  # the node does not take the pod as both are now
    BEING_BOUND = "being_bound"  # the pod to be evicted is on its way to a node
    NO_REASON = "no_reason"  # nobody needs the place of the pod to be evicted, nor has its gang failed
    NOT_LOWER = "not_lower"  # the pod to be evicted is not less important than whoever needs its place
    IN_VAIN = "in_vain"  # whoever needs its place waits also for others that stay
    RATE = "rate"  # too many evictions at a time
    UNSUPPORTED = "unsupported"  # no such thing can be done


_SUSPICIOUS = frozenset({Reason.NO_REASON, Reason.NOT_LOWER, Reason.UNSUPPORTED})
"""Refusals of requests that a solver with correct data never makes. Other refusals happen while changes are on their
way, or if very many pods must be evicted at a time.
"""
_WARNED_OF = _SUSPICIOUS | {Reason.RATE}


class Refusals:
    """Counts refusals by kind and reason; ``counts``: since they were last taken."""

    def __init__(self) -> None:
        self.suspicious = 0
        """How many deltas no honest solver asks for."""
        self.counts: Counter[tuple[Kind, Reason]] = Counter()
        self._logged: set[tuple[Kind, Reason]] = set()

    def note(self, kind: Kind, reason: Reason, pod: str, words: str) -> None:
        """Record that the solver's request for ``pod`` (its name, or uid) was refused, and why in ``words``."""
        self.counts[kind, reason] += 1
        self.suspicious += reason in _SUSPICIOUS
        if (kind, reason) not in self._logged:
            self._logged.add((kind, reason))
            level = logging.WARNING if reason in _WARNED_OF else logging.INFO
            _log.log(level, 'delta refused kind=%s reason=%s pod=%s message="%s"', kind, reason, pod, words)

    def take_counts(self) -> Counter[tuple[Kind, Reason]]:
        """Return how often each kind was refused for each reason since the last call."""
        counts, self.counts = self.counts, Counter()
        return counts


class Distrust:
    """Counts the rounds of one stream that contain suspicious requests. ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rounds: deque[float] = deque()

    def suspect(self) -> bool:
        """Record a suspicious round; return whether that makes ``ROUNDS`` within ``SECONDS``."""
        now = self._clock()
        self._rounds.append(now)
        while self._rounds[0] <= now - SECONDS:
            self._rounds.popleft()
        return len(self._rounds) >= ROUNDS

    def forget(self) -> None:
        """Forget the suspicious rounds of the stream that has ended."""
        self._rounds.clear()
