"""``device-failover``: kills bridge and solver while pods get devices."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from benchmarks.commands.options import OUTPUT, SAVE, SEED, emit, progress


@click.command("device-failover")
@click.option("--claims", default=2000, type=click.IntRange(1, 100_000), help="Claims of devices in all.")
@click.option("--kills", default=50, type=click.IntRange(1, 10_000), help="How often a process is killed.")
@click.option("--nodes", default=100, type=click.IntRange(2, 10_000), help="Nodes with ten devices each.")
@click.option("--simulated", is_flag=True, help="This project's own API server, also if there are binaries.")
@click.option("--timeout", default=120.0, type=click.FloatRange(1.0), help="Seconds that each wait may take.")
@SEED
@OUTPUT
@SAVE
def device_failover(*, simulated: bool, output: str, save: Path | None, **options: Any) -> None:
    """Kill bridge and solver, drawn by lot, while claims are written, and look for devices given twice or lost.

    A driver is played, which sometimes fails. KUBERNETES_BINARIES names the folder of a control plane's binaries;
    without, the API server is simulated. Exit status 1: a device was given twice, or is lost, or a pod was bound twice.
    """
    from benchmarks.device_failover.measure import DeviceFailoverOptions, measure_device_failover
    from benchmarks.judge.control_plane import ControlPlaneError, binaries
    from poseidon.kube.client.errors import KubeError
    from poseidon.testbed.harness.child import ChildDiedError

    where = None if simulated else binaries()
    try:
        report = measure_device_failover(DeviceFailoverOptions(binaries=where, **options), progress())
    except (ControlPlaneError, ChildDiedError, KubeError, TimeoutError) as error:
        raise click.ClickException(str(error) or "no answer in time") from None
    emit(report, output, save)
    sys.exit(1 if report["givenTwice"] or report["lost"] or report["boundTwice"] else 0)
