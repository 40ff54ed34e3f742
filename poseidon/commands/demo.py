"""``poseidon demo``: runs the bridge and the solver against the built-in simulated cluster."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poseidon.commands.shared.offline_input import read_configuration
from poseidon.commands.shared.options import config_option, output_option
from poseidon.commands.shared.output_and_exit import bad_input, print_json, warn

if TYPE_CHECKING:
    from poseidon.demo.workload import Workload

_INTERRUPTED = "poseidon demo: interrupted"
_SCHEDULER_NAME = "poseidon"
_LOOK = "  kubectl --kubeconfig {} get nodes,pods --all-namespaces"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command("demo")
@click.option("--nodes", default=1000, type=click.IntRange(1, 20_000), help="Number of simulated nodes.")
@click.option(
    "--pods",
    default=2000,
    type=click.IntRange(1, 200_000),
    help="The least number of pods; the example's replicas are multiplied until there are as many.",
)
@click.option(
    "--manifests",
    multiple=True,
    metavar="PATH",
    help="Manifests of an application and of nodes, instead of the example. May be repeated.",
)
@config_option
@click.option(
    "--timeout",
    default=300.0,
    type=click.FloatRange(1.0),
    help="Seconds after which the demonstration gives up.",
)
@output_option
@click.option("--keep", is_flag=True, help="Leave all processes running after the report, until Ctrl-C.")
@click.option(
    "--ui",
    "page",
    is_flag=True,
    help="Also serve the dashboard, from the start on, and let pods come and end until Ctrl-C.",
)
def demo(
    *,
    nodes: int,
    pods: int,
    manifests: tuple[str, ...],
    config: Path | None,
    timeout: float,
    output: str,
    keep: bool,
    page: bool,
) -> None:
    """Schedule an example application on a simulated cluster, with the real processes.

    The command starts a simulated cluster, the solver and the bridge, each as a process, and waits until all pods are
    bound. When all pods are bound, the command prints figures that it reads from the cluster's API.
    """
    for number in _SIGNALS:
        signal.signal(number, _interrupt)
    try:
        read_configuration(config)
        workload = _load(manifests, nodes, pods)
        warn(workload.warnings)
        resolved = config.resolve() if config else None
        status = _run_in_folder(_Run(workload, resolved, timeout, output, keep or page, page))
    except _InterruptedEarlyError as early:
        status = early.report()
    sys.exit(status)


def _say(line: str) -> None:
    click.echo(line, err=True)


class _InterruptedEarlyError(BaseException):
    """Raised when a signal comes before the command has started a process.

    Like KeyboardInterrupt, the class is not derived from ``Exception``.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def report(self) -> int:
        """Print that a signal interrupted the demonstration, and return the exit status."""
        click.echo(_INTERRUPTED, err=True)
        return 128 + self.number


def _interrupt(number: int, _: object) -> None:
    raise _InterruptedEarlyError(number)


def _run_in_folder(run: _Run) -> int:
    """Call ``run`` with a temporary folder, keep the folder only after a failure, and return the exit status."""
    folder = Path(tempfile.mkdtemp(prefix="poseidon-demo-"))
    status = 1
    try:
        status = asyncio.run(run.run(folder))
    except _InterruptedEarlyError as early:
        status = early.report()
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # what remains to be done takes no time
        if status == 1:
            click.echo(f"poseidon demo: logs are in {folder}", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return status


def _load(manifests: tuple[str, ...], nodes: int, pods: int) -> Workload:
    """Read the example's manifests; if they have defects, end the command with status 2."""
    from poseidon.demo.workload import ExampleMissingError, example_paths, load_workload
    from poseidon.manifests.loader import ManifestError

    try:
        return load_workload(
            manifests or example_paths(), nodes=nodes, pods=pods, scheduler_name=_SCHEDULER_NAME
        )
    except ManifestError as error:
        raise bad_input(error.lines) from None
    except ExampleMissingError as error:
        raise bad_input([str(error)]) from None


@dataclass(slots=True)
class _Run:
    workload: Workload
    """Nodes and pods of the demonstration."""
    config: Path | None
    """Configuration file, or None for the defaults."""
    timeout: float
    """Seconds after which the demonstration gives up."""
    output: str
    """Format of the report."""
    keep: bool
    """Whether the processes go on after the report, until Ctrl-C."""
    page: bool = False
    """Whether to open the dashboard."""
    received: int = 0
    """Number of the first signal that this program has received, 0 if none has come."""
    kept: bool = False
    """Whether the program has printed its report, and now waits for Ctrl-C."""

    async def run(self, folder: Path) -> int:
        """Run the demonstration until it is done or a signal ends it; return the exit status."""
        work = asyncio.create_task(self._work(folder))
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop, number, work.cancel)
        try:
            return await work
        except asyncio.CancelledError:
            if self.kept:
                return 0
            click.echo(_INTERRUPTED, err=True)
            return 128 + self.received

    def _stop(self, number: int, cancel: Callable[[], bool]) -> None:
        self.received = self.received or number
        cancel()

    async def _work(self, folder: Path) -> int:
        """Run the demonstration and return the exit status; if it fails, print the error in one line."""
        from poseidon.demo.run import DemoTimeoutError
        from poseidon.kube.client.errors import KubeError
        from poseidon.testbed.harness.child import ChildDiedError

        try:
            return await self._demonstrate(folder)
        except (ChildDiedError, DemoTimeoutError, KubeError) as error:
            click.echo(f"poseidon demo: {error}", err=True)
            if tail := getattr(error, "tail", ""):
                click.echo(tail, err=True)
            return 1

    async def _demonstrate(self, folder: Path) -> int:
        from rich.console import Console

        from poseidon.demo.progress import make_display
        from poseidon.demo.report import print_summary
        from poseidon.demo.run import DemoOptions, demonstrate

        display = make_display(Console(stderr=True), time.monotonic)
        options = DemoOptions(folder, self.config, self.timeout, self.page, _say)
        async with demonstrate(self.workload, options, display, clock=time.monotonic) as done:
            if self.output == "json":
                print_json(done.summary.as_json())
            else:
                print_summary(done.summary, Console())
            if self.keep:
                self.kept = True
                click.echo(
                    f"Everything keeps running until Ctrl-C; look around with\n{_LOOK.format(done.stack.kubeconfig)}",
                    err=True,
                )
                await done.go_on()
        return 0 if done.summary.sound else 1
