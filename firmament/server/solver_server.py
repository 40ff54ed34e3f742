"""Runs the solver as a process: builds all parts, serves, and shuts down in order."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from firmament.configuration.document import SchedulerConfiguration, build_core
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.server.access.address import ListenAddress, check_free
from firmament.server.access.credentials import Clients, server_credentials
from firmament.server.access.grpc_options import PING_SECONDS, server_options
from firmament.server.cluster import ServedCluster
from firmament.server.cluster_registry import ClusterRegistry
from firmament.server.driving.loop import RoundRunner
from firmament.server.metrics import Metrics
from firmament.server.rounds.round_saver import SavedRoundsFolder, SavedRoundWriter
from firmament.server.service import SchedulerService, add_service
from firmament.server.session import SessionSettings
from firmament.solvers.process_solver import DEFAULT_SOLVER, ProcessSolver
from protos.conventions.probes import Heartbeat, application
from protos.conventions.probes import serve as serve_http
from protos.conventions.tls import TlsFiles
from protos.firmament.v1 import scheduler_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.trace import Tracer

log = logging.getLogger(__name__)

DRAIN_SECONDS = 4.0
"""Seconds in which sessions may send their last round, chosen so that the whole shutdown takes less than 5 s."""
# One thread each for applying events, looking for work, and a round, so that no stream waits for another.
_THREADS_PER_STREAM = 3
_SERVICE = scheduler_pb2.DESCRIPTOR.services_by_name["Scheduler"].full_name


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of a solver process."""

    listen: ListenAddress
    """Address of the gRPC server."""
    metrics: ListenAddress | None = None
    """Address of the metrics; None for none."""
    saved_rounds: SavedRoundsFolder | None = None
    """Where rounds are saved; None: nowhere."""
    solver: str = DEFAULT_SOLVER
    """The solver that the worker runs, as ``package.module:Class``."""
    ping_seconds: float = PING_SECONDS
    """Shortest interval between probes of idle connections; see ``server_options``."""
    tls: TlsFiles | None = None
    """Certificate files of both sides; None: no encryption."""
    clients: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """With ``tls``: the clusters allowed for each name in clients' certificates."""
    tracer: Tracer | None = None
    """Creates spans of rounds; None if no spans are wanted."""


def steady_clock(wall: Callable[[], float], monotonic: Callable[[], float]) -> Callable[[], float]:
    """Return a clock of seconds since the epoch that starts at ``wall`` and continues with ``monotonic``.

    Waits, back-offs and time-outs are differences of times. If the system's clock were turned back by an hour, a task
    with a failed binding would wait for that hour. If the clock were turned forward, gangs that are being bound would
    be given up.
    """
    offset = wall() - monotonic()
    return lambda: offset + monotonic()


class SolverServer:
    """A gRPC server with the clusters that it serves.

    Call ``start`` and ``stop`` in one event loop; tests need no signals. ``clock``: returns seconds since the epoch;
    by default each snapshot gets a ``steady_clock``. The constructor raises ``ConfigurationError`` if the
    configuration cannot be used. ``serving``: whether sessions are accepted. Any thread may read ``serving`` and
    ``metrics``.
    """

    def __init__(
        self,
        configuration: SchedulerConfiguration,
        options: ServeOptions,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._options = options
        self._limits = configuration.limits
        self._core = build_core(configuration)
        self._clock = clock
        self.metrics = Metrics()
        self._solver = ProcessSolver(options.solver, on_restart=self.metrics.solver_restarts.inc)
        self._round_saver = SavedRoundWriter(options.saved_rounds) if options.saved_rounds else None
        self._service = SchedulerService(
            ClusterRegistry(self._new_cluster, most=configuration.limits.clusters),
            RoundRunner(self.metrics, tracer=options.tracer),
            SessionSettings(
                batching_window=configuration.round.batching_window,
                limits=configuration.limits,
                needs=self._core.words,
                record_kinds=self._core.needs.records,
            ),
            self.metrics,
            Clients(options.clients if options.tls else None),
        )
        self.serving = False
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined] # an alias that mypy does not see
        self._server: grpc.aio.Server | None = None

    async def start(self) -> ListenAddress:
        """Listen, and return the address with the port that was chosen.

        Raise ``AddressError`` or ``TlsError`` if the address or the certificates cannot be used.
        """
        listen = self._options.listen
        check_free(listen)
        asyncio.get_running_loop().set_default_executor(
            ThreadPoolExecutor(_THREADS_PER_STREAM * self._limits.streams, "core")
        )
        self._server = grpc.aio.server(
            options=server_options(
                self._limits.message_bytes, self._options.ping_seconds, self._limits.hello_timeout
            )
        )
        add_service(self._service, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        await self._health.set(_SERVICE, health_pb2.HealthCheckResponse.SERVING)
        if self._options.tls is None:
            port = self._server.add_insecure_port(str(listen))
        else:
            port = self._server.add_secure_port(str(listen), server_credentials(self._options.tls))
        await self._server.start()
        self.serving = True
        return ListenAddress(listen.host, port)

    async def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Report NOT_SERVING, finish and send rounds in progress, close all streams and end the workers."""
        self.serving = False
        await self._health.enter_graceful_shutdown()
        try:
            async with asyncio.timeout(drain_seconds):
                await self._service.drain()
        except TimeoutError:
            log.warning("drain cut off after=%.1fs", drain_seconds)
        self._service.close()
        await asyncio.to_thread(self._solver.close)
        if self._round_saver is not None:
            await asyncio.to_thread(self._round_saver.close)
        if self._server is not None:
            await self._server.stop(grace=0.2)
            self._server = None

    def _new_cluster(self, name: str) -> ServedCluster:
        return ServedCluster(
            name, self._new_scheduler, self._round_saver.record if self._round_saver else None
        )

    def _new_scheduler(self) -> Scheduler:
        clock = self._clock or steady_clock(time.time, time.monotonic)
        return Scheduler(configuration=self._core, solver=self._solver, clock=clock, timer=time.perf_counter)


async def serve(configuration: SchedulerConfiguration, options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT, then drain. Raise ``AddressError`` if an address cannot be used."""
    if options.metrics is not None:
        check_free(options.metrics)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Each connection of a client uses one file descriptor.
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    relax_garbage_collection()
    keep_freed_memory()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    server = SolverServer(configuration, options)
    heartbeat = Heartbeat(time.monotonic)
    beating = asyncio.create_task(heartbeat.run(), name="heartbeat")
    exporter = None
    try:
        address = await server.start()
        if options.metrics is not None:
            exporter = serve_http(
                options.metrics.host,
                options.metrics.port,
                application(
                    lambda: server.metrics.registry,
                    {"/livez": heartbeat.fault, "/readyz": lambda: "" if server.serving else "not serving"},
                    {"/configz": lambda _: configuration.effective_yaml()},
                ),
            )
        sys.stdout.write(f"listening on {address}\n")
        sys.stdout.flush()
        await stopping.wait()
        log.info("draining")
    finally:
        beating.cancel()
        await server.stop()
        if exporter is not None:
            exporter.shutdown()
            exporter.server_close()
    log.info("stopped")
