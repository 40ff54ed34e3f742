"""Limits how fast a simulated scheduler writes its placements: a token bucket, as in clients of the API server."""

from __future__ import annotations

from poseidon.simulate.scenario.document import RequestLimit


class RequestBucket:
    """A token bucket: ``burst`` requests at once after a pause, then ``per_second``."""

    def __init__(self, limit: RequestLimit) -> None:
        self.per_pod, self.per_gang, self.per_eviction = limit.per_pod, limit.per_gang, limit.per_eviction
        self.per_refusal = limit.per_refusal
        self._interval = 1.0 / limit.per_second
        self._whole = limit.burst * self._interval
        self._empty = -self._whole
        """When the bucket was empty, or will be, if it fills all the time."""

    def send(self, requests: float, now: float) -> float:
        """Return when ``requests`` further requests are sent, in seconds since the beginning."""
        self._empty = max(self._empty, now - self._whole) + requests * self._interval
        return max(now, self._empty)
