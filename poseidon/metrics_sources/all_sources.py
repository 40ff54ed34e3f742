"""Runs all sources of measured use, and reports when all sources have been read once and when samples have changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from prometheus_client import CollectorRegistry

from poseidon.kube.api.collections import NODE_METRICS
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.metrics_sources.intake import ClusterView, Intake, SourceMetrics
from poseidon.metrics_sources.koordinator import NodeMetricTaker
from poseidon.metrics_sources.metrics_server import MetricsServerSource
from poseidon.metrics_sources.options import UtilisationOptions
from poseidon.metrics_sources.polling import Poller
from poseidon.metrics_sources.prometheus import PrometheusSource, connection
from poseidon.metrics_sources.samples import METRICS_SERVER, NODE_METRIC, PROMETHEUS, LatestSamples

_log = logging.getLogger(__name__)

FIRST_LOOK_SECONDS = 10.0
"""The seconds for which the first round waits for sources that do not answer."""

GATHER_SECONDS = 0.25
"""The seconds for which samples are gathered before they are sent, unless other events are sent earlier."""


class Utilisation:
    """The configured sources, which write samples to ``samples``; ``changed`` is called shortly after changes."""

    def __init__(
        self,
        environment: Environment,
        options: UtilisationOptions,
        samples: LatestSamples,
        view: ClusterView,
        changed: Callable[[], None],
        *,
        registry: CollectorRegistry,
    ) -> None:
        self._environment = environment
        self._options = options
        self._samples = samples
        self._view = view
        self._changed = changed
        self._metrics = SourceMetrics(registry)
        self._metrics.nodes.set_function(lambda: len(samples))
        self._fresh = asyncio.Event()
        self._settled = asyncio.Event()

    @property
    def has_settled(self) -> bool:
        """Whether every source has been read once, or the time limit for the first readings has passed."""
        return self._settled.is_set()

    async def run(self) -> None:
        """Run all sources until cancelled; raise ``SettingsError`` for a connection whose settings cannot be used."""
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            first_looks: list[Awaitable[None]] = []
            if self._options.node_metric == "auto":
                taker = NodeMetricTaker(self._intake(NODE_METRIC), self._environment.wall)
                reflector = Reflector(self._environment, NODE_METRICS, taker.take_changes)
                group.create_task(reflector.run(), name="nodemetrics")
                first_looks.append(reflector.wait_synced())
            for poller in await self._pollers(stack):
                group.create_task(poller.run(), name="utilisation")
                first_looks.append(poller.wait_asked())
            group.create_task(self._announce(), name="utilisation-changes")
            await self._await_first_looks(first_looks)

    async def _await_first_looks(self, first_looks: list[Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(FIRST_LOOK_SECONDS):
                await asyncio.gather(*first_looks)
        except TimeoutError:
            _log.warning("going on without all sources of utilisation seconds=%.0f", FIRST_LOOK_SECONDS)
        self._settled.set()
        self._changed()

    async def _announce(self) -> None:
        """Call ``changed`` for several samples at a time, because a batch costs the solver more than a sample."""
        while True:
            await self._fresh.wait()
            await self._environment.sleep(GATHER_SECONDS)
            self._fresh.clear()
            self._changed()

    def _intake(self, source: str) -> Intake:
        return Intake(source, self._samples, self._view, metrics=self._metrics, changed=self._fresh.set)

    async def _pollers(self, stack: AsyncExitStack) -> list[Poller]:
        """Return the pollers of the sources that are polled; ``stack`` closes their connections."""
        environment, pollers = self._environment, list[Poller]()
        server = self._options.metrics_server
        if server.mode == "auto":
            source = MetricsServerSource(
                environment.transport, self._intake(METRICS_SERVER), server, environment.wall
            )
            pollers.append(self._poller(METRICS_SERVER, source.poll, server.interval))
        prometheus = self._options.prometheus
        if prometheus is not None:
            transport = await stack.enter_async_context(
                Transport(connection(prometheus), clock=environment.clock, timeout=prometheus.timeout)
            )
            asked = PrometheusSource(transport, self._intake(PROMETHEUS), prometheus)
            pollers.append(self._poller(PROMETHEUS, asked.poll, prometheus.interval))
        return pollers

    def _poller(self, source: str, poll: Callable[[], Awaitable[None]], interval: float) -> Poller:
        return Poller(source, poll, self._environment, interval=interval, metrics=self._metrics)
