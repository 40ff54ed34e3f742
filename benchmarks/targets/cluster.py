"""Runs workloads on all processes over HTTP: pods are created in an API server, and count as bound when seen bound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Self

import msgspec

from benchmarks.declarative.templates import CLUSTER_SCOPED, Manifest
from benchmarks.processes.parts.cluster_objects import (
    create_object,
    delete_object,
    delete_pod,
    ensure_empty_namespace,
    in_parallel,
    remove_namespace,
)
from benchmarks.processes.parts.usage import UsageSampler, stack_roots
from benchmarks.processes.scheduled_events import await_scheduled_events
from benchmarks.targets.base import Figures, TargetError
from benchmarks.targets.schedulers import SchedulerUnderTest
from benchmarks.targets.watching import watching
from poseidon.demo.binding_latency import PodName
from poseidon.demo.seeding import BULK_PATH
from poseidon.demo.verification import read_occupancy
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import Stack

_BATCH = 250
_TICK_SECONDS = 0.05


class ClusterTarget:
    """The processes of a stack, with a scheduler among them: ``async with``.

    The scheduler starts when the first pods are to be placed, that is at the first ``settle`` or ``begin``; before, the
    cluster is filled. Of a cluster that is given (``own`` False) the nodes are used as they are: Node manifests are
    not created. Seconds run from the first creation to the last pod that is seen bound.
    """

    stage = "end to end"

    def __init__(
        self,
        stack: Stack,
        scheduler: SchedulerUnderTest,
        *,
        own: bool = True,
        timeout: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stack = stack
        self._scheduler = scheduler
        self._own = own
        self._timeout = timeout
        self._clock = clock
        self._resources = AsyncExitStack()
        self._usage = UsageSampler(stack_roots(stack))
        self._namespaces: set[str] = set()
        self._created: list[Manifest] = []
        self._nodes = 0
        self._started = False
        self._figures: Figures | None = None
        self._begun = 0.0
        self._bound_before = 0
        self._sample_at = 0.0

    async def __aenter__(self) -> Self:
        settings = load_settings(self._stack.kubeconfig)
        enter = self._resources.enter_async_context
        self._transport = await enter(Transport(settings, clock=self._clock, user_agent="poseidon-bench"))
        self._watch = await enter(watching(self._transport, self._clock))
        self._nodes = (await read_occupancy(self._transport)).nodes
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if not self._own:
                await self._clean_up()
        finally:
            await self._resources.aclose()

    async def _clean_up(self) -> None:
        """Delete the objects that were created in a cluster that is not simulated."""
        # Later objects refer to earlier ones: pods to claims, claims to volumes.
        for each in reversed(self._created):
            await delete_object(self._transport, each)
        for name in self._namespaces:
            await remove_namespace(self._transport, name)

    # --- what a runner asks ------------------------------------------------------------------------------------

    async def create(self, objects: Sequence[Manifest]) -> None:
        """Create objects; pods are followed from here on."""
        if not self._own:
            objects = [each for each in objects if each.kind != "Node"]
        else:
            self._nodes += sum(each.kind == "Node" for each in objects)
        for namespace in {each.namespace for each in objects if each.namespace} - self._namespaces:
            await ensure_empty_namespace(self._transport, namespace)
            self._namespaces.add(namespace)
        try:
            if self._own:
                for begin in range(0, len(objects), _BATCH):
                    batch = objects[begin : begin + _BATCH]
                    self._announce(batch)
                    await self._transport.post(BULK_PATH, b"\n".join(each.raw for each in batch))
            else:
                await in_parallel(self._post, objects)
        except ApiError as error:
            raise TargetError(f"the API server refused an object: {error}") from None

    async def delete(self, pods: Iterable[PodName]) -> None:
        """Delete pods, which are expected to be bound."""
        names = list(pods)
        self._watch.forget(names)
        await in_parallel(partial(delete_pod, self._transport), names)

    async def advance(self, seconds: float) -> None:
        """Wait; the processes work independently."""
        await self._start()
        await asyncio.sleep(seconds)
        self._sample()

    async def settle(self) -> None:
        """Wait until every pod is bound or has a reason why not."""
        await self._start()
        watch = self._watch
        try:
            async with asyncio.timeout(self._timeout):
                while watch.unsettled:
                    await watch.wait_for_change(_TICK_SECONDS)
                    self._note()
                    if self._clock() >= self._sample_at:
                        self._scheduler.check()
                        self._sample()
        except TimeoutError:
            raise TargetError(
                f"{watch.unsettled} pods were neither bound nor refused within {self._timeout:g} s"
            ) from None

    def begin(self) -> None:
        """Start measuring."""
        self._figures = Figures()
        self._bound_before = self._watch.bound
        self._watch.latencies.clear()
        self._usage.begin()
        self._begun = self._clock()
        self._watch.restart_pauses()

    def end(self) -> Figures:
        """Stop measuring."""
        figures, self._figures = self._figures, None
        assert figures is not None
        figures.bound = self._watch.bound - self._bound_before
        figures.waiting = self._watch.waiting
        figures.latencies = sorted(self._watch.latencies)
        figures.seconds = max(self._watch.last_bound - self._begun, 0.0)
        figures.extra = {
            "scheduler": self._scheduler.name,
            "boundTwice": self._watch.bound_twice,
            "firstBoundSeconds": max(self._watch.first_bound - self._begun, 0.0) if figures.bound else None,
            "longestPauseSeconds": self._watch.longest_pause,
            "usage": self._usage.end(),
            "memory": self._usage.series(),
            "counts": self._usage.counts(),
        }
        return figures

    async def verify(self) -> dict[str, object]:
        """Return what the API server says in the end: nodes used, nodes that hold more than they have,
        Scheduled events.

        ``rounds``: how many the scheduler has run in all.
        """
        occupancy = await read_occupancy(self._transport)
        bound = self._watch.bound
        return {
            "nodesUsed": occupancy.nodes_used,
            "overcommittedNodes": occupancy.overcommitted_nodes,
            "boundTwice": self._watch.bound_twice,
            "rounds": await self._scheduler.rounds(),
            "events": await await_scheduled_events(self._transport, self._namespaces, bound)
            if self._scheduler.tells
            else None,
        }

    # --- steps -------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        """Start the scheduler once the cluster has been filled."""
        if not self._started:
            self._started = True
            await self._scheduler.start(self._nodes)

    async def _post(self, each: Manifest) -> None:
        self._announce([each])
        if each.kind in CLUSTER_SCOPED:
            self._created.append(each)
        await create_object(self._transport, each)

    def _announce(self, objects: Sequence[Manifest]) -> None:
        """Follow the pods among the objects that are not bound already."""
        self._watch.announce(
            PodName(each.namespace, each.name)
            for each in objects
            if each.kind == "Pod" and not msgspec.json.decode(each.raw, type=_Placed).spec.node_name
        )

    def _sample(self) -> None:
        # Reading the processes' use costs a millisecond, which would slow them down if done at every change.
        self._sample_at = self._clock() + _TICK_SECONDS
        self._usage.sample()
        self._note()

    def _note(self) -> None:
        if self._figures is not None:
            moment = self._clock() - self._begun
            self._figures.curve.append((moment, self._watch.bound - self._bound_before))


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Placed(msgspec.Struct):
    spec: _Spec
