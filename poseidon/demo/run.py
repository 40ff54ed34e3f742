"""Runs the demonstration: starts the processes, fills the cluster, watches the bindings, verifies the result."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from poseidon.demo.binding_latency import PodName, PodTracker
from poseidon.demo.machine_load import MachineMeter
from poseidon.demo.progress import Display
from poseidon.demo.report import Summary, summarise
from poseidon.demo.seeding import create_cluster, create_in_bulk, create_pods
from poseidon.demo.show import Show
from poseidon.demo.show_objects import POD_GROUPS, add_gpus
from poseidon.demo.solver_client import SolverClient
from poseidon.demo.verification import read_occupancy
from poseidon.demo.workload import Object, Workload
from poseidon.kube.api.collections import PODS
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.testbed.harness.stack import CLUSTER_NAME, Stack, StackOptions
from protos.conventions.number_formats import format_count

_PAGE_PORT = 8088
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """The settings of a demonstration.

    ``folder`` is for logs. ``config`` is the scheduler's configuration. ``timeout`` is the time for all work, in
    seconds.

    With ``page``, the dashboard is started, the cluster gets what the show needs, and solver and bridge are restarted
    when they are killed. ``say`` is called with a line for the page's address and for each restart.
    """

    folder: Path
    config: Path | None = None
    timeout: float = 300.0
    page: bool = False
    say: Callable[[str], None] = lambda _: None


class DemoTimeoutError(Exception):
    """Raised if some pods were neither bound nor found to fit nowhere in time.

    The message says how many were settled.
    """


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A demonstration whose work is done: its summary, and the processes, which still run."""

    summary: Summary
    stack: Stack
    workload: Workload
    options: DemoOptions
    clock: Callable[[], float]

    async def go_on(self) -> None:
        """Keep all processes running until cancelled; with the dashboard, also run the show.

        Raises ``ChildDiedError`` if one of the processes dies.
        """
        stack, options = self.stack, self.options
        if not options.page:
            await stack.guard(asyncio.Event().wait())
            return
        async with Transport(load_settings(stack.kubeconfig), clock=self.clock) as transport:
            nodes = [each["metadata"]["name"] for each in self.workload.nodes]
            show = Show(transport, nodes, len(self.workload.pods), options.say)
            await stack.keep(show.run(), options.say)


@asynccontextmanager
async def demonstrate(
    workload: Workload, options: DemoOptions, display: Display, *, clock: Callable[[], float]
) -> AsyncIterator[Demonstration]:
    """Schedule ``workload`` with real processes, which stop when the context ends.

    ``clock`` returns seconds that never decrease. Raises ``ChildDiedError``, ``DemoTimeoutError`` or ``KubeError``.
    """
    workload = add_gpus(workload) if options.page else workload
    solver, bridge = (f"127.0.0.1:{port}" for port in _free_ports(2)) if options.page else ("", "")
    stack_options = StackOptions(
        options.folder,
        config=options.config,
        kubelets=True,
        more_for_solver=("--metrics", solver) if solver else (),
        more_for_bridge=("--metrics", bridge) if bridge else (),
    )
    async with Stack(stack_options) as stack:
        with display:
            summary = await _schedule(workload, options, stack, display, clock, solver, bridge)
        yield Demonstration(summary, stack, workload, options, clock)


async def _schedule(
    workload: Workload,
    options: DemoOptions,
    stack: Stack,
    display: Display,
    clock: Callable[[], float],
    solver_metrics: str,
    bridge_metrics: str,
) -> Summary:
    display.stage("Starting the simulated cluster and firmament serve")
    await stack.start_servers()
    async with (
        Transport(load_settings(stack.kubeconfig), clock=clock, user_agent="poseidon-demo") as transport,
        SolverClient(stack.solver_address, CLUSTER_NAME) as solver,
    ):
        if options.page:
            await create_in_bulk(transport, [POD_GROUPS])
            display.stage("Starting poseidon ui")
            urls = ("--solver", solver_metrics), ("--bridge", bridge_metrics)
            more = [each for name, where in urls for each in (name, f"http://{where}/metrics")]
            address = await stack.start_page("--listen", _page_address(), *more)
            options.say(f"The dashboard is at {address}")
        demo = _Demo(workload, transport, solver, display, clock)
        watched = partial(stack.keep, say=options.say) if options.page else stack.guard
        try:
            async with asyncio.timeout(options.timeout):
                await watched(demo.fill())
                display.stage("Starting poseidon run")
                await stack.start_bridge()
                return await watched(demo.schedule())
        except TimeoutError:
            raise DemoTimeoutError(demo.how_far(options.timeout)) from None


def _page_address() -> str:
    """Return an address for the dashboard, with its usual port if no process uses that port."""
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", _PAGE_PORT))
        except OSError:
            return "127.0.0.1:0"
    return f"127.0.0.1:{_PAGE_PORT}"


def _free_ports(count: int) -> list[int]:
    """Return ``count`` ports on which no process listens."""
    with ExitStack() as held:
        tried = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in tried:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in tried]


class _Demo:
    """The steps of one demonstration; each step needs some of the processes to run."""

    def __init__(
        self,
        workload: Workload,
        transport: Transport,
        solver: SolverClient,
        display: Display,
        clock: Callable[[], float],
    ) -> None:
        self._workload = workload
        self._transport = transport
        self._solver = solver
        self._display = display
        self._clock = clock
        self._uids: dict[tuple[str, str, str], str] = {}
        self.tracker = PodTracker(clock)

    async def fill(self) -> None:
        """Create all objects of the cluster except the pods."""
        load = self._workload
        zones = format_count(load.zones, "zone")
        self._display.stage(
            f"Creating {format_count(len(load.nodes), 'node')} of {format_count(load.shapes, 'shape')} in {zones}"
        )
        self._uids = await create_cluster(self._transport, load)

    async def schedule(self) -> Summary:
        """Create the pods when the scheduler is ready; wait until each is bound or found to fit nowhere."""
        load, tracker = self._workload, self.tracker
        meter = MachineMeter()
        await self._solver.wait_for(lambda counts: counts.machines == len(load.nodes))
        async with following(Environment(self._transport, clock=self._clock), tracker):
            self._display.stage(
                f"Scheduling {format_count(len(load.pods), 'pod')} of {format_count(len(load.owners), 'workload')}"
            )
            creating = asyncio.create_task(
                create_pods(self._transport, load.pods, self._uids, self._about_to_create)
            )
            try:
                await self._wait_until_settled(creating)
            finally:
                creating.cancel()
                await asyncio.gather(creating, return_exceptions=True)
        occupancy = await read_occupancy(self._transport)
        return summarise(tracker, occupancy, (await self._solver.counts()).rounds, meter.use())

    def how_far(self, seconds: float) -> str:
        """Return a text that says how many pods were bound or found to fit nowhere within ``seconds``."""
        tracker = self.tracker
        total = len(self._workload.pods)
        return (
            f"after {seconds:g} s only {tracker.bound:,} of {total:,} pods were bound; "
            "raise --timeout or lower --pods"
        )

    async def _wait_until_settled(self, creating: asyncio.Task[None]) -> None:
        """Wait until each pod is bound, or is reported as fitting on no node while the solver is idle."""
        tracker, total = self.tracker, len(self._workload.pods)
        while True:
            self._display.show_bound(tracker.bound, total)
            if creating.done():
                creating.result()
                if tracker.bound == total:
                    return
                if tracker.bound + tracker.waiting == total and not (await self._solver.counts()).assumed:
                    return
            await tracker.wait_for_change(_POLL_SECONDS)

    def _about_to_create(self, pods: Sequence[Object]) -> None:
        self.tracker.about_to_create(
            PodName(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods
        )


@asynccontextmanager
async def following(environment: Environment, tracker: PodTracker) -> AsyncIterator[None]:
    """Pass all pods and their changes to ``tracker``, which knows all pods when the context begins."""
    reflector = Reflector(environment, PODS, tracker.take_changes)
    running = asyncio.create_task(reflector.run())
    try:
        await reflector.wait_synced()
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
