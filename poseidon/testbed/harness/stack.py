"""Runs three processes together: a simulated cluster, the solver, and the bridge between them."""

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
"""Default name of this cluster at the solver."""

_GRACE_SECONDS = 15.0
"""Seconds that each process may take to end."""
_SOLVER, _BRIDGE, _PAGE = "firmament serve", "poseidon run", "poseidon ui"
_KILL_SECONDS = 5.0
_NOTICE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class StackOptions:
    """Where and how the processes run."""

    folder: Path
    """Folder for logs and the kubeconfig."""
    kubeconfig: Path | None = None
    """Cluster to use, None for a simulated one."""
    config: Path | None = None
    """Configuration file of the scheduler."""
    cluster_name: str = CLUSTER_NAME
    """Name of the cluster at the solver."""
    kubelets: bool = False
    """Whether to simulate kubelets."""
    log_level: str = "info"
    """Level of the logs."""
    more_for_cluster: tuple[str, ...] = ()
    """Further arguments of the simulated cluster."""
    more_for_solver: tuple[str, ...] = ()
    """Further arguments of the solver."""
    more_for_bridge: tuple[str, ...] = ()
    """Further arguments of the bridge."""
    launch: Launch = start_anew
    """Starts a process."""


class Stack:
    """Starts processes, watches over them and ends them: ``async with``.

    Between ``start_servers`` and ``start_bridge`` the cluster can be filled. Solver and bridge may be killed and
    started again. ``page`` is the dashboard, which runs only if it is started.
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
        """Start solver and cluster, unless there is a cluster already. Raises ``ChildDiedError``."""
        own_cluster = self._options.kubeconfig is None
        if own_cluster:
            await self.cluster.start()
        await self.start_solver()
        if own_cluster:
            await self.cluster.read_address()

    async def start_cluster(self) -> None:
        """Start the cluster alone, unless there is one already. Raises ``ChildDiedError``."""
        if self._options.kubeconfig is None:
            await self.cluster.start()
            await self.cluster.read_address()

    async def start_solver(self) -> None:
        """Start the solver and wait until it listens: at its former address, at first at any free port."""
        self.solver = self._child(_SOLVER, "firmament", self._solver_arguments())
        await self.solver.start()
        self.solver_address = await self.solver.read_address()

    async def start_bridge(self) -> None:
        """Start the bridge, which needs a moment to read the cluster."""
        self.bridge = self._child(_BRIDGE, "poseidon", self._bridge_arguments())
        await self.bridge.start()

    async def start_page(self, *more: str) -> str:
        """Start the dashboard, and return its address. ``more``: arguments for its address and the metrics'
        addresses.
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
        """Await ``work``; raise ``ChildDiedError`` as soon as a process ends that was started here."""
        task = asyncio.ensure_future(work)
        ends = {asyncio.ensure_future(child.wait()): child for child in self._children() if child.started}
        try:
            await asyncio.wait({task, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if ends and task.done() and not task.cancelled() and task.exception() is not None:
                # The death of a process may make the work fail before its end is noticed.
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
        """Await ``work``; meanwhile restart solver and bridge whenever they are killed or told to end, with a line to
        ``say``.

        Raises ``ChildDiedError`` as soon as another process ends, or if one of these two fails by itself.
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
        """End all processes, each before the ones that it depends on; all at once if cancelled."""
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
