"""How fast a simulated scheduler writes what it has placed: a token bucket, as that of clients of the API server."""

from __future__ import annotations

from poseidon.simulate.scenario.document import RequestLimit


class RequestBucket:
    """Requests go one after another: ``burst`` at once after a pause, then so many per second."""

    def __init__(self, limit: RequestLimit) -> None:
        self.per_pod, self.per_gang, self.per_eviction = limit.per_pod, limit.per_gang, limit.per_eviction
        self._interval = 1.0 / limit.per_second
        self._whole = limit.burst * self._interval
        self._empty = -self._whole
        """When the bucket was empty, or will be, if it fills all the time."""

    def send(self, requests: float, now: float) -> float:
        """Return when so many further requests have gone, in seconds since the beginning."""
        self._empty = max(self._empty, now - self._whole) + requests * self._interval
        return max(now, self._empty)
