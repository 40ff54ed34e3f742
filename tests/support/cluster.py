"""A running simulated cluster for tests: ``async with running_cluster() as cluster``."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster


@contextlib.asynccontextmanager
async def running_cluster(options: ClusterOptions | None = None) -> AsyncIterator[SimulatedCluster]:
    """Run a cluster on a free loopback port in the current event loop."""
    cluster = SimulatedCluster(options)
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.stop()


@contextlib.contextmanager
def cluster_in_thread(options: ClusterOptions | None = None) -> Iterator[SimulatedCluster]:
    """Run a cluster in a thread of its own, for clients that block (kubectl, the official client).

    While it runs, touch it only through its URL.
    """
    started: threading.Event = threading.Event()
    state: dict[str, Any] = {}

    async def serve() -> None:
        stop = asyncio.Event()
        try:
            async with running_cluster(options) as cluster:
                state.update(cluster=cluster, stop=stop, loop=asyncio.get_running_loop())
                started.set()
                await stop.wait()
        finally:
            started.set()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="simulated-cluster")
    thread.start()
    try:
        if not started.wait(10.0) or "cluster" not in state:
            raise RuntimeError("the simulated cluster did not start")
        yield state["cluster"]
    finally:
        if "loop" in state:
            state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join(10.0)


def pod(name: str, *, namespace: str = "default", cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    """Return a small pod of the scheduler ``poseidon``."""
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": "poseidon", "containers": [container], **spec},
    }


def binding(name: str, node: str, **metadata: str) -> dict[str, Any]:
    """Return the Binding of pod ``name`` to ``node``."""
    target = {"kind": "Node", "apiVersion": "v1", "name": node}
    return {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": name, **metadata}, "target": target}
