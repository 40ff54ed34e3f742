"""Limits how fast a simulated scheduler writes its decisions."""

from __future__ import annotations

from collections.abc import Iterable

from poseidon.simulate.scenario.document import RequestLimit
from poseidon.simulate.token_bucket import TokenBucket
from poseidon.simulate.workloads.columns import ALONE


class RequestBucket(TokenBucket):
    """A token bucket for the requests that a scheduler sends for its decisions."""

    def __init__(self, limit: RequestLimit) -> None:
        super().__init__(limit.per_second, limit.burst)
        self._limit = limit

    def send_placements(self, gangs: Iterable[int], now: float) -> list[float]:
        """Return when the placement of each pod is written to the API server, given the gang of each."""
        return self._send(gangs, self._limit.per_pod, self._limit.per_gang, now)

    def send_evictions(self, gangs: Iterable[int], now: float) -> list[float]:
        """Return when the eviction of each pod is written to the API server, given the gang of each."""
        return self._send(gangs, self._limit.per_eviction, self._limit.per_evicted_gang, now)

    def send_refusals(self, count: int, now: float) -> float:
        """Return when the refusals of ``count`` gangs and pods are written to the API server."""
        return self.send(self._limit.per_refusal * count, now)

    def _send(self, gangs: Iterable[int], per_pod: float, per_gang: float, now: float) -> list[float]:
        """Return when each pod's requests are sent.

        The further requests of a gang are sent together with those of its first pod.
        """
        written: dict[int, float] = {}
        sent = []
        for gang in gangs:
            more = per_gang if gang == ALONE else 0.0
            if gang != ALONE and gang not in written:
                written[gang] = self.send(per_gang, now)
            sent.append(max(self.send(per_pod + more, now), written.get(gang, now)))
        return sent
