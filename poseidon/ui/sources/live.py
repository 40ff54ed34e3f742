"""Reads a running cluster: watches the API server, and asks solver and bridge while somebody looks at the page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poseidon.ui import intervals
from poseidon.ui.audience import Audience
from poseidon.ui.cluster.store import ClusterStore
from poseidon.ui.page_data import About, Capabilities, Known, SolverStatus
from poseidon.ui.sources.figures import MetricsPoll
from poseidon.ui.sources.lease import LeasePoll
from poseidon.ui.sources.measured import MeasuredUse
from poseidon.ui.sources.solver import SolverPoll
from poseidon.ui.sources.thresholds import thresholds_of
from poseidon.ui.sources.watched_objects import followers
from poseidon.ui.versions import Versions

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.explanations import Verdict
    from poseidon.kube.environment import Environment
    from poseidon.ui.cluster.records import PodEntry
    from protos.conventions.tls import TlsFiles
    from protos.firmament.v1 import scheduler_pb2 as pb

_log = logging.getLogger(__name__)

_EAGER_NODES = 2000
"""If a flow has at most this many nodes, it is read while the overview is open, because the overview links to it."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """The cluster, bridge and solver to show."""

    targets: Sequence[str]
    """Addresses of the solvers."""
    cluster: str
    """Name under which the solvers know the cluster."""
    bridge_url: str
    """Address of the bridge's metrics."""
    solver_url: str
    """Address of the solver's metrics."""
    configuration: BridgeConfiguration | None = None
    """The bridge's configuration; if None, the solver is asked for its own."""
    tls: TlsFiles | None = None
    """TLS certificate files, None for no encryption."""
    cures: bool = True
    """Whether the solver's package is installed, which searches for cures and descriptions of queues need."""
    warnings: Sequence[str] = field(default_factory=tuple)
    """Warnings for people."""


class LiveSource:
    """A source that reads a running cluster; while no page is open, it reads only figures, and does so less often."""

    def __init__(self, environment: Environment, options: LiveOptions, audience: Audience) -> None:
        versions = Versions()
        capabilities = Capabilities(
            figures=True,
            flow=True,
            cluster=True,
            pending=True,
            explain=True,
            cures=options.cures,
            groups=True,
            queues=options.cures
            and (options.configuration is None or bool(options.configuration.queues.source)),
        )
        server = environment.transport.server
        about = About("live", server, options.cluster, capabilities, list(options.warnings))
        store = ClusterStore(versions, environment.wall)
        solver = SolverStatus("unreachable", ", ".join(options.targets))
        self.known = Known(about, store, versions, solver)
        self._environment, self._options, self._audience = environment, options, audience
        self._measured = MeasuredUse(store, environment.wall)
        self._solver = SolverPoll(self.known, options.targets, options.cluster, options.tls, environment.wall)
        self._figures = MetricsPoll(self.known, options.bridge_url, options.solver_url, environment.clock)
        self._lease = LeasePoll(self.known, environment.transport, options.configuration)
        self._reflectors = followers(environment, self.known, self._measured)

    async def run(self) -> None:
        """Watch objects and poll the programs until cancelled."""
        async with asyncio.TaskGroup() as parts:
            for each in self._reflectors:
                parts.create_task(each.run())
            parts.create_task(self._note_first_lists())
            parts.create_task(self._take_figures())
            parts.create_task(
                self._while_looked_at(
                    intervals.POLL_SECONDS, lambda: self._solver.step(flows=self._wants_flows())
                )
            )
            parts.create_task(self._while_looked_at(intervals.LEASE_SECONDS, self._lease.step))
            transport = self._environment.transport
            parts.create_task(
                self._while_looked_at(intervals.USE_SECONDS, lambda: self._measured.ask(transport))
            )
            parts.create_task(self._while_looked_at(intervals.CONFIGURATION_SECONDS, self._read_thresholds))
            parts.create_task(self._sample())

    async def flow(self, number: int) -> pb.RoundFlow | None:
        """Return the flow of a round (0: the newest), or None if there is none."""
        self._audience.note_request("flow")
        nothing_yet = not self.known.rounds.latest_flow and self._solver.is_asking
        if not number and (self._solver.flow_is_old or nothing_yet):
            await self._solver.step(flows=True)
        return self.known.rounds.flow(number)

    async def verdicts(self, pod: PodEntry) -> Mapping[str, Verdict]:
        """Return the verdict of each node on a pod, from the solver.

        Raises ``NotExplainedError`` if the source has no verdicts on the pod.
        """
        return await self._solver.verdicts(pod)

    async def _note_first_lists(self) -> None:
        for each in self._reflectors:
            await each.wait_synced()
        self.known.store.live = True
        self.known.versions.mark("overview", "cluster", "pending", "groups")

    async def _take_figures(self) -> None:
        """Read figures without end, so that the dashboard has a history when somebody looks at the page."""
        while True:
            await self._safely(lambda: self._figures.step(self._environment.wall()))
            await self._environment.sleep(intervals.POLL_SECONDS)
            if not self._audience.looks():
                rest = asyncio.ensure_future(
                    self._environment.sleep(intervals.REST_SECONDS - intervals.POLL_SECONDS)
                )
                comes = asyncio.create_task(self._audience.wait())
                await asyncio.wait((rest, comes), return_when=asyncio.FIRST_COMPLETED)
                for each in (rest, comes):
                    each.cancel()

    def _wants_flows(self) -> bool:
        looks = self._audience.looks
        return looks("flow") or (looks("overview") and len(self.known.store.nodes) <= _EAGER_NODES)

    async def _safely(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do a step; if it fails, log the failure."""
        try:
            await step()
        except Exception:  # noqa: BLE001 - whatever the programs answer, the next attempt may succeed
            _log.exception("reading from the running programs failed")

    async def _while_looked_at(self, seconds: float, step: Callable[[], Awaitable[None]]) -> None:
        """Do a step now, and then every ``seconds`` while somebody looks at the page."""
        while True:
            await self._safely(step)
            await self._environment.sleep(seconds)
            await self._audience.wait()

    async def _sample(self) -> None:
        store, wall = self.known.store, self._environment.wall
        while True:
            await self._environment.sleep(intervals.SAMPLE_SECONDS)
            store.sample(wall())
            store.forget_old(wall())

    async def _read_thresholds(self) -> None:
        store = self.known.store
        found = await thresholds_of(self._options.configuration, self._options.solver_url)
        if found is not None and found != store.thresholds:
            store.set_thresholds(found)
