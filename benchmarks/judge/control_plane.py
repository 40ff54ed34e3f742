"""Runs etcd, kube-apiserver and kube-scheduler from a folder of binaries, on the loopback interface, for one run."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from benchmarks.judge.random_cluster.objects import Object
from benchmarks.processes.parts.free_ports import free_ports
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport

VARIABLE = "KUBERNETES_BINARIES"
"""Environment variable that names the folder of binaries."""

TOKEN = "judge"  # noqa: S105 - of a server that lives for one run on the loopback interface
_READY_SECONDS, _POLL_SECONDS, _GRACE_SECONDS = 60.0, 0.2, 10.0
_FEATURES = ("TaintTolerationComparisonOperators=true",)
"""Feature gates that are off by default in Kubernetes 1.36 and are tested here."""

_LEFT_OUT = "ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds,StorageObjectInUseProtection"
"""Admission plugins that need controllers: tokens, readiness, claims that wait for the end of their pods."""
_LEFT_OUT_WITH_KUBELETS = "ServiceAccount"


class ControlPlaneError(Exception):
    """A binary is missing, or a process has ended; the text is one line."""


def binaries() -> Path | None:
    """Return the folder that the environment names; None if it names none."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def run_openssl(*arguments: str | Path) -> None:
    """Run openssl, which makes keys and certificates. Raises ``ControlPlaneError`` if it is missing or fails."""
    try:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    except OSError as error:
        raise ControlPlaneError(f"openssl makes keys, and cannot be run ({error}); install it") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise ControlPlaneError(
            f"openssl {arguments[0]} has ended with status {error.returncode}, and said: {said[-1]}"
        ) from None


@dataclass(frozen=True, slots=True)
class ControlPlaneOptions:
    """Which programs run besides etcd and the API server, and with which options."""

    controllers: str = ""
    """kube-controller-manager's option of that name, "" where it does not run."""
    scheduler: bool = True
    """Whether kube-scheduler runs."""
    kubelets: bool = False
    """Whether somebody reports nodes as ready."""
    features: tuple[str, ...] = ()
    """Feature gates that are switched on beside the usual ones."""
    runtime: str = ""
    """API versions that are served beside the usual ones, or are not served (``=false``)."""
    left_out: tuple[str, ...] = ()
    """Further admission plugins that do not run."""
    audit: Mapping[str, Any] | None = None
    """A policy by which the API server writes ``audit.log``."""


class ControlPlane:
    """The processes, started and ended: ``async with``. ``folder`` takes data, logs and ``kubeconfig``.

    ``options`` says which programs run beside etcd and the API server.
    """

    def __init__(self, where: Path, folder: Path, options: ControlPlaneOptions | None = None) -> None:
        self._where, self._folder = where, folder
        self._options = options or ControlPlaneOptions()
        self._features = ",".join((*_FEATURES, *self._options.features))
        self._commands: dict[str, list[str]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kubeconfig = folder / "kubeconfig"
        self.audit_log = folder / "audit.log"

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _start(self) -> None:
        port, clients, peers = free_ports(3)
        store = f"http://127.0.0.1:{clients}"
        self._run(
            "etcd",
            f"--data-dir={self._folder / 'etcd'}",
            *(f"--listen-client-urls={store}", f"--advertise-client-urls={store}"),
            *(f"--listen-peer-urls=http://127.0.0.1:{peers}", "--unsafe-no-fsync"),
        )
        self._write_credentials(port)
        self._run(
            "kube-apiserver",
            *(f"--etcd-servers={store}", f"--secure-port={port}", "--bind-address=127.0.0.1"),
            *(f"--cert-dir={self._folder / 'certs'}", f"--token-auth-file={self._folder / 'tokens'}"),
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._folder / 'sa.pub'}",
            f"--service-account-signing-key-file={self._folder / 'sa.key'}",
            *("--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24"),
            f"--disable-admission-plugins={self._list_left_out()}",
            *([f"--runtime-config={self._options.runtime}"] if self._options.runtime else []),
            f"--feature-gates={self._features}",
            *self._auditing(),
        )
        await self._wait_until_ready()
        if self._options.controllers:
            self._run_controllers()
        if self._options.scheduler:
            self._run_scheduler()

    def _list_left_out(self) -> str:
        usual = _LEFT_OUT_WITH_KUBELETS if self._options.kubelets else _LEFT_OUT
        return ",".join((usual, *self._options.left_out))

    def _auditing(self) -> list[str]:
        if self._options.audit is None:
            return []
        policy = self._folder / "audit.yaml"
        policy.write_text(yaml.safe_dump(dict(self._options.audit)), encoding="utf-8")
        return [
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-maxsize=100000",
        ]

    def _run_scheduler(self) -> None:
        configuration = self._folder / "scheduler.yaml"
        configuration.write_text(yaml.safe_dump(self._scheduler()), encoding="utf-8")
        self._run(
            "kube-scheduler",
            f"--config={configuration}",
            "--secure-port=0",
            f"--feature-gates={self._features}",
        )

    def _run_controllers(self) -> None:
        self._run(
            "kube-controller-manager",
            *(f"--kubeconfig={self.kubeconfig}", "--use-service-account-credentials=false"),
            *("--leader-elect=false", "--secure-port=0", f"--controllers={self._options.controllers}"),
            *("--kube-api-qps=5000", "--kube-api-burst=5000"),
            *([f"--feature-gates={','.join(self._options.features)}"] if self._options.features else []),
            f"--service-account-private-key-file={self._folder / 'sa.key'}",
            *("--node-monitor-period=1s", "--node-monitor-grace-period=6s", "--node-eviction-rate=10"),
        )

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by program."""
        return {name: process.pid for name, process in self._processes.items()}

    def check(self) -> None:
        """Raise ``ControlPlaneError`` if a process has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise ControlPlaneError(
                    f"{name} has ended with status {process.returncode}; see {self._folder}"
                )

    async def stop(self) -> None:
        """End all processes, one after another, the last started first: the API server needs etcd to end in order."""
        for process in reversed(self._processes.values()):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                await asyncio.to_thread(process.wait, _GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    async def kill(self, name: str) -> None:
        """Kill a program, and wait until it has ended."""
        process = self._processes.pop(name)
        process.kill()
        await asyncio.to_thread(process.wait)

    async def start_again(self, name: str) -> None:
        """Start a killed program again, and wait until the API server is ready."""
        self._begin(name)
        await self._wait_until_ready()

    def _run(self, name: str, *arguments: str) -> None:
        program = self._where / name
        if not program.exists():
            raise ControlPlaneError(
                f"{program}: there is no such file; {VARIABLE} names the folder of the binaries"
            )
        self._commands[name] = [str(program), *arguments]
        self._begin(name)

    def _begin(self, name: str) -> None:
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                self._commands[name], stdout=log, stderr=log, start_new_session=True
            )

    async def _wait_until_ready(self) -> None:
        async with asyncio.timeout(_READY_SECONDS):
            while True:
                self.check()
                with suppress(KubeError, OSError, ValueError):
                    settings = load_settings(self.kubeconfig)
                    async with Transport(settings, clock=asyncio.get_running_loop().time) as transport:
                        await transport.get("/readyz")
                        await transport.get("/api/v1/namespaces/default")
                        return
                await asyncio.sleep(_POLL_SECONDS)

    def _write_credentials(self, port: int) -> None:
        folder = self._folder
        key, public = folder / "sa.key", folder / "sa.pub"
        run_openssl("genrsa", "-out", key, "2048")
        run_openssl("rsa", "-in", key, "-pubout", "-out", public)
        (folder / "tokens").write_text(f'{TOKEN},admin,admin,"system:masters"\n', encoding="utf-8")
        cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
        named = "judge"
        configuration = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": named, "cluster": cluster}],
            "users": [{"name": named, "user": {"token": TOKEN}}],
            "contexts": [{"name": named, "context": {"cluster": named, "user": named}}],
            "current-context": named,
        }
        self.kubeconfig.write_text(yaml.safe_dump(configuration), encoding="utf-8")

    def _scheduler(self) -> Object:
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 5000, "burst": 5000},
            "leaderElection": {"leaderElect": False},
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": 1,
        }
