"""Computes when the client of Kueue's performance tests creates its objects, from its requests and their limits.

The client first creates the nodes of a topology, one after another, with five requests each; then the Topology and
the ResourceFlavor; then all queues at the same time, with three requests each. The sets of workloads of a queue begin
when the queue exists. Each set creates one workload after another, with a pause before each workload. The client
waits for the answer to each request before it sends the next request of the same node, queue or set. Requests for
objects of one kind share a limit, because controller-runtime's client has one limit per kind.

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
"""Number of requests for a node: create it, read it, write its status, read it, remove its taint."""
QUEUE_KINDS = ("ClusterQueue", "Namespace", "LocalQueue")
"""Kinds of the objects that make a queue, in the order of creation."""


def time_creations(
    queues: Sequence[Sequence[WorkloadSet]], nodes: int, limit: CreationLimit | None
) -> list[Times]:
    """Return when the workloads of each set are created; the sets of all queues are in one list.

    ``nodes`` is the number of nodes in the topology, 0 if there is no topology. Without a limit, requests take no
    time.
    """
    sets = [each for queue in queues for each in queue]
    if limit is None:
        return [[(number + 1) * _interval(each) for number in range(_count(each))] for each in sets]
    client = _Client(limit)
    ready = client.create_queues(len(queues), client.create_cluster(nodes))
    begins = [when for when, queue in zip(ready, queues, strict=True) for _ in queue]
    return client.create_workloads(sets, begins)


class _Client:
    """Imitates a client that sends requests within the limit of each kind, and waits for the answers."""

    def __init__(self, limit: CreationLimit) -> None:
        self._limit = limit
        self._buckets: dict[str, TokenBucket] = {}

    def create_cluster(self, nodes: int) -> float:
        """Return when the nodes, their topology (if there are nodes) and the flavor have been created."""
        kinds = ["Node"] * NODE_REQUESTS * nodes + ["Topology"] * (nodes > 0) + ["ResourceFlavor"]
        now = 0.0
        for kind in kinds:
            now = self._request(kind, now)
        return now

    def create_queues(self, count: int, begin: float) -> Times:
        """Return when each queue has been created, if the creation of all queues begins at the same time."""
        ready = [begin] * count
        for kind in QUEUE_KINDS:
            ready = [self._request(kind, when) for when in ready]
        return ready

    def create_workloads(self, sets: Sequence[WorkloadSet], begins: Sequence[float]) -> list[Times]:
        """Return when the workloads of each set are created.

        Requests are answered in the order in which they are made.
        """
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
        """Send a request for an object of a kind as soon as the limit allows it; return when it is answered."""
        limit = self._limit
        bucket = self._buckets.setdefault(kind, TokenBucket(limit.per_second, limit.burst))
        return bucket.send(1.0, now) + limit.latency


def _interval(each: WorkloadSet) -> float:
    return float(each.get("creationIntervalMs", 0)) / 1000.0


def _count(each: WorkloadSet) -> int:
    return int(each.get("count", 1)) * len(each.get("workloads", ()))
