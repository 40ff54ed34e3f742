"""Runs three processes together: a simulated cluster, a solver, and a bridge between them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from poseidon.testbed.harness.child import Child, Launch, start_anew

T = TypeVar("T")

CLUSTER_NAME = "demo"
"""Name of this cluster in the solver, unless another is given."""

_GRACE_SECONDS = 15.0
"""Seconds that each process may take to end before it is killed."""
_SOLVER, _BRIDGE, _PAGE = "firmament serve", "poseidon run", "poseidon ui"
_KILL_SECONDS = 5.0
_NOTICE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class StackOptions:
    """Where and how the processes run."""

    folder: Path
    """Folder for the logs and the kubeconfig."""
    kubeconfig: Path | None = None
    """Kubeconfig of the cluster to use, None for a simulated cluster."""
    config: Path | None = None
    """Configuration file of the scheduler, None for the defaults."""
    cluster_name: str = CLUSTER_NAME
    """Name of the cluster in the solver."""
    kubelets: bool = False
    """Whether to simulate kubelets."""
    log_level: str = "info"
    """Level of the logs."""
    more_for_cluster: tuple[str, ...] = ()
    """Further command-line arguments of the simulated cluster."""
    more_for_solver: tuple[str, ...] = ()
    """Further command-line arguments of the solver."""
    more_for_bridge: tuple[str, ...] = ()
    """Further command-line arguments of the bridge."""
    launch: Launch = start_anew
    """Function that starts a process."""


class Stack:
    """Starts the processes, notices when one of them ends, and ends them; to be used with ``async with``.

    Between ``start_servers`` and ``start_bridge``, the caller can fill the cluster. Solver and bridge may be killed
    and started again. ``page`` is the dashboard, which runs only if it is started.
    """

    def __init__(self, options: StackOptions) -> None:
        self._options = options
        self.kubeconfig = options.kubeconfig or options.folder / "kubeconfig"
        self.solver_address = "127.0.0.1:0"
        kubelets = ["--kubelets"] if options.kubelets else []
        arguments = ["--kubeconfig", str(self.kubeconfig), *kubelets, *options.more_for_cluster]
        self.cluster = self._child("the simulated cluster", "poseidon.testbed", arguments)
        self.solver = self._child(_SOLVER, "firmament", [])
        self.bridge = self._child(_BRIDGE, "poseidon", [])
        self.page = self._child(_PAGE, "poseidon", [], "page")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start_servers(self) -> None:
        """Start the solver, and the cluster unless one is given. Raises ``ChildDiedError`` if solver or cluster end."""
        own_cluster = self._options.kubeconfig is None
        if own_cluster:
            await self.cluster.start()
        await self.start_solver()
        if own_cluster:
            await self.cluster.read_address()

    async def start_cluster(self) -> None:
        """Start the simulated cluster alone, unless a cluster is given.

        Raises ``ChildDiedError`` if the cluster's process ends.
        """
        if self._options.kubeconfig is None:
            await self.cluster.start()
            await self.cluster.read_address()

    async def start_solver(self) -> None:
        """Start the solver and wait until it listens: first at any free port, later at the same address."""
        self.solver = self._child(_SOLVER, "firmament", self._solver_arguments())
        await self.solver.start()
        self.solver_address = await self.solver.read_address()

    async def start_bridge(self) -> None:
        """Start the bridge, which then needs a moment to read the cluster."""
        self.bridge = self._child(_BRIDGE, "poseidon", self._bridge_arguments())
        await self.bridge.start()

    async def start_page(self, *more: str) -> str:
        """Start the dashboard, and return its address.

        ``more`` has command-line arguments: the dashboard's address, and the addresses of metrics.
        """
        arguments = [
            "ui",
            *("--kubeconfig", str(self.kubeconfig)),
            *("--firmament", self.solver_address),
            *("--cluster-name", self._options.cluster_name),
            *self._configuration(),
            *more,
        ]
        self.page = self._child(_PAGE, "poseidon", arguments, "page")
        await self.page.start()
        return await self.page.read_address()

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """Await ``work``; raise ``ChildDiedError`` as soon as one of the started processes ends."""
        task = asyncio.ensure_future(work)
        ends = {asyncio.ensure_future(child.wait()): child for child in self._children() if child.started}
        try:
            await asyncio.wait({task, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if ends and task.done() and not task.cancelled() and task.exception() is not None:
                # If a process dies, the work may fail before the end of the process is noticed.
                await asyncio.wait(ends, timeout=_NOTICE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            died = next((child for end, child in ends.items() if end.done()), None)
            if died is not None and (not task.done() or task.exception() is not None):
                raise died.failure()
            return task.result()
        finally:
            for each in (task, *ends):
                each.cancel()
            await asyncio.gather(task, *ends, return_exceptions=True)

    async def keep(self, work: Coroutine[Any, Any, T], say: Callable[[str], None]) -> T:
        """Await ``work``; meanwhile, start solver and bridge again when they are killed or told to end.

        Whenever solver or bridge is started again, ``say`` is called with a line. Raises ``ChildDiedError`` as soon
        as another process ends, or if solver or bridge fail by themselves.
        """
        task = asyncio.ensure_future(work)
        starts = {_SOLVER: self.start_solver, _BRIDGE: self.start_bridge}
        ends: dict[asyncio.Future[Any], Child] = {}
        try:
            while not task.done():
                watched = list(ends.values())
                new = [each for each in self._children() if each.started and each not in watched]
                ends.update((asyncio.ensure_future(child.wait()), child) for child in new)
                either: list[asyncio.Future[Any]] = [task, *ends]
                await asyncio.wait(either, timeout=_NOTICE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for end in [each for each in ends if each.done()]:
                    died = ends.pop(end)
                    failure = died.failure()
                    if failure.status > 0 or died.name not in starts:
                        raise failure
                    say(f"{failure.end}; it is started again")
                    await starts[died.name]()
            if task.exception() is not None and not self.cluster.alive and self.cluster.started:
                raise self.cluster.failure() from None
            return task.result()
        finally:
            task.cancel()
            for each in ends:
                each.cancel()
            await asyncio.gather(task, *ends, return_exceptions=True)

    async def stop(self) -> None:
        """End all processes, each before those on which it depends; if cancelled, end all processes at once."""
        try:
            for child in self._children():
                await child.stop(_GRACE_SECONDS)
        finally:
            for child in self._children():
                child.signal(signal.SIGKILL)
            async with asyncio.timeout(_KILL_SECONDS):
                await asyncio.gather(*(child.wait() for child in self._children() if child.started))

    def _children(self) -> tuple[Child, ...]:
        return self.page, self.bridge, self.solver, self.cluster

    def _child(self, name: str, module: str, arguments: list[str], log: str = "") -> Child:
        file = f"{log or module.rpartition('.')[2]}.log"
        return Child(name, module, arguments, self._options.folder / file, self._options.launch)

    def _solver_arguments(self) -> list[str]:
        return [
            "serve",
            *("--listen", self.solver_address),
            *("--log-level", self._options.log_level),
            *self._configuration(),
            *self._options.more_for_solver,
        ]

    def _bridge_arguments(self) -> list[str]:
        return [
            "run",
            *("--kubeconfig", str(self.kubeconfig)),
            *("--firmament", self.solver_address),
            *("--cluster-name", self._options.cluster_name),
            *("--log-level", self._options.log_level),
            *self._configuration(),
            *self._options.more_for_bridge,
        ]

    def _configuration(self) -> list[str]:
        return ["--config", str(self._options.config)] if self._options.config else []
