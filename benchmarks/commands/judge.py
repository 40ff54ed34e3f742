"""``judge``: lets a real kube-scheduler check our placements, and the pods that we leave pending."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.commands.options import SAVE

if TYPE_CHECKING:
    from benchmarks.judge.verdicts import SeedResult

LISTS = ("findings", "differingMessages")
"""Parts of the report that are saved and printed as they are found, but not printed again at the end."""


@click.command()
@click.option(
    "--seeds", default=200, show_default=True, type=click.IntRange(0), help="Clusters that a plan decides."
)
@click.option(
    "--live", default=100, show_default=True, type=click.IntRange(0), help="Clusters for both processes."
)
@click.option(
    "--first", default=0, show_default=True, type=click.IntRange(0), help="Number of the first cluster."
)
@click.option("--keep", is_flag=True, help="Leave data and logs of the control plane behind.")
@SAVE
def judge(*, seeds: int, live: int, first: int, keep: bool, save: Path | None) -> None:
    """Put each of our bindings, and each pod that we leave pending, to a real kube-scheduler, in random clusters.

    KUBERNETES_BINARIES names the folder of etcd, kube-apiserver and kube-scheduler. Exit status 1: a binding that
    kube-scheduler refuses, or a pod left pending that it binds.
    """
    from benchmarks.environment import environment
    from benchmarks.judge.control_plane import VARIABLE, ControlPlaneError, binaries
    from benchmarks.judge.session import JudgeOptions, run_judge
    from benchmarks.judge.verdicts import summary
    from poseidon.kube.client.errors import KubeError
    from poseidon.testbed.harness.child import ChildDiedError

    where = binaries()
    if where is None:
        raise click.UsageError(
            f"{VARIABLE} is not set; name the folder of etcd, kube-apiserver and kube-scheduler"
        )
    begin = first + live
    options = JudgeOptions(where, range(begin, begin + seeds), range(first, begin), keep=keep)
    try:
        results = asyncio.run(run_judge(options, _progress))
    except (ControlPlaneError, ChildDiedError, KubeError, TimeoutError) as error:
        raise click.ClickException(str(error) or "the control plane did not answer in time") from None
    found = summary(results)
    report = {"kind": "judge", "environment": environment(), **found}
    if save is not None:
        save.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    click.echo(json.dumps({key: each for key, each in report.items() if key not in LISTS}, indent=2))
    sys.exit(1 if found["findings"] else 0)


@click.command()
@click.option("--only", default="", help="Only scenarios whose name contains this.")
def controllers(only: str) -> None:
    """Run both processes beside a real controller manager: lost nodes, local volumes, drains, rolling
    updates.

    KUBERNETES_BINARIES names the folder of etcd, kube-apiserver and kube-controller-manager; kubelets are played. Exit
    status 1: a scenario did not come out as it should.
    """
    from benchmarks.judge.control_plane import VARIABLE, ControlPlaneError, binaries
    from benchmarks.judge.session import run_scenarios
    from benchmarks.judge.staged.scenarios import SCENARIOS
    from poseidon.kube.client.errors import KubeError
    from poseidon.testbed.harness.child import ChildDiedError

    where = binaries()
    if where is None:
        raise click.UsageError(
            f"{VARIABLE} is not set; name the folder of etcd, kube-apiserver and kube-controller-manager"
        )
    names = [name for name in SCENARIOS if only in name]
    try:
        good = asyncio.run(run_scenarios(where, names, click.echo))
    except (ControlPlaneError, ChildDiedError, KubeError, TimeoutError) as error:
        raise click.ClickException(str(error) or "the control plane did not answer in time") from None
    sys.exit(0 if good else 1)


def _progress(result: SeedResult) -> None:
    differing = sum(not each.equal and each.one_reason_per_node for each in result.told)
    line = f"{result.seed} ({result.decided_by}): {result.bound} bound, {result.pending} pending"
    found = ", ".join(
        f"{each.kind} {each.pod} on {each.node}: {each.ours or each.theirs}" for each in result.findings
    )
    click.echo(f"{line}, {differing} messages differ{'; ' + found if found else ''}", err=True)
