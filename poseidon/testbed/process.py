"""Runs the simulated cluster as a process: ``python -m poseidon.testbed``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import ssl
import sys
from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from poseidon.testbed.api_server.flow_control import WriteLimits
from poseidon.testbed.api_server.measured_use import (
    KoordletSimulation,
    MetricsServer,
    Reporter,
    ReportOptions,
    run_reporters,
)
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.controllers.device_claims import ClaimSimulation
from poseidon.testbed.controllers.device_driver import DriverSimulation
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.controllers.replica_controllers import PodReplacement
from poseidon.testbed.controllers.true_use import TrueUse
from poseidon.testbed.controllers.volumes import VolumeSimulation
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.seeding import create_nodes
from protos.conventions import event_loop
from protos.conventions.command_line import OneLineCommand

_NODES, _POSITIVE, _AMOUNT = click.IntRange(0, 100_000), click.IntRange(1), click.FloatRange(0.0)
_PEM, _FILE = click.Path(exists=True, dir_okay=False), click.Path(path_type=Path, dir_okay=False)


@click.command(
    "simulated",
    cls=OneLineCommand,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--nodes", default=0, show_default=True, type=_NODES, help="Nodes to begin with.")
@click.option("--history", default=50_000, show_default=True, type=_POSITIVE, help="Changes kept per kind.")
@click.option("--token", default=None, help="Bearer token that clients must send; none lets everyone in.")
@click.option("--seed", default=None, type=int, help="Gives the same UIDs in every run.")
@click.option("--kubelets/--no-kubelets", default=False, help="Whether bound pods start, finish and stop.")
@click.option("--start-delay", default=0.0, type=_AMOUNT, help="Seconds from binding to running.")
@click.option(
    "--replace-pods/--no-replace-pods",
    default=False,
    help="Whether controllers replace deleted pods.",
)
@click.option("--koordlets/--no-koordlets", default=False, help="Whether nodes report as NodeMetric objects.")
@click.option("--metrics-server/--no-metrics-server", default=False, help="Whether metrics.k8s.io is served.")
@click.option(
    "--report-interval",
    default=60.0,
    show_default=True,
    type=click.FloatRange(1.0),
    help="Seconds between measurements of a node.",
)
@click.option("--report-lag", default=0.0, type=_AMOUNT, help="Seconds from measuring to reporting.")
@click.option(
    "--volumes/--no-volumes", default=False, help="Whether claims are bound and volumes provisioned."
)
@click.option(
    "--devices/--no-devices", default=False, help="Whether claims of devices are created, served and freed."
)
@click.option(
    "--write-rate",
    default=0.0,
    type=_AMOUNT,
    help="The most writes per second; 0, the default, for no limit.",
)
@click.option("--write-latency", default=0.0, type=_AMOUNT, help="Additional seconds that each write takes.")
@click.option(
    "--max-writes",
    default=0,
    type=click.IntRange(0),
    help="The most writes in flight; further ones are refused (429). 0 for no limit.",
)
@click.option("--tls-cert", type=_PEM, help="Certificate: serve HTTPS.")
@click.option("--tls-key", type=_PEM, help="Private key of --tls-cert.")
@click.option("--kubeconfig", type=_FILE, help="File to write for clients.")
@click.option(
    "--journal",
    type=_FILE,
    help="File that keeps all writes: a cluster that was killed continues with them when it is started again.",
)
def main(host: str, port: int, history: int, token: str | None, seed: int | None, **rest: Any) -> None:
    """Serve a simulated Kubernetes API until SIGTERM or SIGINT.

    When the server is ready, it prints one line, "listening on URL".
    """
    try:
        # Without kubelets, the grace periods of pods would never end.
        options = ClusterOptions(
            history=history,
            token=token,
            seed=seed,
            graceful=rest["kubelets"],
            journal=rest.pop("journal"),
            writes=WriteLimits(rest.pop("write_rate"), rest.pop("write_latency"), rest.pop("max_writes")),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    tls = _tls(rest.pop("tls_cert"), rest.pop("tls_key"))
    try:
        event_loop.run(_serve(options, host, port, tls=tls, **rest))
    except OSError as error:
        # The error names the address that is in use, or the kubeconfig that cannot be written.
        click.echo(f"simulated cluster: {error}", err=True)
        sys.exit(2)


async def _serve(
    options: ClusterOptions,
    host: str,
    port: int,
    *,
    tls: ssl.SSLContext | None,
    nodes: int,
    kubeconfig: Path | None,
    **simulated: Any,
) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    cluster = SimulatedCluster(options)
    if not len(
        cluster.operations.store.collection(NODES.collection)
    ):  # The journal may have restored nodes already.
        await create_nodes(cluster.operations, nodes)
    await cluster.start(host, port, tls=tls)
    background = [asyncio.create_task(each) for each in _simulations(cluster, **simulated)]
    for task in background:
        # A simulation ends only because of a defect. When a simulation has ended, the process ends, too, because a
        # cluster that no longer runs pods would mislead.
        task.add_done_callback(lambda _: stopping.set())
    try:
        if kubeconfig is not None:
            write_kubeconfig(kubeconfig, cluster.url, options.token)
        click.echo(f"listening on {cluster.url}")
        await stopping.wait()
    finally:
        await cluster.stop()
        for task in background:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _simulations(
    cluster: SimulatedCluster,
    *,
    kubelets: bool,
    start_delay: float,
    volumes: bool,
    devices: bool,
    replace_pods: bool,
    koordlets: bool,
    metrics_server: bool,
    report_interval: float,
    report_lag: float,
) -> Iterator[Coroutine[Any, Any, None]]:
    """Yield the simulations that run beside the API server; each reads the store independently."""
    operations, store = cluster.operations, cluster.operations.store
    if kubelets:
        yield drive(KubeletSimulation(store, start_delay=start_delay))
    if replace_pods:
        yield drive(PodReplacement(store, partial(operations.create, PODS)))
    if volumes:
        yield drive(VolumeSimulation(store))
    if devices:
        yield drive(ClaimSimulation(store))
        yield drive(DriverSimulation(store))
    reporters: list[Reporter] = []
    options = ReportOptions(report_interval, report_lag)
    if koordlets:
        reporters.append(KoordletSimulation(operations, TrueUse(store), options))
    if metrics_server:
        server = MetricsServer(TrueUse(store), options)
        cluster.serve_metrics(server)
        reporters.append(server)
    if reporters:
        yield run_reporters(reporters, store.time)


def _tls(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise click.UsageError("--tls-cert and --tls-key go together; give both")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise click.UsageError(f"--tls-cert {certificate}: cannot be used with its key: {error}") from None
    return context
