"""Runs the programs that admit the Jobs: Kueue's manager, or this project's bridge and solver."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.judge.control_plane import ControlPlaneError, run_openssl
from benchmarks.processes.parts.free_ports import free_ports
from benchmarks.processes.parts.usage import Roots
from poseidon.testbed.harness.stack import Stack, StackOptions

KUEUE, OURS = "kueue", "poseidon"
_GRACE_SECONDS = 20.0
_MOST_SAID = 1000
_CONFIGURATION: dict[str, Any] = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "queues": {"source": ["kueue"], "admission": "poseidon"},
}
_AT_ONCE = {
    "Job.batch": 5,
    "Pod": 5,
    "Workload.kueue.x-k8s.io": 10,
    "LocalQueue.kueue.x-k8s.io": 5,
    "Cohort.kueue.x-k8s.io": 1,
    "ClusterQueue.kueue.x-k8s.io": 5,
    "ResourceFlavor.kueue.x-k8s.io": 1,
}
"""How many objects of a kind Kueue works at, as it is deployed (``controller_manager_config.yaml``)."""


@dataclass(frozen=True, slots=True)
class Running:
    """The running programs that admit Jobs."""

    roots: Roots
    """Returns the processes of the running scheduler by name."""
    agents: tuple[str, ...]
    """The user agents of its writes."""
    check: Callable[[], None]
    """Raises ``ControlPlaneError`` or ``ChildDiedError`` if a process has ended."""


def _make_certificates(folder: Path) -> Path:
    """Return the folder, with a key and a certificate for webhooks that nobody calls."""
    folder.mkdir()
    run_openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=webhook"),
        *("-keyout", folder / "tls.key", "-out", folder / "tls.crt"),
    )
    return folder


def _start_kueue(program: Path, configuration: Path, kubeconfig: Path) -> subprocess.Popen[bytes]:
    with configuration.with_name("kueue.log").open("wb") as log:
        return subprocess.Popen(
            [program, f"--config={configuration}", "--feature-gates=VisibilityOnDemand=false"],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


@asynccontextmanager
async def run_kueue(
    program: Path, kubeconfig: Path, folder: Path, per_second: float | None
) -> AsyncGenerator[Running]:
    """Run Kueue's manager with Jobs alone, and without webhooks. ``per_second``: its limit of requests, None: none."""
    certificates = await asyncio.to_thread(_make_certificates, folder / "webhook")
    (port,) = free_ports(1)
    client = {"qps": -1.0} if per_second is None else {"qps": per_second, "burst": round(2 * per_second)}
    configuration = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": "127.0.0.1:0"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": port, "host": "127.0.0.1", "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "controller": {"groupKindConcurrency": _AT_ONCE},
        "clientConnection": client,
        "integrations": {"frameworks": ["batch/job"]},
    }
    file = folder / "kueue.yaml"
    file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
    process = await asyncio.to_thread(_start_kueue, program, file, kubeconfig)

    def check() -> None:
        if process.poll() is not None:
            lines = (folder / "kueue.log").read_text(encoding="utf-8", errors="replace").splitlines()
            said = lines[-1][:_MOST_SAID] if lines else "nothing"
            raise ControlPlaneError(f"{program} has ended with status {process.returncode}, and said: {said}")

    try:
        yield Running(lambda: {"kueue": process.pid}, ("kueue", program.name), check)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(process.wait, _GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@asynccontextmanager
async def run_ours(kubeconfig: Path, folder: Path) -> AsyncGenerator[Running]:
    """Run solver and bridge, which admit the Jobs of Kueue's queues. Raises ``ChildDiedError``."""
    file = folder / "scheduler.yaml"
    file.write_text(yaml.safe_dump(_CONFIGURATION), encoding="utf-8")
    async with Stack(StackOptions(folder, kubeconfig=kubeconfig, config=file)) as stack:
        await stack.start_solver()
        await stack.start_bridge()

        def check() -> None:
            for each in (stack.bridge, stack.solver):
                if not each.alive:
                    raise each.failure()

        yield Running(lambda: {"bridge": stack.bridge.pid, "solver": stack.solver.pid}, ("poseidon",), check)
