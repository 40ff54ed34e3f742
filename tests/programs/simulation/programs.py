"""The two programs as processes of the simulation: the real solver's service, and the real bridge's supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

from firmament.configuration.document import SchedulerConfiguration, build_core
from firmament.core.scheduler import Scheduler
from firmament.server.access.fencing import Fencing
from firmament.server.cluster import ServedCluster
from firmament.server.cluster_registry import ClusterRegistry
from firmament.server.driving.loop import RoundRunner
from firmament.server.metrics import Metrics
from firmament.server.service import SchedulerService
from firmament.server.session import SessionSettings
from firmament.server.solver_server import steady_clock
from firmament.solvers.base import FlowProblem, FlowSolution, SolverError, SolverTimeoutError
from firmament.solvers.ortools_solver import OrToolsSolver
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import Bridge, BridgeProcess
from poseidon.bridge.supervisor import Supervisor
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.environment import Environment
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.leadership.elector import Elector, LeadershipLostError
from poseidon.leadership.options import LeaderElectionOptions
from poseidon.lifecycle.phases import Stories
from tests.programs.simulation.api_server import ApiServer
from tests.programs.simulation.event_queue import EventQueue
from tests.programs.simulation.http import SERVER, SimulatedTransport
from tests.programs.simulation.network import Network
from tests.programs.simulation.process import Process
from tests.programs.simulation.streams import Monitor, Stream, serve

if TYPE_CHECKING:
    from firmament.wire.rounds import EncodedRound

CLUSTER = "simulated"
GANG_SECONDS = 45.0
"""How long a gang may be in part bound before it is given up: so that what follows comes within a history."""


class SimulatedSolver:
    """OR-Tools, taking up to ``seconds`` of simulated time, in which everything else goes on.

    ``exceeds`` and ``dies``: shares of solves that are cut off, or whose worker dies.
    """

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._solver = OrToolsSolver()
        self.calm()

    def calm(self) -> None:
        """Solve as usual: soon, and always."""
        self.seconds, self.exceeds, self.dies = 0.01, 0.0, 0.0

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        random = self._queue.random
        self._queue.run_until(self._queue.now + self.seconds * random.random())
        if random.random() < self.exceeds:
            raise SolverTimeoutError("the solve was cut off after 1 s")
        if random.random() < self.dies:
            raise SolverError("the solver's process died twice over one problem")
        return self._solver.solve(problem)


class _Runner(RoundRunner):
    """Rounds one after another: who would wait for the lock of rounds is not run before it is free."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__(metrics, clock=lambda: 0.0)
        self._busy = False
        self._waiting: list[asyncio.Future[None]] = []

    async def run(self, cluster: ServedCluster) -> EncodedRound | None:
        while self._busy:
            waits = asyncio.get_running_loop().create_future()
            self._waiting.append(waits)
            await waits
        self._busy = True
        return await super().run(cluster)

    def run_here(self, cluster: ServedCluster) -> EncodedRound | None:
        try:
            return super().run_here(cluster)
        finally:
            self._busy = False
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                if not each.done():
                    each.set_result(None)


class SolverProgram:
    """The solver's process. ``core`` is what all its schedulers are configured with."""

    def __init__(
        self, name: str, network: Network, solver: SimulatedSolver, failed: Callable[[str], None]
    ) -> None:
        queue = network.queue
        self.process = Process(queue, name, failed)
        configuration = SchedulerConfiguration.model_validate({"gangs": {"timeout": GANG_SECONDS}})
        core = build_core(configuration)

        def new_scheduler() -> Scheduler:
            clock = steady_clock(queue.wall, queue.monotonic)
            return Scheduler(configuration=core, solver=solver, clock=clock)

        def new_cluster(name: str) -> ServedCluster:
            return ServedCluster(name, new_scheduler, fencing=Fencing(queue.wall, queue.monotonic))

        self.registry = ClusterRegistry(new_cluster, most=configuration.limits.clusters)
        metrics = Metrics()
        self.service = SchedulerService(
            self.registry,
            _Runner(metrics),
            SessionSettings(
                batching_window=configuration.round.batching_window,
                limits=configuration.limits,
                needs=core.words,
                record_kinds=core.needs.records,
            ),
            metrics,
        )

    def accept(self, stream: Stream) -> None:
        """Answer a stream, unless this process is gone."""
        if self.process.dead:
            stream.break_off("connection refused")
            return
        self.process.call_soon(lambda: self.process.create_task(self._serve(stream)))

    async def _serve(self, stream: Stream) -> None:
        with suppress(asyncio.CancelledError):
            await serve(stream, self.service)


class _WatchedSupervisor(Supervisor):
    """A supervisor whose present bridge can be looked into."""

    bridge: Bridge | None = None

    def __init__(self, transport: SimulatedTransport, *given: Any) -> None:
        super().__init__(*given)
        self._simulated = transport

    @property
    def seen(self) -> Mapping[str, int]:
        """The moments up to which its bridge has dealt with each collection."""
        return self._simulated.seen

    def _bridge(self, options: BridgeOptions) -> Bridge:
        self.bridge = bridge = super()._bridge(options)
        refusal = bridge.state.refusal

        def noted(uid: str, node: str) -> str:
            """What was known when the bridge last looked at the node is what its binding is judged by."""
            found = refusal(uid, node)
            if not found:
                self._simulated.decided(uid)
            return found

        bridge.state.refusal = noted
        return bridge


class BridgeProgram:
    """A bridge's process. Its name is the target under which it asks for the solver.

    It stands for ``election``; None: it decides from the start.
    """

    def __init__(
        self,
        name: str,
        network: Network,
        api: ApiServer,
        failed: Callable[[str], None],
        options: BridgeOptions,
        election: LeaderElectionOptions | None,
    ) -> None:
        queue = network.queue
        self.process = Process(queue, name, failed)
        self._failed = failed
        self._queue = queue
        free = SimulatedTransport(self.process, network, api)
        self.elector: Elector | None = None
        transport = free
        if election is not None:
            self.elector = elector = Elector(
                Environment(
                    free,  # type: ignore[arg-type]  # has what is used of it
                    random=Random(queue.random.random()),
                    clock=queue.monotonic,
                    wall=queue.wall,
                ),
                election,
                name,
            )
            transport = SimulatedTransport(self.process, network, api, elector.may_write)
        self.process.on_kill.append(lambda: network.reset(name, SERVER))
        self.supervisor = _WatchedSupervisor(
            transport,
            BridgeProcess(
                Environment(
                    transport,  # type: ignore[arg-type]  # has what is used of it
                    random=Random(queue.random.random()),
                    clock=queue.monotonic,
                    wall=queue.wall,
                ),
                Stories(queue.monotonic),
                leadership=self.elector,
            ),
            options,
            f"{CLUSTER}.observer.{name}",
        )
        self.stopping: asyncio.Event | None = None
        self.process.call_soon(lambda: self.process.create_task(self._run()))

    @property
    def seen(self) -> Mapping[str, int]:
        """The moments up to which this process has dealt with each collection."""
        return self.supervisor.seen

    @property
    def bridge(self) -> Bridge | None:
        """The bridge that runs at present."""
        return self.supervisor.bridge if not self.process.dead else None

    def drifted(self) -> list[str]:
        """Names of the collections in which this process knew something that is not so."""
        return [
            sample.labels["resource"]
            for metric in self.supervisor.registry.collect()
            for sample in metric.samples
            if sample.name == "poseidon_watch_drifted_objects_total" and sample.value
        ]

    def terminate(self) -> None:
        """Send SIGTERM."""
        if self.stopping is not None:
            self.process.call_soon(self.stopping.set)

    async def _run(self) -> None:
        self.stopping = asyncio.Event()
        try:
            await self.supervisor.run(self.stopping)
        except LeadershipLostError as lost:
            self._queue.tell(f"{self.process.name} ends: {lost}")
        except Exception as error:  # noqa: BLE001 - whatever ends a bridge is what is looked for
            if not self.process.dead:
                self._failed(f"{self.process.name} ended: {error!r}")
        if not self.process.dead:
            self.process.queue.after(0.0, self.process.kill)


def bridge_options(
    name: str, fencing: int, random: Random, more: Mapping[str, Any] | None = None
) -> BridgeOptions:
    """Return what a bridge is to do; pages are small, so that lists have several. ``more``: of its configuration."""
    page = random.choice((3, 1000))
    return BridgeOptions(
        firmament=(name,),
        configuration=BridgeConfiguration.model_validate(
            {
                "gangs": {"timeout": GANG_SECONDS},
                "watch": {"reconcilePeriod": random.choice((0, 20, 100))},
                **(more or {}),
            }
        ),
        cluster=CLUSTER,
        fencing=fencing,
        client=name,
        instance=name,
        reflector=ReflectorOptions(page_size=page),
    )


class Front:
    """Where bridges reach the solver: whichever process serves at present. In the place of ``aio.insecure_channel``."""

    def __init__(self, network: Network, monitor: Monitor) -> None:
        self._network = network
        self._monitor = monitor
        self.solver: SolverProgram | None = None
        self.bridges: dict[str, BridgeProgram] = {}

    def open(self, target: str) -> Stream:
        """Open a stream from the bridge ``target``."""
        client, solver = self.bridges[target].process, self.solver
        assert solver is not None
        stream = Stream(self._network, client, solver.process, self._monitor)
        client.on_kill.append(stream.abandon)
        solver.process.on_kill.append(lambda: stream.break_off("connection reset by the solver's end"))
        if solver.process.dead:
            stream.break_off("connection refused")
        else:
            self._network.queue.at(
                max(
                    self._network.queue.now + self._network.delay(),
                    self._network.cut_until(client.name, solver.process.name),
                ),
                lambda: solver.accept(stream),
            )
        return stream
