"""Watches pods of a cluster from creation to binding, independently of the scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from poseidon.demo.binding_latency import PodName
from poseidon.kube.api.collections import PODS
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector


class PodWatch:
    """A reflector's handler that records when announced pods are bound or reported as fitting on no node.

    ``clock`` gives seconds. Pods are counted once, at their first binding; ``bound_twice`` counts changes of node.
    ``first_bound`` and ``longest_pause``, between two moments in which pods were bound, count from ``restart_pauses``.
    ``lives``: when each pod that is still followed was announced and seen bound; ``shown``: when it was first seen.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._unbound: dict[PodName, float] = {}
        self._refused: set[PodName] = set()
        self._node_of: dict[PodName, str] = {}
        self._changed = asyncio.Event()
        self.bound = 0
        self.bound_twice = 0
        self.first_bound = 0.0
        self.last_bound = 0.0
        self.longest_pause = 0.0
        self.latencies: list[float] = []
        self.lives: dict[PodName, tuple[float, float]] = {}
        self.shown: dict[PodName, float] = {}

    @property
    def waiting(self) -> int:
        """Pods that have been reported as fitting on no node."""
        return len(self._refused)

    @property
    def unbound(self) -> int:
        """Pods without a node, whether or not they were found unschedulable."""
        return len(self._unbound)

    @property
    def unsettled(self) -> int:
        """Pods that are neither bound nor reported as fitting on no node."""
        return len(self._unbound) - len(self._refused)

    def announce(self, names: Iterable[PodName]) -> None:
        """Follow pods that are being created now."""
        now = self._clock()
        self._unbound.update((name, now) for name in names)

    def forget(self, names: Iterable[PodName]) -> None:
        """Stop following pods: they are being deleted."""
        for name in names:
            self._unbound.pop(name, None)
            self._refused.discard(name)
            self._node_of.pop(name, None)
            self.lives.pop(name, None)
            self.shown.pop(name, None)

    def take_changes(self, changes: Sequence[Change[Pod]]) -> None:
        """Take the present state of changed pods."""
        now = self._clock()
        for change in changes:
            pod = change.object
            if pod is None:
                continue
            name, node = PodName(pod.metadata.namespace, pod.metadata.name), pod.spec.node_name
            if name in self._unbound:
                self.shown.setdefault(name, now)
            if node:
                created = self._unbound.pop(name, None)
                if created is not None:
                    self._refused.discard(name)
                    self._node_of[name] = node
                    self.bound += 1
                    self._note_pause(now)
                    self.latencies.append(now - created)
                    self.lives[name] = created, now
                elif self._node_of.get(name, node) != node:
                    self.bound_twice += 1
                    self._node_of[name] = node
            elif name in self._unbound:
                condition = pod.condition("PodScheduled")
                if condition is not None and condition.status == "False":
                    self._refused.add(name)
        self._changed.set()

    def restart_pauses(self) -> None:
        """Start another part of the run: count pauses and bindings from here on."""
        self.first_bound = self.last_bound = self.longest_pause = 0.0

    def _note_pause(self, now: float) -> None:
        if self.first_bound:
            self.longest_pause = max(self.longest_pause, now - self.last_bound)
        else:
            self.first_bound = now
        self.last_bound = now

    async def wait_for_change(self, at_most: float) -> None:
        """Wait until a pod has changed since the last call, at most ``at_most`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most):
                await self._changed.wait()
        self._changed.clear()


@asynccontextmanager
async def watching(
    transport: Transport, clock: Callable[[], float], namespace: str = ""
) -> AsyncIterator[PodWatch]:
    """Watch the pods of a namespace, or all pods; the watch is up to date on entry."""
    watch = PodWatch(clock)
    pods = replace(PODS, path=f"/api/v1/namespaces/{namespace}/pods") if namespace else PODS
    reflector = Reflector(Environment(transport, clock=clock), pods, watch.take_changes)
    running = asyncio.create_task(reflector.run())
    try:
        await reflector.wait_synced()
        yield watch
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
