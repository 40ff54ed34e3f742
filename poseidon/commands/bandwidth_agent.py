"""``poseidon bandwidth-agent``: advertises the network bandwidth of the node that the program runs on."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from random import Random

import click

from poseidon.commands.shared.agent_options import repetition_options, run_once_or_forever
from poseidon.commands.shared.connection import connect, connection_options
from poseidon.commands.shared.output_and_exit import fault


@click.command("bandwidth-agent")
@connection_options
@click.option("--node", envvar="NODE_NAME", required=True, help="The node's name; default: $NODE_NAME.")
@click.option(
    "--interface",
    help="Network interface whose speed is advertised; default: the interface of the default route.",
)
@click.option(
    "--speed",
    type=click.IntRange(min=1),
    help="Speed to advertise in Mbit/s, instead of the speed that the kernel reports.",
)
@click.option(
    "--sysfs",
    type=click.Path(path_type=Path),
    default=Path("/sys/class/net"),
    help="Folder in which the kernel describes network interfaces.",
)
@repetition_options(60.0)
def bandwidth_agent(
    *, node: str, interface: str | None, speed: int | None, sysfs: Path, interval: float, once: bool
) -> None:
    """Advertise the bandwidth of a node as its extended resource network.aware.com/bandwidth, in bits per second."""
    from poseidon.agents.bandwidth_agent import BandwidthAgent, LinkSpeedError
    from poseidon.kube.client.errors import KubeError
    from protos.conventions.logs import configure

    configure("info")
    transport = connect()
    measured = partial(_speed, speed, interface, sysfs)
    agent = BandwidthAgent(
        transport,
        node,
        measured,
        random=Random(os.urandom(16)),  # noqa: S311 - jitter, not secrets
        interval=interval,
    )
    try:
        asyncio.run(run_once_or_forever(transport, agent.advertise, None if once else agent.run))
    except (KubeError, LinkSpeedError) as error:
        raise fault(f"node {node}: {error}", 1) from None


def _speed(speed: int | None, interface: str | None, sysfs: Path) -> int:
    from poseidon.agents.bandwidth_agent import default_interface, link_speed

    if speed is not None:
        return speed * 1_000_000
    return link_speed(interface or default_interface(), sysfs)
