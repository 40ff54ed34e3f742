"""A token bucket, with which clients of the API server limit their requests."""

from __future__ import annotations


class TokenBucket:
    """Allows ``burst`` requests at once after a pause, then ``per_second`` requests per second."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._interval = 1.0 / per_second
        self._whole = burst * self._interval
        self._empty = -self._whole
        """The past or future time at which the bucket is empty if it fills continuously."""

    def send(self, requests: float, now: float) -> float:
        """Return when ``requests`` further requests are sent, in seconds since the beginning of the simulation."""
        if requests <= 0.0:
            return now
        self._empty = max(self._empty, now - self._whole) + requests * self._interval
        return max(now, self._empty)
