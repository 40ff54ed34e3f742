"""``lone-pod``: measures how the time of a pod that arrives alone is spent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress


@click.command("lone-pod")
@click.option("--nodes", default=1000, type=click.IntRange(1), help="Half-full nodes of the cluster.")
@click.option("--pods", default=100, type=click.IntRange(1), help="Pods that arrive.")
@click.option("--rate", default=5, type=click.IntRange(1, 100), help="Pods per second.")
@click.option("--simulated", is_flag=True, help="This project's own API server, also if there are binaries.")
@OUTPUT
@SAVE
def lone_pod(*, nodes: int, pods: int, rate: int, simulated: bool, output: str, save: Path | None) -> None:
    """Let pods arrive one by one, and say from the traces of both programs where their time goes.

    KUBERNETES_BINARIES names the folder of a control plane's binaries; without, the API server is simulated.
    """
    from benchmarks.head_to_head.clusters import ArenaOptions
    from benchmarks.judge.control_plane import ControlPlaneError, binaries
    from benchmarks.processes.lone_pod import LonePodOptions, measure_lone_pod
    from benchmarks.targets.base import TargetError
    from poseidon.kube.client.errors import KubeError
    from poseidon.testbed.harness.child import ChildDiedError

    where = None if simulated else binaries()
    arena = ArenaOptions(where, simulated=where is None)
    try:
        report = asyncio.run(measure_lone_pod(LonePodOptions(nodes, pods, rate), arena, progress()))
    except (ControlPlaneError, ChildDiedError, KubeError, TargetError, TimeoutError) as error:
        raise click.ClickException(str(error) or "no answer in time") from None
    emit(report, output, save)
