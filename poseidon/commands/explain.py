"""``poseidon explain``: explains the verdict about one pod on every node, for a running cluster or for files."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.connection import (
    connect,
    connection_options,
    get_chosen_solvers,
    live_faults,
    solver_options,
)
from poseidon.commands.shared.offline_input import Source, offline_options
from poseidon.commands.shared.options import page_option
from poseidon.commands.shared.output_and_exit import bad_input, fault, print_json, warn, write_page
from protos.conventions.logs import one_line
from protos.conventions.tls import read_chosen_tls, tls_options

if TYPE_CHECKING:
    from poseidon.api.reading import ReadCluster
    from poseidon.explanations import PodExplanation
    from poseidon.simulate.expected_starts import ExpectedStart

_LIVE_OPTIONS = ("kubeconfig", "context", "firmament", "cluster_name", "timeout")
_FILE_OPTIONS = ("config", "now", "strict")
_OF_PODS = ("firmament", "cluster_name", "timeout", "most", "cures", "page_file")


@click.command("explain")
@offline_options
@connection_options
@solver_options
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    help="Seconds that the solver may take to answer.",
)
@tls_options
@click.option(
    "--most",
    type=click.IntRange(min=0),
    default=100,
    help="The most nodes that the table lists, 0 for all; it counts the other nodes by reason.",
)
@click.option(
    "--pod",
    metavar="NAMESPACE/NAME",
    help="The pod to explain; without NAMESPACE/, it is in namespace default.",
)
@click.option(
    "--workload",
    metavar="NAMESPACE/KIND/NAME",
    help="Explain all pods of a Job or another owner instead of a pod: what holds them in their queue, and what "
    "would let "
    "them in. The NAME alone is enough if only one owner has it.",
)
@click.option(
    "--when",
    is_flag=True,
    help="Also say when the pod is expected to get a node; a simulation with new pods as in the last hours finds out.",
)
@click.option(
    "--cures",
    is_flag=True,
    help="Also say which changes would give a waiting pod a node; the running solver tries them in trial rounds. With "
    "-f, the command always prints these changes.",
)
@page_option("Also write the verdicts as one web page.")
def explain(
    *,
    source: Source,
    output: str,
    timeout: float,
    most: int,
    pod: str | None,
    workload: str | None,
    when: bool,
    cures: bool,
    page_file: Path | None,
) -> None:
    """Say for one pod whether it may run on each node, why not, and what each cost model charges for the node.

    With -f, the command reads the cluster from files; without -f, it asks the solver of the live cluster. A pod that
    already runs is explained as if it looked for another node. With --workload, the command says what keeps all pods
    of an owner waiting, and which changes of quotas, priority or pods would place them. With --workload, a live
    cluster is explained by its objects, and not by the solver.
    """
    if workload:
        if pod:
            raise click.UsageError("--pod and --workload are two questions; ask one at a time")
        _explain_workload(source, workload, output, when=when)
        return
    if not pod:
        raise click.UsageError("no pod given; name one with --pod NAMESPACE/NAME")
    name = pod if "/" in pod else f"default/{pod}"
    _refuse_mixture(offline=source.names_files)
    given = source.read() if source.names_files else None
    explained = _of_cluster(name, timeout, cures=cures) if given is None else _of_files(given, name)
    if page_file is not None:
        from poseidon.ui.views.pods import single_page

        write_page(page_file, single_page(explained, time.time()))
    start = _expect_start(given or source.read_live(), name) if when else None
    if output == "json":
        print_json(explained.as_json() | ({"expectedStart": start.as_json()} if start else {}))
        return
    from poseidon.explanation_tables import print_explanation

    print_explanation(explained, most)
    if start is not None:
        click.echo(f"\n{start.describe()}")


def _explain_workload(source: Source, name: str, output: str, *, when: bool) -> None:
    """Print why a workload waits, according to files or to the objects of a live cluster."""
    from poseidon.offline.explain_workload import UnknownWorkloadError, explain_workload

    given = click.get_current_context().get_parameter_source
    for each in (*_OF_PODS, *(_LIVE_OPTIONS if source.names_files else ())):
        if given(each) is click.core.ParameterSource.COMMANDLINE:
            option = "--html" if each == "page_file" else f"--{each.replace('_', '-')}"
            raise click.UsageError(f"{option} has no effect on a workload here; leave it out")
    cluster = source.read() if source.names_files else source.read_live()
    try:
        found = explain_workload(cluster.manifests, cluster.configuration, cluster.now, name)
    except UnknownWorkloadError as error:
        raise bad_input([f"--workload: {error}"]) from None
    warn(found.warnings)
    last = _expect_last_start(cluster, found.waiting) if when else None
    if output == "json":
        print_json(found.as_json() | ({"expectedStart": last.as_json()} if last else {}))
        return
    for line in found.describe():
        click.echo(line)
    if last is not None:
        click.echo(f"Its last pod: {last.describe()}")


def _refuse_mixture(*, offline: bool) -> None:
    """End the command if the user gave an option that does not fit the input: files or a live cluster."""
    given = click.get_current_context().get_parameter_source
    for each in _LIVE_OPTIONS if offline else _FILE_OPTIONS:
        if given(each) is click.core.ParameterSource.COMMANDLINE:
            option = f"--{each.replace('_', '-')}"
            which = "a live cluster; leave -f away" if offline else "files; name some with -f"
            raise click.UsageError(f"{option} is for {which}")


def _expect_start(given: ReadCluster, name: str) -> ExpectedStart | None:
    """Return when a pod is expected to get a node, or None if the pod does not wait for one."""
    return _expect_last_start(given, [name])


def _expect_last_start(given: ReadCluster, names: Collection[str]) -> ExpectedStart | None:
    """Return when the last of the named pods is expected to get a node, or None if no named pod waits for one."""
    from poseidon.simulate.expected_starts import expect_starts

    found = expect_starts(given.manifests, given.configuration, given.now)
    starts = [each for each in found.starts if each.pod in names]
    return max(starts, key=lambda each: math.inf if each.median is None else each.median, default=None)


def _of_files(given: ReadCluster, name: str) -> PodExplanation:
    from poseidon.api.calls import explain as explain_pod
    from poseidon.explanations import UnknownPodError

    try:
        explained = explain_pod(given, pod=name)
    except UnknownPodError as error:
        raise bad_input([f"--pod: {error}"]) from None
    warn(explained.warnings)
    return explained


def _of_cluster(name: str, seconds: float, *, cures: bool) -> PodExplanation:
    from poseidon.explanations import UnknownPodError
    from poseidon.kube.api.decoding import MalformedObjectError
    from poseidon.live.explain import explain_live

    transport = connect()

    async def ask() -> PodExplanation:
        async with transport:
            return await explain_live(
                transport,
                *get_chosen_solvers(),
                name,
                seconds,
                read_chosen_tls(),
                time.time() if cures else None,
            )

    try:
        with live_faults(transport):
            explained = asyncio.run(ask())
    except UnknownPodError as error:
        raise bad_input([f"--pod: {error}"]) from None
    except MalformedObjectError as error:
        raise fault(one_line(f"pod {name}: {error}"), 1) from None
    warn(explained.warnings)
    return explained
