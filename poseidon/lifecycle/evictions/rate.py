"""Limits how many pods the bridge evicts, over time and at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from protos.configuration.sections import Section


class EvictionLimits(Section):
    """The section ``evictions``: limits ``per_second`` over time and in one ``burst`` after a quiet time."""

    per_second: Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)] = 50.0
    burst: Annotated[int, Field(ge=1, le=1_000_000)] = 5000


class EvictionRate:
    """A token bucket that limits evictions. ``clock`` is monotonic.

    Pods that must be evicted together are never split. If the evictions are more than the bucket can hold, a full
    bucket allows all of them, and later evictions wait longer.
    """

    def __init__(self, limits: EvictionLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._left = float(limits.burst)
        self._at = clock()

    def allows(self, count: int) -> bool:
        """Return whether ``count`` pods may be evicted together now; if so, count them as evicted."""
        now = self._clock()
        burst = float(self._limits.burst)
        self._left = min(burst, self._left + (now - self._at) * self._limits.per_second)
        self._at = now
        if self._left < min(count, burst):
            return False
        self._left -= count
        return True
