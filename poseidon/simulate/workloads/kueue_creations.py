"""Times the requests by which the client of Kueue's performance tests creates objects.

The client first creates the nodes of a topology, one after another, each with five requests; then the Topology and the
ResourceFlavor; then all queues at the same time, each with three requests. The sets of workloads of a queue begin when
the queue is there; each set creates one workload after another, with a pause before each. The client waits for the
answer to each request before it sends the next one of the same node, queue or set. Requests for objects of one kind
share a limit, since controller-runtime's client has one per kind.

Source: ``test/performance/scheduler/runner/generator`` and ``CreateNodesWithStatus`` in ``test/util/util.go`` of Kueue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Any, TypeAlias

from poseidon.simulate.scenario.document import CreationLimit
from poseidon.simulate.token_bucket import TokenBucket

Times: TypeAlias = list[float]
"""When the workloads of a set are created, in seconds from the beginning."""
WorkloadSet: TypeAlias = Mapping[str, Any]

NODE_REQUESTS = 5
"""Requests for a node: create it, read it, write its status, read it, remove its taint."""
QUEUE_KINDS = ("ClusterQueue", "Namespace", "LocalQueue")
"""The objects of a queue, in the order in which they are created."""


def time_creations(
    queues: Sequence[Sequence[WorkloadSet]], nodes: int, limit: CreationLimit | None
) -> list[Times]:
    """Return when the workloads of each set of each queue are created, all sets in one list.

    ``nodes``: number of nodes of the topology, 0 if there is none. Without a limit, requests take no time.
    """
    sets = [each for queue in queues for each in queue]
    if limit is None:
        return [[(number + 1) * _interval(each) for number in range(_count(each))] for each in sets]
    client = _Client(limit)
    ready = client.create_queues(len(queues), client.create_cluster(nodes))
    begins = [when for when, queue in zip(ready, queues, strict=True) for _ in queue]
    return client.create_workloads(sets, begins)


class _Client:
    """Sends requests within the limit of each kind, and waits for their answers."""

    def __init__(self, limit: CreationLimit) -> None:
        self._limit = limit
        self._buckets: dict[str, TokenBucket] = {}

    def create_cluster(self, nodes: int) -> float:
        """Return when the nodes, their topology if there are any, and the flavor are created."""
        kinds = ["Node"] * NODE_REQUESTS * nodes + ["Topology"] * (nodes > 0) + ["ResourceFlavor"]
        now = 0.0
        for kind in kinds:
            now = self._request(kind, now)
        return now

    def create_queues(self, count: int, begin: float) -> Times:
        """Return when each queue is created, if all begin together."""
        ready = [begin] * count
        for kind in QUEUE_KINDS:
            ready = [self._request(kind, when) for when in ready]
        return ready

    def create_workloads(self, sets: Sequence[WorkloadSet], begins: Sequence[float]) -> list[Times]:
        """Return when the workloads of each set are created; who asks first is served first."""
        created: list[Times] = [[] for _ in sets]
        asking = [
            (begin + _interval(each), place)
            for place, (each, begin) in enumerate(zip(sets, begins, strict=True))
            if _count(each)
        ]
        heapify(asking)
        while asking:
            asked, place = asking[0]
            created[place].append(self._request("Workload", asked))
            if len(created[place]) < _count(sets[place]):
                heapreplace(asking, (created[place][-1] + _interval(sets[place]), place))
            else:
                heappop(asking)
        return created

    def _request(self, kind: str, now: float) -> float:
        """Send a request for an object of a kind as soon as the limit allows; return when it is answered."""
        limit = self._limit
        bucket = self._buckets.setdefault(kind, TokenBucket(limit.per_second, limit.burst))
        return bucket.send(1.0, now) + limit.latency


def _interval(each: WorkloadSet) -> float:
    return float(each.get("creationIntervalMs", 0)) / 1000.0


def _count(each: WorkloadSet) -> int:
    return int(each.get("count", 1)) * len(each.get("workloads", ()))
