"""``head-to-head``: compares this scheduler and kube-scheduler, in turn, with a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from benchmarks.commands.options import OUTPUT, SAVE, emit, progress
from benchmarks.head_to_head.cases import BURSTS, OF_LATER_KINDS, RATES


@click.command("head-to-head")
@click.option("--nodes", default=5000, type=click.IntRange(20), help="Nodes of the cluster.")
@click.option("--pods", default=1000, type=click.IntRange(20), help="Pods of each burst.")
@click.option("--seconds", default=20, type=click.IntRange(1), help="How long pods arrive at each rate.")
@click.option(
    "--workloads", default=",".join(BURSTS), help="Bursts, with commas between them; none for no burst."
)
@click.option("--rates", default=",".join(map(str, RATES)), help="Pods per second; none for no arrivals.")
@click.option("--schedulers", default="", help="Who takes turns, with commas; by default all that can run.")
@click.option("--runs", default=1, type=click.IntRange(1, 20), help="Turns of each scheduler per case.")
@click.option("--minutes", type=click.FloatRange(0.1), help="Begin no further turn after so many minutes.")
@click.option(
    "--timeout",
    default=300.0,
    type=click.FloatRange(1.0),
    help="Seconds that a burst may take; else it failed.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A cluster without nodes of its own; all that is created there is removed in the end.",
)
@click.option("--simulated", is_flag=True, help="This project's own API server; without kube-scheduler.")
@click.option("--document", is_flag=True, help="Also write the tables to docs/performance.md, and the plot.")
@OUTPUT
@SAVE
def head_to_head(
    *,
    nodes: int,
    pods: int,
    seconds: int,
    workloads: str,
    rates: str,
    schedulers: str,
    runs: int,
    minutes: float | None,
    timeout: float,
    kubeconfig: Path | None,
    simulated: bool,
    document: bool,
    output: str,
    save: Path | None,
) -> None:
    """Let this scheduler, kube-scheduler and a client that only binds place the same pods, one after another.

    KUBERNETES_BINARIES names the folder of etcd, kube-apiserver, kube-controller-manager and kube-scheduler, which are
    started on the loopback interface and ended again. The workload composite-gangs has a server of its own that serves
    the kinds of Kubernetes 1.37, which kube-scheduler does not know. Priority and fairness of requests is on, as it is
    for users. With --save, a run that was interrupted or ran out of minutes goes on where it ended.
    """
    from benchmarks.head_to_head.cases import Sizes, make_cases
    from benchmarks.head_to_head.clusters import ArenaOptions
    from benchmarks.head_to_head.document import write_document
    from benchmarks.head_to_head.results import Results
    from benchmarks.head_to_head.session import HeadToHeadOptions, run_head_to_head
    from benchmarks.judge.control_plane import VARIABLE, binaries

    where = None if simulated else binaries()
    if where is None and kubeconfig is None and not simulated:
        raise click.UsageError(
            f"{VARIABLE} is not set; name the folder of its binaries, or add --kubeconfig or --simulated"
        )
    later = bool({*_split(workloads)} & {*OF_LATER_KINDS})
    chosen = _choose_schedulers(schedulers, binaries_given=where is not None and not later)
    sizes, arena = Sizes(nodes, pods, seconds), ArenaOptions(where, kubeconfig, simulated, later)
    with _explain_failures():
        cases = make_cases(_split(workloads), [_rate(each) for each in _split(rates)], sizes)
        options = HeadToHeadOptions(arena, cases, sizes, chosen, runs, minutes, timeout, progress())
        results = Results(save)
    left = 0
    try:
        with _explain_failures():
            left = asyncio.run(run_head_to_head(options, results))
    finally:
        # Report the measurements even if the cluster could not be taken down.
        report = results.report()
        if report["results"]:
            emit(report, output, save)
            if document:
                for path in write_document(report):
                    click.echo(f"wrote {path}", err=True)
    if left:
        click.echo(f"{left} runs are left; start the same command again, with --save, to go on", err=True)


@contextmanager
def _explain_failures() -> Iterator[None]:
    """Tell failures of a run in a line or two."""
    from benchmarks.declarative.loading import WorkloadError
    from benchmarks.judge.control_plane import ControlPlaneError
    from benchmarks.targets.base import TargetError
    from poseidon.kube.client.errors import KubeError
    from poseidon.testbed.harness.child import ChildDiedError

    try:
        yield
    except WorkloadError as error:
        raise click.UsageError("\n".join(error.lines)) from None
    except (ControlPlaneError, ChildDiedError, KubeError, TargetError, TimeoutError, ValueError) as error:
        tail = getattr(error, "tail", "")
        raise click.ClickException(f"{str(error) or 'no answer in time'}\n{tail}".strip()) from None


def _choose_schedulers(text: str, *, binaries_given: bool) -> list[str]:
    """Return the schedulers that take turns; without binaries there is no kube-scheduler."""
    from benchmarks.head_to_head.session import CLIENT, KUBE, OURS

    possible = [OURS, *([KUBE] if binaries_given else []), CLIENT]
    chosen = _split(text) or possible
    if unknown := [name for name in chosen if name not in possible]:
        raise click.BadParameter(f"{unknown[0]}: not among {', '.join(possible)}", param_hint="--schedulers")
    return chosen


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip() and each.strip() != "none"]


def _rate(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise click.BadParameter(f"{text!r} is not a whole number of pods per second", param_hint="--rates")
    return int(text)
