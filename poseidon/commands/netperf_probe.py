"""``poseidon netperf-probe``: measures latencies between zones and between regions, or answers such measurements."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

import click

from poseidon.commands.shared.agent_options import (
    repeat,
    repetition_options,
    run_once_or_forever,
    run_until_stopped,
)
from poseidon.commands.shared.connection import connect, connection_options
from poseidon.commands.shared.options import HostPort
from poseidon.commands.shared.output_and_exit import fault

_log = logging.getLogger("poseidon.netperf-probe")


@click.command("netperf-probe")
@connection_options
@click.option("--serve", type=HostPort(), help="Answer measurements at this address, and measure nothing.")
@click.option("--namespace", default="default", help="Namespace of the servers and the ConfigMap.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    default=("app.kubernetes.io/name=netperf-server",),
    help="A label that the servers' pods have. May be repeated.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=12865, help="Port at which the servers answer."
)
@click.option(
    "--config-map", default="netperf-metrics", help="Name of the ConfigMap that holds the latencies."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.0, 60.0),
    default=2.0,
    help="Seconds for which each pair of nodes is measured.",
)
@click.option(
    "--samples", type=click.IntRange(1, 100_000), default=1000, help="The most round trips per pair of nodes."
)
@repetition_options(300.0)
def netperf_probe(
    *,
    serve: tuple[str, int] | None,
    namespace: str,
    labels: tuple[str, ...],
    port: int,
    config_map: str,
    seconds: float,
    samples: int,
    interval: float,
    once: bool,
) -> None:
    """Measure latencies between zones and between regions, and write them to a ConfigMap.

    For each two zones, and for each two regions, one pair of nodes is measured. A server has to run on each node
    (--serve); a DaemonSet starts the servers.
    """
    from poseidon.agents.netperf_probe import NetperfProbe, ProbeOptions
    from poseidon.kube.client.errors import KubeError
    from protos.conventions.logs import configure

    configure("info")
    if serve is not None:
        try:
            asyncio.run(_serve(*serve))
        except OSError as error:
            raise fault(f"--serve {serve[0]}:{serve[1]}: cannot listen: {error.strerror or error}") from None
        return
    wanted = dict(label.partition("=")[::2] for label in labels)
    options = ProbeOptions(namespace, wanted, port, config_map, seconds, samples)
    try:
        transport = connect()
        probe = NetperfProbe(transport, options)
        for_ever = None if once else partial(repeat, probe.probe, interval, _log, (KubeError,))
        asyncio.run(run_once_or_forever(transport, probe.probe, for_ever))
    except KubeError as error:
        raise fault(str(error), 1) from None


async def _serve(host: str, port: int) -> None:
    from poseidon.agents.round_trip import RoundTripServer

    async with RoundTripServer(host, port, clock=time.perf_counter) as server:
        _log.info("serving address=%s:%d", host, server.port)
        await run_until_stopped(asyncio.Event().wait())
