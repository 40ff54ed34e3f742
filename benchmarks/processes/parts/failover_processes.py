"""Processes for a measurement of failover: they are ended, and restarted under the same names and addresses."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import yaml

from benchmarks.judge.control_plane import ControlPlane
from poseidon.testbed.harness.child import Child

GRACE = 20.0
"""Seconds that a process may take to end in order."""


@dataclass(frozen=True, slots=True)
class FailoverOptions:
    """A measurement of processes that are killed while pods are created."""

    nodes: int = 1000
    """Nodes."""
    ends: int = 20
    """Number of ends; their kinds are drawn from ``seed``."""
    bridges: int = 2
    """Two bridges that elect a leader, or one without election that must survive everything."""
    down: float = 0.0
    """Seconds that a killed API server stays away before it is started again."""
    rate: int = 50
    """Pods created per second."""
    keep: int = 10_000
    """Bound pods to keep; beyond, the oldest are deleted."""
    lease: float = 15.0
    """Duration of the Lease in seconds; the deadline is two thirds of it, the retry period an eighth."""
    binaries: Path | None = None
    """Folder of a real control plane, whose kube-scheduler places every third pod on the same nodes; None:
    simulate the API server.
    """
    timeout: float = 120.0
    """Seconds until it gives up."""
    seed: int = 1
    """Seed of the draws."""


@dataclass(slots=True)
class RestartedProcess:
    """A process that is restarted under the same name, with a log for each of its lives."""

    name: str
    module: str
    arguments: list[str]
    folder: Path
    lives: int = 0
    child: Child = field(init=False)

    def __post_init__(self) -> None:
        self._new_child()

    def _new_child(self) -> None:
        log = self.folder / f"{self.name}-{self.lives}.log"
        self.child = Child(self.name, self.module, self.arguments, log)

    async def start(self) -> None:
        """Start the process, with a new log."""
        self.lives += 1
        self._new_child()
        await self.child.start()

    def says(self, words: str) -> list[str]:
        """Return the lines of its present log that contain ``words``."""
        log = self.child.log
        return [line for line in log.read_text("utf-8").splitlines() if words in line] if log.exists() else []


class SimulatedServer:
    """A simulated API server that can be killed; a journal keeps its objects."""

    def __init__(self, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        arguments = [
            "--kubeconfig",
            str(self.kubeconfig),
            "--journal",
            str(folder / "journal"),
            "--port",
            "0",
        ]
        self._process = RestartedProcess("cluster", "poseidon.testbed", arguments, folder)

    async def __aenter__(self) -> Self:
        await self._process.start()
        url = await self._process.child.read_address()
        self._process.arguments[-1] = url.rpartition(":")[2]  # it listens there in all its lives
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._process.child.stop(GRACE)

    async def away(self, seconds: float) -> None:
        """Kill the server, and restart it after ``seconds``."""
        self._process.child.signal(signal.SIGKILL)
        await self._process.child.wait()
        await asyncio.sleep(seconds)
        await self._process.start()
        await self._process.child.read_address()


class RealServer(ControlPlane):
    """A real API server that can be killed."""

    async def away(self, seconds: float) -> None:
        """Kill the server, and restart it after ``seconds``."""
        await self.kill("kube-apiserver")
        await asyncio.sleep(seconds)
        await self.start_again("kube-apiserver")


@asynccontextmanager
async def run_processes(
    options: FailoverOptions, folder: Path, kubeconfig: Path
) -> AsyncIterator[tuple[list[RestartedProcess], list[RestartedProcess]]]:
    """Provide two solvers at fixed addresses, and bridges, not started yet, that know both addresses."""
    name = f"failover-{time.time_ns():x}"
    config = folder / "config.yaml"
    election = {
        "leaderElect": options.bridges > 1,
        "leaseDuration": options.lease,
        "renewDeadline": options.lease * 2 / 3,
        "retryPeriod": options.lease / 8,
        "resourceName": name,
    }
    document = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
    config.write_text(yaml.safe_dump({**document, "leaderElection": election}))
    solvers = []
    for index in (1, 2):
        solver = RestartedProcess(
            f"solver-{index}", "firmament", ["serve", "--listen", "127.0.0.1:0"], folder
        )
        await solver.start()
        solver.arguments[-1] = await solver.child.read_address()  # it listens there in all its lives
        solvers.append(solver)
    addresses = [each.arguments[-1] for each in solvers]
    targets = [word for address in addresses for word in ("--firmament", address)]
    common = ["run", "--kubeconfig", str(kubeconfig), "--config", str(config), "--cluster-name", name]
    bridges = [
        RestartedProcess(f"bridge-{index + 1}", "poseidon", [*common, *targets], folder)
        for index in range(options.bridges)
    ]
    try:
        yield solvers, bridges
    finally:
        await asyncio.gather(*(each.child.stop(GRACE) for each in (*bridges, *solvers)))
