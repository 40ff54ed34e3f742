"""``poseidon ui``: a web page of what a running pair does, or of files."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import AsyncExitStack, suppress
from ipaddress import ip_network
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from poseidon.commands.connection import (
    HostPort,
    connect,
    connection_options,
    fault,
    joined,
    solver_options,
)
from poseidon.commands.offline_options import read_configuration
from protos.conventions.tls import chosen_tls, tls_options

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport
    from poseidon.ui.audience import Audience
    from poseidon.ui.server.access import Access
    from poseidon.ui.sources.source import Source


class NetworkRange(click.ParamType[Any]):
    """A range of addresses, such as 10.0.0.0/8, or one address."""

    name = "CIDR"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the network, or end the command."""
        try:
            return ip_network(value)
        except ValueError:
            self.fail(f"{value!r} is no range of addresses; write for example 10.0.0.0/8", param, ctx)


@click.command("ui")
@click.option(
    "--listen", type=HostPort(), default="127.0.0.1:8088", show_default=True, help="Where the page is served."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Let in only who has the token in this file.",
)
@click.option(
    "--trust-proxy-header", default="", metavar="NAME", help="Let in whom a proxy names in this header."
)
@click.option(
    "--trust-proxy",
    multiple=True,
    type=NetworkRange(),
    metavar="CIDR",
    help="Where that proxy is. May be repeated.",
)
@click.option(
    "--host-name",
    multiple=True,
    metavar="NAME",
    help="A name of this host that browsers use. May be repeated.",
)
@click.option(
    "--most-clients",
    type=click.IntRange(1, 10_000),
    default=64,
    show_default=True,
    help="Pages that are told of changes at a time.",
)
@connection_options
@solver_options
@click.option(
    "--bridge",
    default="http://127.0.0.1:9092/metrics",
    show_default=True,
    metavar="URL",
    help="Where the bridge serves its metrics; without an answer there are no figures.",
)
@click.option(
    "--solver",
    default="http://127.0.0.1:9091/metrics",
    show_default=True,
    metavar="URL",
    help="Where the solver serves its metrics.",
)
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Scheduler configuration (YAML)."
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
    kubeconfig: Path | None,
    context: str | None,
    firmament: tuple[tuple[str, int], ...],
    cluster_name: str,
    bridge: str,
    solver: str,
    config: Path | None,
) -> None:
    """Serve a web page that shows what a running pair does. Changes nothing."""
    from poseidon.ui.audience import Audience
    from poseidon.ui.server.access import Access, AccessError, check_exposure

    access = Access(
        _token(token_file), trust_proxy_header, trust_proxy, frozenset(each.lower() for each in host_name)
    )
    try:
        check_exposure(listen[0], access)
    except AccessError as error:
        raise fault(str(error)) from None
    audience = Audience(time.monotonic)
    transport = connect(kubeconfig, context)

    async def served() -> None:
        from poseidon.ui.sources.live import LiveOptions, LiveSource

        options = LiveOptions(
            targets=[joined(address) for address in firmament],
            cluster=cluster_name,
            bridge_url=bridge,
            solver_url=solver,
            configuration=None if config is None else read_configuration(config),
            tls=chosen_tls(),
        )
        async with transport:
            source = LiveSource(_environment(transport), options, audience)
            await _serve(source, access, audience, listen, most_clients)

    _run(served())


def _token(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise fault(f"--token-file: {file}: {getattr(error, 'strerror', None) or error}") from None


def _environment(transport: Transport) -> Any:
    from prometheus_client import CollectorRegistry

    from poseidon.kube.client.metrics import KubeMetrics
    from poseidon.kube.watch.environment import Environment

    random = Random(time.time_ns())  # noqa: S311 - jitter, not secrets
    return Environment(transport, KubeMetrics(CollectorRegistry()), random, time.monotonic, time.time)


def _run(work: Any) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)


async def _serve(
    source: Source, access: Access, audience: Audience, listen: tuple[str, int], most_clients: int
) -> None:
    """Serve until the program is to end."""
    from poseidon.ui.server.application import Server, address_of, serve
    from poseidon.ui.server.limits import Limits

    server = Server(source, access, audience, wall=time.time, limits=Limits(clients=most_clients))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(ValueError, RuntimeError):  # only the main thread hears them
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        try:
            runner = await serve(server, *listen)
        except OSError as error:
            raise fault(f"--listen {joined(listen)}: cannot listen: {error.strerror or error}") from None
        stack.push_async_callback(runner.cleanup)
        click.echo(f"listening on http://{joined(address_of(runner))}/")
        parts = [asyncio.create_task(each) for each in (source.run(), server.publish(), stop.wait())]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in parts:
                each.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
