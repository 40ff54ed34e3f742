"""Posts bindings in parallel over kept-open connections, and says what became of each.

A fixed set of workers drains one queue, so that ten thousand bindings are ten thousand queue entries and not
as many tasks. A binding carries the pod's uid as a precondition: a namesake that was created meanwhile is
never bound.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from poseidon.kube.backoff import Backoff
from poseidon.kube.errors import ApiError, KubeError

if TYPE_CHECKING:
    from poseidon.kube.metrics import KubeMetrics
    from poseidon.kube.transport import Transport

_log = logging.getLogger(__name__)
_ASSIGNED = re.compile(r'already assigned to node "([^"]*)"')
_REPLACED = re.compile(r"UID in (the )?precondition")


class BindRequest(NamedTuple):
    """One pod to be bound to one node."""

    uid: str
    namespace: str
    name: str
    node: str


class BindResult(Enum):
    """What became of a binding."""

    BOUND = "bound"
    ELSEWHERE = "elsewhere"
    """The pod runs on another node already."""
    GONE = "gone"
    """The pod does not exist any more, is being deleted, or a namesake has taken its place."""
    FAILED = "failed"
    """Not bound, but it may succeed another time."""
    WITHHELD = "withheld"
    """Not posted: the node would not take the pod any more."""


class BindOutcome(NamedTuple):
    """The end of a binding; ``reason`` is empty when bound."""

    request: BindRequest
    result: BindResult
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BinderOptions:
    """``concurrency`` is the number of bindings in flight, ``attempts`` how often each is posted at most.

    Answers of a server that is too busy (429) are not counted as attempts for ``throttled_seconds``.
    """

    concurrency: int = 64
    attempts: int = 5
    throttled_seconds: float = 30.0
    backoff_initial: float = 0.1
    backoff_cap: float = 5.0


class Binder:
    """Binds pods until cancelled.

    ``on_outcome`` is called once per request, from the event loop's thread. Posting is idempotent: a binding
    that had been carried out although its answer was lost counts as bound when it is posted again.
    ``refusal`` is asked right before a binding is posted, and returns why it must not be, or "".
    """

    def __init__(
        self,
        transport: Transport,
        on_outcome: Callable[[BindOutcome], None],
        *,
        metrics: KubeMetrics,
        random: Random,
        clock: Callable[[], float],
        refusal: Callable[[BindRequest], str] = lambda _: "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        options: BinderOptions | None = None,
    ) -> None:
        self._transport = transport
        self._on_outcome = on_outcome
        self._refusal = refusal
        self._metrics = metrics
        self._random = random
        self._clock = clock
        self._sleep = sleep
        self._options = options or BinderOptions()
        self._queue: asyncio.Queue[BindRequest] = asyncio.Queue()
        self._unfinished = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def unfinished(self) -> int:
        """How many requests wait or are in flight."""
        return self._unfinished

    def submit(self, request: BindRequest) -> None:
        """Queue a binding."""
        self._unfinished += 1
        self._idle.clear()
        self._queue.put_nowait(request)

    def discard_waiting(self) -> int:
        """Drop the requests that have not been posted yet, without an outcome. Returns how many."""
        count = self._queue.qsize()
        for _ in range(count):
            self._queue.get_nowait()
        self._unfinished -= count
        if not self._unfinished:
            self._idle.set()
        return count

    async def wait_idle(self) -> None:
        """Wait until nothing waits or is in flight."""
        await self._idle.wait()

    async def run(self) -> None:
        """Work on the queue for ever, with as many workers as bindings may be in flight."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(self._options.concurrency):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            request = await self._queue.get()
            started = self._clock()
            outcome = await self._bind(request)
            self._metrics.bind_duration.labels(outcome.result.value).observe(self._clock() - started)
            self._unfinished -= 1
            if not self._unfinished:
                self._idle.set()
            self._on_outcome(outcome)

    async def _bind(self, request: BindRequest) -> BindOutcome:
        path = f"/api/v1/namespaces/{request.namespace}/pods/{request.name}/binding"
        body = binding_body(request)
        backoff = Backoff(self._random, self._options.backoff_initial, self._options.backoff_cap)
        perhaps_done = False
        attempt = 0
        patient_until = self._clock() + self._options.throttled_seconds
        while True:
            attempt += 1
            # No await between asking and giving the place back: others are asked with it free.
            refused = "" if perhaps_done else self._refusal(request)
            if refused:
                return BindOutcome(request, BindResult.WITHHELD, refused)
            try:
                await self._transport.post(path, body)
            except ApiError as error:
                if error.throttled and self._clock() < patient_until:
                    attempt -= 1
                perhaps_done = perhaps_done or not error.throttled
                outcome = judge(request, error)
                if not _may_help(error, outcome) or attempt >= self._options.attempts:
                    return outcome
                delay = max(backoff.next(), error.retry_after or 0.0)
            except KubeError as error:
                perhaps_done = True
                if attempt >= self._options.attempts:
                    return BindOutcome(request, BindResult.FAILED, str(error))
                delay = backoff.next()
            else:
                return BindOutcome(request, BindResult.BOUND)
            self._metrics.bind_retries.inc()
            _log.debug("binding retried pod=%s/%s in=%.1fs", request.namespace, request.name, delay)
            await self._sleep(delay)


def binding_body(request: BindRequest) -> bytes:
    """Encode a core/v1 Binding with the uid as its precondition."""
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": request.name, "namespace": request.namespace, "uid": request.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": request.node},
        }
    )


def _may_help(error: ApiError, outcome: BindOutcome) -> bool:
    """Whether posting again may help: the server is in trouble, or another write came in between."""
    return error.transient or (error.conflict and outcome.result is BindResult.FAILED)


def judge(request: BindRequest, error: ApiError) -> BindOutcome:
    """Say what a final refusal means. The words of a 409 are those of kube-apiserver's binding storage."""
    if error.not_found:
        return BindOutcome(request, BindResult.GONE, "the pod is gone")
    if error.conflict:
        assigned = _ASSIGNED.search(error.message)
        if assigned is not None and assigned.group(1) == request.node:
            return BindOutcome(request, BindResult.BOUND)
        if assigned is not None:
            return BindOutcome(request, BindResult.ELSEWHERE, f"already assigned to node {assigned.group(1)}")
        if "being deleted" in error.message:
            return BindOutcome(request, BindResult.GONE, "the pod is being deleted")
        if _REPLACED.search(error.message):
            return BindOutcome(request, BindResult.GONE, "another pod has taken its name")
    return BindOutcome(request, BindResult.FAILED, str(error))
