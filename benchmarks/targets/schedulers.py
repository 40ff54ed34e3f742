"""The schedulers of an end-to-end run: our two processes, kube-scheduler, or a client that only binds."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import yaml

from benchmarks.targets.base import TargetError
from poseidon.demo.solver_client import SolverClient
from poseidon.testbed.harness.child import Child
from poseidon.testbed.harness.stack import Stack

_GRACE_SECONDS = 10.0
_TAIL_LINES = 8


class SchedulerUnderTest(Protocol):
    """A scheduler that is started once the cluster is filled, and ended by ``stop``. ``tells``: whether it writes
    Scheduled events.
    """

    name: str
    tells: bool

    def roots(self) -> dict[str, int]:
        """Return the process ids of the scheduler's running programs, by name."""
        ...

    async def start(self, nodes: int) -> None:
        """Start the scheduler, and wait until it knows ``nodes`` nodes if that can be known."""
        ...

    def check(self) -> None:
        """Raise ``TargetError`` if the scheduler has ended."""
        ...

    async def rounds(self) -> int | None:
        """Return the scheduler's number of rounds since its start; None if unknown."""
        ...

    async def stop(self) -> None:
        """End the scheduler."""
        ...


class Ours:
    """``poseidon run`` and ``firmament serve``; the stack ends them."""

    name = "poseidon"
    tells = True

    def __init__(self, stack: Stack, cluster_name: str) -> None:
        self._stack = stack
        self._cluster_name = cluster_name

    async def start(self, nodes: int) -> None:
        """Start the bridge and wait until the solver knows the nodes."""
        await self._stack.start_bridge()
        async with SolverClient(self._stack.solver_address, self._cluster_name) as solver:
            await self._stack.guard(_wait_until_known(solver, nodes))

    def roots(self) -> dict[str, int]:
        """Return the process ids of solver and bridge."""
        children = {"solver": self._stack.solver, "bridge": self._stack.bridge}
        return {name: child.pid for name, child in children.items() if child.alive}

    def check(self) -> None:
        """Raise ``TargetError`` if a process has ended."""
        for child in (self._stack.bridge, self._stack.solver):
            if child.started and not child.alive:
                raise TargetError(f"{child.failure()}: {child.tail()}")

    async def rounds(self) -> int | None:
        """Ask the solver."""
        async with SolverClient(self._stack.solver_address, self._cluster_name) as solver:
            return (await solver.counts()).rounds

    async def stop(self) -> None:
        """Do nothing: the stack ends its processes."""


async def _wait_until_known(solver: SolverClient, nodes: int) -> None:
    await solver.wait_for(lambda counts: counts.machines >= nodes)


class BindingsOnly:
    """Posts a binding for every pod, nodes in turn, as fast as possible: the most that the API server allows."""

    name = "bindings only"
    tells = False

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._child = Child(
            "the client that only binds",
            "benchmarks.targets.bindings_only",
            ["--kubeconfig", str(kubeconfig)],
            folder / "bindings-only.log",
        )

    async def start(self, nodes: int) -> None:  # noqa: ARG002 - it reads the nodes itself before it announces itself
        """Start and wait until it has read the nodes."""
        await self._child.start()
        await self._child.read_address()

    def roots(self) -> dict[str, int]:
        """Return the process id of the client."""
        return {"client": self._child.pid} if self._child.alive else {}

    def check(self) -> None:
        """Raise ``TargetError`` if the scheduler has ended."""
        if not self._child.alive:
            raise TargetError(f"{self._child.failure()}: {self._child.tail()}")

    async def rounds(self) -> int | None:
        """Return None: this client has no rounds."""
        return None

    async def stop(self) -> None:
        """End the scheduler."""
        await self._child.stop(_GRACE_SECONDS)


class KubeScheduler:
    """A kube-scheduler binary, with its client's own rate limit raised and leader election off.

    It takes pods of ``schedulerName: poseidon`` through a profile of that name, so that the same manifests serve.
    """

    name = "kube-scheduler"
    tells = True

    def __init__(self, binary: Path, kubeconfig: Path, folder: Path, features: Sequence[str] = ()) -> None:
        """Prepare the process. ``features``: feature gates that are switched on."""
        self._binary = binary
        self._features = tuple(features)
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._log = folder / "kube-scheduler.log"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, nodes: int) -> None:  # noqa: ARG002 - its caches cannot be asked
        """Start kube-scheduler, which schedules as soon as its informers have synced."""
        config = self._folder / "kube-scheduler.yaml"
        config.write_text(yaml.safe_dump(kube_scheduler_configuration(self._kubeconfig)))
        # The system chooses the ports, so that they do not collide with another kube-scheduler's.
        arguments = ["--config", str(config), "--secure-port", "0", "--v", "1"]
        if self._features:
            arguments.append(f"--feature-gates={','.join(self._features)}")
        with self._log.open("ab") as log:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    str(self._binary), *arguments, stdout=log, stderr=log, start_new_session=True
                )
            except OSError as error:
                raise TargetError(f"{self._binary}: cannot be run: {error.strerror}") from None

    def roots(self) -> dict[str, int]:
        """Return the process id of kube-scheduler."""
        return {"kube-scheduler": self._process.pid} if self._process is not None else {}

    def check(self) -> None:
        """Raise ``TargetError`` with the end of its log if it has ended."""
        if self._process is not None and self._process.returncode is not None:
            tail = "\n".join(self._log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
            raise TargetError(f"kube-scheduler ended with status {self._process.returncode}:\n{tail}")

    async def rounds(self) -> int | None:
        """Return None: kube-scheduler takes pods one by one, without rounds."""
        return None

    async def stop(self) -> None:
        """End the scheduler, by SIGKILL if it takes too long."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def kube_scheduler_configuration(kubeconfig: Path) -> dict[str, object]:
    """Return a KubeSchedulerConfiguration with the default plugins for our scheduler's name."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
        "profiles": [{"schedulerName": "poseidon"}],
    }
