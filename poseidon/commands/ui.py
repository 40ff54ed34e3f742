"""``poseidon ui``: serves the dashboard, a web page about a running bridge and solver, or about files."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from poseidon.commands.shared.connection import (
    connect,
    connection_options,
    get_chosen_context,
    get_chosen_solvers,
    join_address,
    solver_options,
)
from poseidon.commands.shared.offline_input import Moment, Source
from poseidon.commands.shared.options import HostPort
from poseidon.commands.shared.output_and_exit import bad_input, fault
from poseidon.simulate.queue_starts import expect_queue_starts
from poseidon.ui.cures import Cures
from poseidon.ui.queues import Queues
from poseidon.ui.work.inputs import ClusterInput
from poseidon.ui.work.process import Worker
from protos.conventions import event_loop
from protos.conventions.logs import configure, one_line
from protos.conventions.secrets import redact_address
from protos.conventions.tls import read_chosen_tls, tls_options

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.kube.client.transport import Transport
    from poseidon.ui.audience import Audience
    from poseidon.ui.server.access import Access
    from poseidon.ui.sources.files import FileInput
    from poseidon.ui.sources.live import LiveOptions
    from poseidon.ui.sources.source import Source as PageSource


class NetworkRange(click.ParamType[Any]):
    """Type of options: a range of addresses such as 10.0.0.0/8, or one address."""

    name = "CIDR"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the range of addresses; if the text is none, end the command with a message."""
        try:
            return ip_network(value)
        except ValueError:
            self.fail(f"{value!r} is no range of addresses; write for example 10.0.0.0/8", param, ctx)


@click.command("ui")
@click.option(
    "--listen",
    type=HostPort(),
    default="127.0.0.1:8088",
    show_default=True,
    help="Address at which the page is served.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Admit only users who have the token in this file.",
)
@click.option(
    "--trust-proxy-header",
    default="",
    metavar="NAME",
    help="Admit users whom a trusted proxy (--trust-proxy) names in this header.",
)
@click.option(
    "--trust-proxy",
    multiple=True,
    type=NetworkRange(),
    metavar="CIDR",
    help="Range of addresses of the proxy that --trust-proxy-header names. May be repeated.",
)
@click.option(
    "--host-name",
    multiple=True,
    metavar="NAME",
    help="A host name under which browsers may open the page. May be repeated.",
)
@click.option(
    "--most-clients",
    type=click.IntRange(1, 10_000),
    default=64,
    show_default=True,
    help="How many open pages may get updates at the same time.",
)
@connection_options
@solver_options
@click.option(
    "--bridge",
    default="http://127.0.0.1:9092/metrics",
    show_default=True,
    metavar="URL",
    help="Address at which the bridge serves its metrics; if it does not answer, the page lacks the bridge's figures.",
)
@click.option(
    "--solver",
    default="http://127.0.0.1:9091/metrics",
    show_default=True,
    metavar="URL",
    help="Address at which the solver serves its metrics.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Scheduler configuration (YAML); default: the one that the solver serves with its metrics.",
)
@click.option(
    "--snapshot",
    multiple=True,
    metavar="PATH",
    help="Show files instead of a cluster: manifests, a folder of saved rounds, or a support bundle. May be repeated.",
)
@click.option(
    "--now",
    type=Moment(),
    help="The time at which the files were written, such as 2026-01-31T12:00:00Z; default: now.",
)
@tls_options
def ui(
    *,
    listen: tuple[str, int],
    token_file: Path | None,
    trust_proxy_header: str,
    trust_proxy: tuple[Any, ...],
    host_name: tuple[str, ...],
    most_clients: int,
    bridge: str,
    solver: str,
    config: Path | None,
    snapshot: tuple[str, ...],
    now: float | None,
) -> None:
    """Serve a web page that shows what a running bridge and solver do, or what files say.

    The command changes nothing in the cluster.

    With --snapshot, the page shows manifests, saved rounds of a solver, or support bundles; without --snapshot, a
    live cluster and its solver. Everybody who can reach the address can read the page. If you serve the page beyond
    this machine, a token or a trusted proxy is needed.
    """
    from poseidon.ui.server.access import Access, AccessError, check_exposure

    access = Access(
        _token(token_file), trust_proxy_header, trust_proxy, frozenset(each.lower() for each in host_name)
    )
    try:
        check_exposure(listen[0], access)
    except AccessError as error:
        raise fault(str(error)) from None
    configure("warning")
    serving = _Serving(access, listen, most_clients)
    if snapshot:
        _refuse_mixture()
        with TemporaryDirectory(prefix="poseidon-ui-") as folder:
            files = _read_files(snapshot, config, now, Path(folder))
            event_loop.run(_serve_files(files, serving))
        return
    if now is not None:
        raise click.UsageError("--now is for files; name some with --snapshot")
    from poseidon.ui.program_pages import get_configz_url

    options = _live_options(bridge, solver, config)
    kubeconfig, context = get_chosen_context()
    given = ClusterInput(
        (),
        str(kubeconfig or ""),
        context or "",
        str(config or ""),
        (get_configz_url(solver), get_configz_url(bridge)),
    )
    event_loop.run(_serve_live(connect(), options, given, serving))


@dataclass(frozen=True, slots=True)
class _Serving:
    access: Access
    listen: tuple[str, int]
    most_clients: int


def _refuse_mixture() -> None:
    """End the command if options for a live cluster and files are given together."""
    given = click.get_current_context().get_parameter_source
    for each in ("kubeconfig", "context", "firmament", "cluster_name", "bridge", "solver"):
        if given(each) is click.core.ParameterSource.COMMANDLINE:
            option = f"--{each.replace('_', '-')}"
            raise click.UsageError(f"{option} is for a live cluster; leave --snapshot away")


def _read_files(paths: tuple[str, ...], config: Path | None, now: float | None, folder: Path) -> FileInput:
    """Read the named files; if they cannot be used, end the command with status 2."""
    from poseidon.ui.sources.files import FileInput
    from poseidon.ui.sources.snapshots import SnapshotError, find_snapshots

    try:
        found = find_snapshots(paths, folder)
    except SnapshotError as error:
        raise fault(one_line(str(error))) from None
    manifests = configuration = None
    moment = time.time() if now is None else now
    if found.manifests:
        read = Source(tuple(found.manifests), config, moment).read()
        manifests, configuration = read.manifests, read.configuration
        found.warnings += manifests.warnings
    elif not found.rounds:
        raise fault(f"{', '.join(paths)}: no manifests and no saved rounds")
    given = ClusterInput(tuple(found.manifests), config=str(config or ""), now=moment)
    title = ", ".join(Path(each).name for each in paths)
    return FileInput(title, given, configuration, manifests, found.rounds, found.warnings)


def _bridge_configuration(config: Path) -> BridgeConfiguration:
    """Read the bridge's part of the configuration, which works without the solver's package."""
    from poseidon.configuration.document import load
    from protos.configuration.file import ConfigurationError

    try:
        return load(config)
    except ConfigurationError as error:
        raise bad_input(error.lines) from None


def _live_options(bridge: str, solver: str, config: Path | None) -> LiveOptions:
    from poseidon.ui.sources.live import LiveOptions

    for name, url in (("--bridge", bridge), ("--solver", solver)):
        if not url.startswith(("http://", "https://")):
            raise click.UsageError(
                f"{name}: {redact_address(url)!r} is no address; write for example http://127.0.0.1:9092/metrics"
            )
    return LiveOptions(
        targets=get_chosen_solvers().targets,
        cluster=get_chosen_solvers().cluster,
        bridge_url=bridge,
        solver_url=solver,
        configuration=None if config is None else _bridge_configuration(config),
        tls=read_chosen_tls(),
        cures=find_spec("ortools") is not None,
    )


async def _serve_live(
    transport: Transport, options: LiveOptions, given: ClusterInput, serving: _Serving
) -> None:
    from prometheus_client import CollectorRegistry

    from poseidon.kube.environment import Environment, KubeMetrics
    from poseidon.ui.audience import Audience
    from poseidon.ui.sources.live import LiveSource

    registry = CollectorRegistry()
    audience, worker = Audience(time.monotonic), Worker()
    async with transport:
        source = LiveSource(Environment(transport, KubeMetrics(registry)), options, audience)
        await _serve(source, audience, worker, given, serving, registry)


async def _serve_files(files: FileInput, serving: _Serving) -> None:
    from poseidon.ui.audience import Audience
    from poseidon.ui.sources.files import FileSource

    worker = Worker()
    source = FileSource(files, worker, time.time)
    await _serve(source, Audience(time.monotonic), worker, files.given, serving)


def _token(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise fault(f"--token-file: {file}: {getattr(error, 'strerror', None) or error}") from None


async def _serve(
    source: PageSource,
    audience: Audience,
    worker: Worker,
    given: ClusterInput,
    serving: _Serving,
    registry: CollectorRegistry | None = None,
) -> None:
    """Serve the page until the program receives a signal to end.

    ``given`` is the input of the tasks that ``worker`` runs; ``registry`` holds metrics to serve with those of the
    page.
    """
    from poseidon.ui.server.application import Server, serve
    from poseidon.ui.server.limits import Limits
    from poseidon.ui.server.metrics import PageMetrics

    limits = Limits(clients=serving.most_clients)
    metrics = PageMetrics(registry)
    server = Server(
        source,
        serving.access,
        audience,
        wall=time.time,
        cures=Cures(worker, given, time.monotonic),
        queues=Queues(worker, given, expect_queue_starts, time.monotonic),
        limits=limits,
        metrics=metrics,
    )
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(ValueError, RuntimeError):  # Python allows signal handlers only in the main thread.
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(worker.close)
        try:
            listening = await serve(server, *serving.listen)
        except OSError as error:
            where = join_address(serving.listen)
            raise fault(f"--listen {where}: cannot listen: {error.strerror or error}") from None
        stack.push_async_callback(listening.close)
        click.echo(f"listening on http://{join_address(listening.address)}/")
        parts = [asyncio.create_task(each) for each in (source.run(), server.publish(), stop.wait())]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in parts:
                each.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
