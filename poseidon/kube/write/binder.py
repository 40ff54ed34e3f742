"""Posts bindings in parallel over connections that stay open, and reports the outcome of each.

The number of bindings in flight adapts to the server. A binding has the pod's uid as a precondition, so another pod of
the same name is never bound.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import msgspec

from poseidon.kube.client.errors import ApiError, KubeError, UnreachableError
from poseidon.kube.environment import Environment
from poseidon.kube.write.write_retries import RetryOptions, Tries, WorkerPool

_log = logging.getLogger(__name__)
_ASSIGNED = re.compile(r'already assigned to node "([^"]*)"')


class BindRequest(NamedTuple):
    """One pod to bind to one node."""

    uid: str
    namespace: str
    name: str
    node: str


class BindResult(Enum):
    """The result of a binding."""

    BOUND = "bound"
    ELSEWHERE = "elsewhere"
    """The pod is bound to another node already."""
    GONE = "gone"
    """The pod does not exist any more, is being deleted, or another pod has its name."""
    FAILED = "failed"
    """The pod is not bound, but a later try may succeed."""
    WITHHELD = "withheld"
    """The binding was not posted: the node would not accept the pod any more."""


class BindOutcome(NamedTuple):
    """The outcome of a binding; ``reason`` is empty if the pod is bound."""

    request: BindRequest
    result: BindResult
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ConcurrencyOptions:
    """How the number of requests in flight adapts."""

    initial: int = 64
    """Requests in flight at first."""
    least: int = 8
    """Fewest requests in flight."""
    most: int = 256
    """Most requests in flight."""
    period_seconds: float = 0.5
    """Shortest period over which a rate is measured."""
    growth: float = 1.25
    """Factor by which a step up raises the limit."""
    worth: float = 0.05
    """Share by which the rate must grow for a step up to stay."""
    shrink: float = 0.7
    """Factor of the limit when the server rejects requests."""
    hold_periods: int = 8
    """Periods without a step up after a step that did not raise the rate enough."""


class AdaptiveLimit:
    """A limit on requests in flight that grows while this raises the rate of answers, and shrinks on rejections.

    ``clock`` is monotonic. The best limit is not known beforehand: if the server is far away, hundreds of requests in
    flight hide the latency; if it is busy, more than a few dozen gain nothing. Rates are measured only in periods in
    which requests were always waiting.
    """

    def __init__(self, clock: Callable[[], float], options: ConcurrencyOptions | None = None) -> None:
        self._clock = clock
        self._options = options or ConcurrencyOptions()
        self._limit = self._options.initial
        self._before: tuple[int, float] | None = (
            None  # limit and rate before the last step up, to compare with
        )
        self._hold = 0
        self._may_shrink_at = float("-inf")
        self._begin()

    def __call__(self) -> int:
        """Return the present limit."""
        return self._limit

    def note_success(self, waiting: int) -> None:
        """Note that a request has been carried out while ``waiting`` other requests waited."""
        if not waiting:
            self._begin()
            return
        self._answers += 1
        seconds = self._clock() - self._begun
        if seconds >= self._options.period_seconds and self._answers >= 2 * self._limit:
            self._judge(self._answers / seconds)
            self._begin()

    def note_rejection(self) -> None:
        """Note that the server was too busy for a request, or failed. Within a period, only the first call counts."""
        now = self._clock()
        if now < self._may_shrink_at:
            return
        self._may_shrink_at = now + self._options.period_seconds
        self._limit = max(self._options.least, int(self._limit * self._options.shrink))
        self._before = None
        self._hold = self._options.hold_periods
        self._begin()

    def _begin(self) -> None:
        self._begun = self._clock()
        self._answers = 0

    def _judge(self, rate: float) -> None:
        """Raise, restore or keep the limit after a period with this rate of answers per second."""
        before, self._before = self._before, None
        if before is not None and rate < before[1] * (1 + self._options.worth):
            self._limit = before[0]
            self._hold = self._options.hold_periods
        elif self._hold:
            self._hold -= 1
        elif self._limit < self._options.most:
            self._before = (self._limit, rate)
            self._limit = min(
                self._options.most, max(self._limit + 1, int(self._limit * self._options.growth))
            )


@dataclass(frozen=True, slots=True)
class BinderOptions(RetryOptions):
    """Options of the binder; ``concurrency`` limits the bindings in flight.

    A burst is ``burst`` bindings within ``lull_seconds``. After each binding of a burst, less urgent writes wait
    ``lull_seconds`` for the next binding, which is longer than a round usually takes; otherwise they would delay the
    bindings that follow. Outside of bursts, less urgent writes wait only ``lone_seconds``.
    """

    lull_seconds: float = 0.2
    lone_seconds: float = 0.02
    burst: int = 6
    concurrency: ConcurrencyOptions = field(default_factory=ConcurrencyOptions)


class Binder(WorkerPool[BindRequest]):
    """A writer that binds pods until cancelled.

    ``on_outcome`` is called once per request, from the event loop's thread. If an answer was lost, the next try finds
    the pod bound, and counts as bound. ``refusal`` is called right before a binding is posted, and returns why it must
    not be posted, or "".
    """

    def __init__(
        self,
        environment: Environment,
        on_outcome: Callable[[BindOutcome], None],
        *,
        refusal: Callable[[BindRequest], str] = lambda _: "",
        options: BinderOptions | None = None,
    ) -> None:
        self._transport = environment.transport
        self._on_outcome = on_outcome
        self._refusal = refusal
        self._metrics = metrics = environment.metrics
        self._random = environment.random
        self._clock = environment.clock
        self._sleep = environment.sleep
        self._options = options or BinderOptions()
        self._adaptive = AdaptiveLimit(self._clock, self._options.concurrency)
        metrics.writes.bind_concurrency.set_function(self._adaptive)
        super().__init__(self._carry_out, self._adaptive)
        self._ended: deque[float] = deque([float("-inf")] * self._options.burst, self._options.burst)
        """Times when the last bindings ended, the latest last."""
        self._quiet: asyncio.Task[None] | None = None
        # The series is looked up once, because finding it by its labels takes longer than counting in it.
        self._durations = {result: metrics.writes.bind_duration.labels(result.value) for result in BindResult}

    async def wait_quiet(self) -> None:
        """Wait until there was no binding for ``lull_seconds``, or for ``lone_seconds`` outside of bursts."""
        # One task checks for all waiting writes: otherwise, hundreds of writes would check after every binding.
        if self._quiet is None or self._quiet.done():
            if not self.unfinished and self._rest() <= 0:
                return
            self._quiet = asyncio.create_task(self._become_quiet())
        await asyncio.shield(self._quiet)

    async def _become_quiet(self) -> None:
        while True:
            await self.wait_idle()
            rest = self._rest()
            if rest <= 0:
                return
            await self._sleep(rest)

    def _rest(self) -> float:
        """Return for how many seconds less urgent writes must still wait, if no further binding comes."""
        first, last = self._ended[0], self._ended[-1]
        lull = self._options.lull_seconds
        return last + (lull if last - first <= lull else self._options.lone_seconds) - self._clock()

    async def _carry_out(self, request: BindRequest) -> None:
        started = self._clock()
        try:
            outcome = await self._bind(request, started)
        except Exception as error:  # noqa: BLE001 - one binding that cannot be made must not end the others
            outcome = BindOutcome(request, BindResult.FAILED, f"cannot be bound: {error!r}")
        ended = self._clock()
        self._ended.append(ended)
        self._durations[outcome.result].observe(ended - started)
        self._adaptive.note_success(self.waiting)
        self._on_outcome(outcome)

    async def _bind(self, request: BindRequest, started: float) -> BindOutcome:
        path = f"/api/v1/namespaces/{request.namespace}/pods/{request.name}/binding"
        body = binding_body(request)
        tries: Tries | None = None  # None until the first failure of the binding
        perhaps_done = False
        while True:
            # No other task may run between this check and its outcome: the next check must no longer count a refused
            # pod.
            refused = "" if perhaps_done else self._refusal(request)
            if refused:
                return BindOutcome(request, BindResult.WITHHELD, refused)
            try:
                await self._transport.post(path, body, urgent=True)
            except ApiError as error:
                perhaps_done = perhaps_done or not error.throttled
                if error.transient:
                    self._adaptive.note_rejection()
                outcome = judge(request, error)
                tries = tries or Tries(self._options, self._random, self._clock, since=started)
                # Another try may succeed if the server failed, or if another write came in between.
                may_help = error.transient or (error.conflict and outcome.result is BindResult.FAILED)
                pause = tries.pause(error, may_help=may_help)
                if pause is None:
                    return outcome
            except KubeError as error:
                perhaps_done = True
                if not (isinstance(error, UnreachableError) and error.idle_closed):
                    self._adaptive.note_rejection()
                tries = tries or Tries(self._options, self._random, self._clock, since=started)
                pause = tries.pause(error)
                if pause is None:
                    return BindOutcome(request, BindResult.FAILED, str(error))
            else:
                return BindOutcome(request, BindResult.BOUND)
            self._metrics.writes.bind_retries.inc()
            _log.debug("binding retried pod=%s/%s in=%.1fs", request.namespace, request.name, pause)
            await self._sleep(pause)


class _Metadata(msgspec.Struct, gc=False):
    name: str
    namespace: str
    uid: str


class _Target(msgspec.Struct, gc=False, rename="camel"):
    name: str
    api_version: str = "v1"
    kind: str = "Node"


class _Binding(msgspec.Struct, gc=False, rename="camel"):
    metadata: _Metadata
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


_encode = msgspec.json.Encoder().encode


def binding_body(request: BindRequest) -> bytes:
    """Encode a core/v1 Binding with the uid as its precondition."""
    metadata = _Metadata(request.name, request.namespace, request.uid)
    return _encode(_Binding(metadata, _Target(request.node)))


def judge(request: BindRequest, error: ApiError) -> BindOutcome:
    """Return the outcome for a final error of the API server; the texts of a 409 are kube-apiserver's."""
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
        if error.replaced:
            return BindOutcome(request, BindResult.GONE, "another pod has taken its name")
    return BindOutcome(request, BindResult.FAILED, str(error))
