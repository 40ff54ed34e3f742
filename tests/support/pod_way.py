"""One pod's way: the modules of the bridge in which anything runs from the watch line that brings a pod to its end.

    python -m tests.support.pod_way

prints them in order of first entry.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, cast

import msgspec
from prometheus_client import CollectorRegistry

import poseidon
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import Bridge, BridgeProcess
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.watch_options import WatchOptions
from poseidon.kube.write.binder import BinderOptions
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.solver_view import BOUND, PENDING
from tests.support.waiting import until

ROOT = Path(poseidon.__file__).resolve().parents[1]
WATCH = Reflector._take_lines.__code__.co_filename
NODE = {
    "metadata": {"name": "n1", "uid": "n1", "resourceVersion": "1"},
    "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}},
}
TOLERATIONS = [
    {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for key in ("not-ready", "unreachable")
]
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a",
        "namespace": "default",
        "uid": "a",
        "resourceVersion": "2",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"run": "a"},
    },
    "spec": {
        "schedulerName": "poseidon",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "containers": [{"name": "a", "image": "none", "resources": {"requests": {"cpu": "100m"}}}],
        "tolerations": TOLERATIONS,
        "volumes": [{"name": "kube-api-access", "projected": {"sources": []}}],
    },
    "status": {"phase": "Pending"},
}
"""What ``kubectl run`` comes to, as an API server shows it: with the defaults that admission fills in."""


class WatchedServer:
    """An API server in place of the transport: lists a node, shows what is put into ``watches``, takes all writes."""

    server = "none"

    def __init__(self) -> None:
        self.watches: defaultdict[str, asyncio.Queue[bytes]] = defaultdict(asyncio.Queue)
        self.written: dict[str, bytes] = {}

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = "") -> bytes:
        """Return a list."""
        items = [NODE] if path == "/api/v1/nodes" else []
        return msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items})

    async def lines(
        self, path: str, query: Mapping[str, str], read_timeout: float
    ) -> AsyncGenerator[list[bytes], None]:
        """Yield one line at a time."""
        while True:
            yield [await self.watches[path].get()]

    async def post(self, path: str, body: bytes, *, urgent: bool = False) -> bytes:
        """Take a write."""
        self.written[path] = body
        return b"{}"


class SteadyClock:
    """A clock that stands still while the event loop is at one thing.

    With what is noted here a pod takes so long that its namespace would have to take turns with others.
    """

    def __init__(self) -> None:
        self._now: float | None = None

    def __call__(self) -> float:
        """Return seconds."""
        if self._now is None:
            self._now = time.monotonic()
            asyncio.get_running_loop().call_soon(self._go_on)
        return self._now

    def _go_on(self) -> None:
        self._now = None


async def on_the_way() -> tuple[list[str], dict[str, bytes]]:
    """Modules, as paths in the repository in order of first entry, and what was written, by path.

    The way: a bridge is connected to a solver, and knows a node. A watch line brings a pod; the solver is told, places
    it, and is told that it has been bound; its event is written, and a watch line shows it on its node. What runs while
    modules are imported, to make the bridge, or by the clock alone does not count, and neither does HTTP.
    """
    api, solver = WatchedServer(), ScriptedSolver()
    async with running_solver(solver) as port:
        options = BridgeOptions(
            (f"127.0.0.1:{port}",),
            BridgeConfiguration(watch=WatchOptions(reconcile_period=0)),
            binder=BinderOptions(lull_seconds=0.01),
        )
        bridge = Bridge(
            BridgeProcess(Environment(cast("Transport", api), clock=SteadyClock(), random=Random(1))),
            options,
            CollectorRegistry(),
        )
        stop = asyncio.Event()
        running = asyncio.create_task(bridge.run(stop))
        await until(lambda: "n1" in solver.view.machines and solver.synced)
        entered: dict[str, None] = {}

        def note(frame: FrameType, event: str, _argument: object) -> None:
            file = frame.f_code.co_filename
            begun = entered or file == WATCH  # before, the bridge may still be at work on its snapshot
            if event == "call" and begun and file not in entered and not _is_aside(frame):
                entered[file] = None

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            await _lead(api, solver)
        finally:
            sys.setprofile(before)
        stop.set()
        await running
    inside = [Path(file).relative_to(ROOT) for file in entered if Path(file).is_relative_to(ROOT)]
    return [path.as_posix() for path in inside if path.parts[0] == "poseidon"], api.written


async def _lead(api: WatchedServer, solver: ScriptedSolver) -> None:
    """Lead a pod along the way."""
    watch = api.watches["/api/v1/pods"]
    watch.put_nowait(_line("ADDED", POD))
    await until(lambda: solver.states() == {"a": (PENDING, "")})
    solver.round()
    await until(lambda: solver.states() == {"a": (BOUND, "n1")})
    await until(lambda: "/api/v1/namespaces/default/events" in api.written)
    watch.put_nowait(_line("MODIFIED", POD | {"spec": POD["spec"] | {"nodeName": "n1"}}))
    await until(watch.empty)
    await asyncio.sleep(0.05)  # whatever the bridge has to say about it


def _line(kind: str, pod: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": pod})


def _is_aside(frame: FrameType | None) -> bool:
    """Whether a frame belongs to an import, or to what is done every second whether there are pods or not."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code is Bridge._expire.__code__:
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    modules, _ = asyncio.run(on_the_way())
    print("\n".join(f"{number:4} {path}" for number, path in enumerate(modules, 1)))  # noqa: T201
