"""Runs one scheduler on the shared cluster, as the target of a workload."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from benchmarks.declarative.templates import Manifest
from benchmarks.head_to_head.shared_cluster import SharedCluster
from benchmarks.processes.parts.cluster_objects import in_parallel
from benchmarks.processes.parts.usage import UsageSampler
from benchmarks.targets.base import Figures, TargetError
from benchmarks.targets.schedulers import SchedulerUnderTest
from poseidon.demo.binding_latency import PodName

_FEW = 64
"""Most objects that count as arrivals: later ones do not wait until these are created."""

_TICK_SECONDS, _SAMPLE_SECONDS = 0.05, 0.25
NAMESPACE = "bench"
WARM_UP = Manifest(
    "Pod",
    NAMESPACE,
    "warm-up",
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"warm-up","namespace":"bench"},"spec":{"schedulerName":'
    b'"poseidon","priorityClassName":"system-node-critical","containers":[{"name":"main","image":"pause"}]}}',
)
"""A pod that every scheduler can place; once it is bound, the scheduler knows the cluster."""


class HeadToHeadTarget:
    """Starts ``scheduler`` once the cluster has been filled: at the first barrier or ``begin``.

    Seconds run from the first creation to the last pod that is seen bound by the shared cluster's own watch.
    """

    stage = "head to head"

    def __init__(
        self,
        cluster: SharedCluster,
        scheduler: SchedulerUnderTest,
        usage: UsageSampler,
        *,
        timeout: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._scheduler, self._usage = cluster, scheduler, usage
        self._timeout, self._clock = timeout, clock
        self._posting: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []
        self._started = False
        self._figures: Figures | None = None
        self._begun = self._sample_at = 0.0
        self._bound_before = 0
        self.start_seconds = 0.0
        self.start_usage: Mapping[str, float] = {}

    async def create(self, objects: Sequence[Manifest]) -> None:
        """Create objects; does not wait for the creation of a few pods that arrive during a measurement."""
        await self._cluster.add_namespaces({each.namespace for each in objects if each.namespace})
        if self._figures is None or len(objects) > _FEW:
            await in_parallel(self._cluster.create, objects)
            return
        for each in objects:
            task = asyncio.create_task(self._cluster.create(each))
            self._posting.add(task)
            task.add_done_callback(self._end_posting)

    def _end_posting(self, task: asyncio.Task[None]) -> None:
        self._posting.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failures.append(failure)

    async def delete(self, pods: Iterable[PodName]) -> None:
        """Delete pods at once, as there are no kubelets to end them."""
        await self._cluster.delete_pods(pods)

    async def advance(self, seconds: float) -> None:
        """Wait; the processes work independently."""
        await asyncio.sleep(seconds)
        if self._clock() >= self._sample_at:
            self._sample()

    async def settle(self) -> None:
        """Wait until every pod is bound: there is room for all pods, even if a scheduler denies it at first."""
        await self.start()
        watch = self._cluster.watch
        try:
            async with asyncio.timeout(self._timeout):
                while watch.unbound or self._posting:
                    await watch.wait_for_change(_TICK_SECONDS)
                    if self._failures:
                        raise self._failures[0]
                    if self._clock() >= self._sample_at:
                        self._scheduler.check()
                        self._sample()
        except TimeoutError:
            raise TargetError(
                f"{watch.unbound:,} of {watch.unbound + watch.bound - self._bound_before:,} pods "
                f"were not bound within {self._timeout:g} s"
            ) from None

    async def start(self) -> None:
        """Start the scheduler unless it runs, and wait until it has bound a first pod."""
        if self._started:
            return
        self._started = True
        await self._cluster.drop_unasked()
        begin = self._clock()
        await self._scheduler.start(self._cluster.nodes)
        await self._cluster.add_namespaces([NAMESPACE])
        await self._cluster.create(WARM_UP)
        await self.settle()
        self.start_seconds = self._clock() - begin
        self.start_usage = self._usage.totals()

    def begin(self) -> None:
        """Start measuring. Raises ``TargetError`` if no barrier has started the scheduler before."""
        if not self._started:
            raise TargetError("the first measure op has no barrier before it; add one")
        watch = self._cluster.watch
        self._figures = Figures()
        self._bound_before = watch.bound
        watch.latencies.clear()
        self._usage.begin()
        self._begun = self._clock()
        watch.restart_pauses()

    def end(self) -> Figures:
        """Stop measuring."""
        figures, self._figures = self._figures, None
        assert figures is not None
        watch = self._cluster.watch
        figures.bound = watch.bound - self._bound_before
        figures.waiting = watch.waiting
        figures.latencies = sorted(watch.latencies)
        figures.seconds = max(watch.last_bound - self._begun, 0.0)
        figures.extra = {"usage": self._usage.end()}
        return figures

    def _sample(self) -> None:
        # Reading the processes' use costs a millisecond, which would slow them down if done at every change.
        self._sample_at = self._clock() + _SAMPLE_SECONDS
        self._usage.sample()
