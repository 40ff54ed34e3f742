"""Has pods leave their nodes: through the eviction subresource, which disruption budgets may refuse.

Where the scheduler has found that nothing else helps, a pod is deleted as kube-scheduler deletes its victims: with a
condition that says why, and the pod's own grace period.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from poseidon.kube.backoff import Backoff
from poseidon.kube.errors import ApiError, KubeError
from poseidon.kube.references import PodRef, timestamp
from poseidon.kube.transport import STRATEGIC_MERGE_PATCH

if TYPE_CHECKING:
    from poseidon.kube.metrics import KubeMetrics
    from poseidon.kube.transport import Transport

_log = logging.getLogger(__name__)

_BUDGET_REFUSAL = "disruption budget"
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"


class EvictionRequest(NamedTuple):
    """One pod to leave one node. ``beyond_budget``: whatever disruption budgets say."""

    pod: PodRef
    node: str
    beyond_budget: bool
    message: str

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        return self.pod.uid


class EvictionOutcome(NamedTuple):
    """The end of a request: ``refusal`` is "" where the pod goes, or is gone, else why it stays.

    ``gone``: it was not there any more, and whether by this request is not known.
    """

    request: EvictionRequest
    refusal: str = ""
    gone: bool = False


@dataclass(frozen=True, slots=True)
class EvictorOptions:
    """``concurrency`` is the number of evictions in flight, ``attempts`` how often each is posted at most.

    Answers of a server that is too busy (429) are not counted as attempts for ``throttled_seconds``.
    """

    concurrency: int = 16
    attempts: int = 5
    throttled_seconds: float = 30.0
    backoff_initial: float = 0.1
    backoff_cap: float = 5.0


class Evictor:
    """Evicts until cancelled. ``on_outcome`` is called once per request, from the event loop's thread.

    Every request names the pod's uid, so that a namesake is left alone; asking twice does no harm. ``wall`` tells
    seconds since the epoch, ``clock`` is monotonic.
    """

    def __init__(
        self,
        transport: Transport,
        on_outcome: Callable[[EvictionOutcome], None],
        *,
        metrics: KubeMetrics,
        random: Random,
        clock: Callable[[], float],
        wall: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        options: EvictorOptions | None = None,
    ) -> None:
        self._transport = transport
        self._on_outcome = on_outcome
        self._metrics = metrics
        self._random = random
        self._clock = clock
        self._wall = wall
        self._sleep = sleep
        self._options = options or EvictorOptions()
        self._queue: asyncio.Queue[EvictionRequest] = asyncio.Queue()

    def submit(self, request: EvictionRequest) -> None:
        """Queue an eviction."""
        self._queue.put_nowait(request)

    async def run(self) -> None:
        """Evict for ever."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._options.concurrency):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            request = await self._queue.get()
            outcome = await self._evict(request)
            self._metrics.evictions.labels("refused" if outcome.refusal else "accepted").inc()
            self._on_outcome(outcome)

    async def _evict(self, request: EvictionRequest) -> EvictionOutcome:
        """Ask until there is an answer that asking again would not change."""
        backoff = Backoff(self._random, self._options.backoff_initial, self._options.backoff_cap)
        patient_until = self._clock() + self._options.throttled_seconds
        delete = request.beyond_budget
        attempt = 0
        while True:
            attempt += 1
            at_least = 0.0
            try:
                await (self._delete(request) if delete else self._post(request))
            except ApiError as error:
                if error.not_found or error.conflict:
                    # Gone, or a namesake has its place: the pod that was meant is not there any more.
                    return EvictionOutcome(request, gone=True)
                if not delete and _SEVERAL_BUDGETS in error.message:
                    # The subresource cannot tell whether all of them allow it; the solver has counted each.
                    delete = True
                    continue
                refused = error.throttled and _BUDGET_REFUSAL in error.message
                if refused or not error.transient or attempt >= self._options.attempts:
                    return EvictionOutcome(request, _words(error))
                if error.throttled and self._clock() < patient_until:
                    attempt -= 1
                at_least = error.retry_after or 0.0
            except KubeError as error:
                if attempt >= self._options.attempts:
                    return EvictionOutcome(request, str(error))
            else:
                return EvictionOutcome(request)
            await self._sleep(max(backoff.next(), at_least))

    async def _post(self, request: EvictionRequest) -> None:
        pod = request.pod
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        await self._transport.post(f"{_path(pod)}/eviction", msgspec.json.encode(body))

    async def _delete(self, request: EvictionRequest) -> None:
        pod = request.pod
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": request.message,
            "lastTransitionTime": timestamp(self._wall()),
        }
        told = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        await self._transport.patch(f"{_path(pod)}/status", msgspec.json.encode(told), STRATEGIC_MERGE_PATCH)
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        await self._transport.delete(_path(pod), msgspec.json.encode(options))


def _path(pod: PodRef) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _words(error: ApiError) -> str:
    return error.message if error.throttled else str(error)
