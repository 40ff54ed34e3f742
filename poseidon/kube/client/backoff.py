"""Computes pauses between tries: exponential back-off with jitter."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class Backoff:
    """Delays that double from ``initial`` up to ``cap`` seconds.

    Each delay is a random number within the upper half of its step. Clients that failed at the same time therefore do
    not try again at the same time, and no client tries again at once.
    """

    random: Random
    initial: float = 0.2
    cap: float = 30.0
    failures: int = field(default=0, init=False)

    def next(self) -> float:
        """Count one more failure; return how many seconds to wait before the next try."""
        # The exponent is bounded: long outages would otherwise overflow a float.
        step = min(self.cap, self.initial * 2.0 ** min(self.failures, 64))
        self.failures += 1
        return step * (0.5 + 0.5 * self.random.random())

    def reset(self) -> None:
        """Reset the delays to the initial delay, after a success."""
        self.failures = 0
