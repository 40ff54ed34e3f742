"""``poseidon run``: runs the bridge."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

import click

import poseidon
from poseidon.commands.shared.connection import (
    Solvers,
    connection_options,
    connection_settings,
    get_chosen_solvers,
    serve_metrics,
    solver_options,
)
from poseidon.commands.shared.options import HostPort, config_option, override_names, scheduler_names_option
from poseidon.commands.shared.output_and_exit import fault, stop_event
from protos.conventions import event_loop
from protos.conventions.logs import configure, logging_options
from protos.conventions.tls import TlsFiles, read_chosen_tls, tls_options
from protos.conventions.tracing import tracer_of, tracing_option

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from poseidon.bridge.options import BridgeOptions
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.kube.client.settings import ConnectionSettings
    from poseidon.kube.client.transport import Transport
    from poseidon.recording.recorder import StreamRecorder

_log = logging.getLogger("poseidon.run")


@dataclass(frozen=True, slots=True)
class _Arguments:
    settings: ConnectionSettings
    options: BridgeOptions
    metrics: tuple[str, int] | None
    tracer: Tracer | None
    recorder: StreamRecorder | None


@click.command("run")
@connection_options
@solver_options
@config_option
@scheduler_names_option
@click.option("--print-config", is_flag=True, help="Print the configuration with all defaults, and exit.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Log which pods would be bound, and write nothing; a running bridge is not disturbed.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=None,
    help="Work only while holding a Lease, and stand by otherwise; default: leaderElection.leaderElect.",
)
@click.option(
    "--metrics",
    type=HostPort(),
    help="Serve Prometheus metrics, and /livez and /readyz for probes, at this address; off by default.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder in which to record messages to and from the solver, for `poseidon simulate --replay`; off by "
    "default.",
)
@click.option(
    "--record-limit",
    default="1Gi",
    metavar="SIZE",
    help="Largest size of the recording, at least 1Mi; when it is reached, the oldest part is deleted.",
)
@tls_options
@tracing_option
@logging_options("debug logs each pod, info each round.")
def run(
    *,
    config: Path | None,
    scheduler_names: tuple[str, ...],
    print_config: bool,
    dry_run: bool,
    leader_elect: bool | None,
    metrics: tuple[str, int] | None,
    record: Path | None,
    record_limit: str,
    traces: str | None,
    log_level: str,
    log_format: str,
) -> None:
    """Connect a Kubernetes cluster to a solver: send it pods and nodes, and bind pods as the solver decides."""
    from poseidon.configuration.document import load
    from poseidon.kube.client.errors import SettingsError
    from poseidon.metrics_sources.prometheus import connection

    configure(log_level, log_format)
    try:
        configuration = _override_election(override_names(load(config), scheduler_names), leader_elect)
        if print_config:
            click.echo(configuration.effective_yaml(), nl=False)
            return
        recorder = None if record is None else _recorder(record, record_limit, config)
        settings = connection_settings()
        prometheus = configuration.utilisation.prometheus
        if prometheus is not None:
            connection(prometheus)  # unusable certificate files are reported before anything runs
        options = _options(configuration, get_chosen_solvers(), dry_run=dry_run, tls=read_chosen_tls())
        tracer = tracer_of(traces, "poseidon", poseidon.__version__)
    except (ValueError, SettingsError) as error:
        raise fault(str(error)) from None
    _start(_Arguments(settings, options, metrics, tracer, recorder))


def _recorder(folder: Path, limit: str, config: Path | None) -> StreamRecorder:
    """Return a recorder of the messages to and from the solver.

    Raises ``ValueError`` if the folder or the limit cannot be used.
    """
    from poseidon.kube.parsing.quantities import amount
    from poseidon.recording.recorder import StreamRecorder
    from poseidon.recording.recording_files import LEAST_LIMIT, SegmentWriter
    from protos.configuration.file import read_document

    try:
        most = amount("memory", limit, down=True)
    except ValueError as error:
        raise ValueError(f"--record-limit: {error}") from None
    if most < LEAST_LIMIT:
        raise ValueError(f"--record-limit: {limit} is too little for a recording; give at least 1Mi")
    document = {} if config is None else read_document(config)
    return StreamRecorder(SegmentWriter(folder, most), time.time, document)


def bridge_options(config: Path | None, leader_elect: bool | None) -> BridgeOptions:
    """Return the bridge's options, from a configuration file and the command line.

    Raises ``ValueError`` if an option or the configuration cannot be used.
    """
    from poseidon.configuration.document import load

    configuration = _override_election(load(config), leader_elect)
    return _options(configuration, get_chosen_solvers(), dry_run=False, tls=read_chosen_tls())


def _override_election(configuration: BridgeConfiguration, leader_elect: bool | None) -> BridgeConfiguration:
    """Return the configuration.

    If the command line states leader election, that setting replaces the configuration's.
    """
    if leader_elect is None:
        return configuration
    election = configuration.leader_election.model_copy(update={"leader_elect": leader_elect})
    return configuration.model_copy(update={"leader_election": election})


def _options(
    configuration: BridgeConfiguration, solvers: Solvers, *, dry_run: bool, tls: TlsFiles | None = None
) -> BridgeOptions:
    """Return the bridge's options from the configuration and the command line."""
    from poseidon.bridge.options import BridgeOptions
    from poseidon.bridge.solver_stream.session import SessionOptions

    return BridgeOptions(
        firmament=solvers.targets,
        configuration=configuration,
        cluster=name_observer(solvers.cluster) if dry_run else solvers.cluster,
        # The start time is the fencing number: a bridge that starts later replaces an earlier one.
        fencing=0 if dry_run else int(time.time() * 1000),
        client=f"poseidon {poseidon.__version__}",
        instance=socket.gethostname(),
        dry_run=dry_run,
        session=SessionOptions(tls=tls),
    )


def name_observer(cluster: str, purpose: str = "dry-run") -> str:
    """Return a unique name under which a process that only observes ``cluster`` connects to solvers."""
    return f"{cluster}.{purpose}.{socket.gethostname()}.{os.getpid()}"


def _start(arguments: _Arguments) -> None:
    # Most objects live long, so frequent collections of young objects would free little.
    gc.set_threshold(50_000, 20, 50)
    event_loop.run(_bridge(arguments))


async def _bridge(arguments: _Arguments) -> None:
    from poseidon.bridge.binding_traces import BindingTraces
    from poseidon.bridge.options import describe
    from poseidon.bridge.round_history import RoundHistory
    from poseidon.bridge.runner import BridgeProcess
    from poseidon.bridge.supervisor import Supervisor
    from poseidon.kube.environment import Environment
    from poseidon.leadership.elector import Elector, LeadershipLostError
    from poseidon.lifecycle.phases import Stories
    from protos.conventions.probes import Heartbeat, application

    heartbeat, stories = Heartbeat(time.monotonic), Stories(time.monotonic)
    rounds = RoundHistory(time.time)
    beating = asyncio.create_task(heartbeat.run(), name="heartbeat")
    stop = stop_event()
    options = arguments.options
    random = Random(os.urandom(16))  # noqa: S311 - jitter, not secrets
    async with AsyncExitStack() as stack:
        free = await stack.enter_async_context(_transport(arguments))
        transport, elector = free, None
        if options.configuration.leader_election.leader_elect and not options.dry_run:
            elector = Elector(
                Environment(free, random=random),
                options.configuration.leader_election,
                f"{options.instance}_{uuid4()}",
            )
            transport = await stack.enter_async_context(_transport(arguments, elector.may_write))
        process = BridgeProcess(
            Environment(transport, random=random),
            stories,
            rounds,
            traces=BindingTraces(arguments.tracer) if arguments.tracer else None,
            leadership=elector,
            recorder=arguments.recorder,
        )
        supervisor = Supervisor(process, options, name_observer(get_chosen_solvers().cluster, "needs"))
        serve_metrics(
            arguments.metrics,
            application(
                lambda: supervisor.registry,
                {"/livez": heartbeat.fault, "/readyz": supervisor.explain_unready},
                {
                    "/configz": lambda _: options.configuration.effective_yaml(),
                    "/debug/pod/": lambda uid: "\n".join(stories.list_lines(uid)),
                    "/debug/round/": rounds.page,
                },
            ),
        )
        described = describe(options, transport.server)
        _log.info(" ".join(("starting", *(f"{key}=%s" for key in described))), *described.values())
        try:
            await supervisor.run(stop)
        except LeadershipLostError as error:
            _log.error('leadership lost, ending error="%s"', error)
            raise SystemExit(1) from None
        finally:
            beating.cancel()
            if arguments.recorder is not None:
                await asyncio.to_thread(arguments.recorder.close)


def _transport(arguments: _Arguments, may_write: Callable[[], bool] = lambda: True) -> Transport:
    from poseidon.kube.client.transport import Transport

    options = arguments.options
    return Transport(arguments.settings, clock=time.monotonic, user_agent=options.client, may_write=may_write)
