"""Sources between a simulated cluster, a scripted Prometheus and a book of samples."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry

from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment, KubeMetrics
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.metrics_sources.all_sources import Utilisation
from poseidon.metrics_sources.options import UtilisationOptions
from poseidon.metrics_sources.samples import SOURCES, LatestSamples
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.metrics_sources.objects import NOON, Pods

PATIENCE = ReflectorOptions(absent_seconds=0.01)


class Scene:
    """A running set of sources and what it has written."""

    def __init__(self, view: Pods) -> None:
        self.view = view
        self.book = LatestSamples(SOURCES)
        self.registry = CollectorRegistry()
        self.calls = 0
        self.utilisation: Utilisation

    def sample(self, node: str = "n1") -> pb.MachineSample | None:
        return self.book.sample(node)

    def known(self, node: str = "n1") -> pb.MachineSample:
        """The sample that counts for a node, which must have one."""
        sample = self.sample(node)
        assert sample is not None
        return sample

    def cpu(self, node: str = "n1") -> float | None:
        """The use of cpu that counts for a node."""
        sample = self.sample(node)
        return None if sample is None else {each.resource: each.amount for each in sample.usage}.get("cpu")

    def faults(self, source: str, kind: str) -> float:
        labels = {"source": source, "fault": kind}
        return self.registry.get_sample_value("poseidon_utilisation_faults_total", labels) or 0.0

    def changed(self) -> None:
        self.calls += 1


@asynccontextmanager
async def measuring(url: str, options: UtilisationOptions, view: Pods | None = None) -> AsyncIterator[Scene]:
    scene = Scene(view or Pods())
    async with Transport(ConnectionSettings(url), clock=time.monotonic) as transport:
        environment = Environment(
            transport, KubeMetrics(scene.registry), Random(1), wall=lambda: NOON, reflector=PATIENCE
        )
        scene.utilisation = Utilisation(
            environment,
            options,
            scene.book,
            scene.view,
            scene.changed,
            registry=scene.registry,
        )
        running = asyncio.create_task(scene.utilisation.run())
        try:
            yield scene
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def prometheus(answer: Callable[[str], Any]) -> AsyncIterator[str]:
    """A server that answers each query with what ``answer`` returns, or with status 503 for None; yields its URL."""

    async def handle(request: web.BaseRequest) -> web.Response:
        assert request.path == "/below/api/v1/query"
        found = answer(request.query["query"])
        body = b"busy" if found is None else found if isinstance(found, bytes) else msgspec.json.encode(found)
        return web.Response(body=body, status=503 if found is None else 200)

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/below"
    finally:
        await runner.cleanup()


def vector(*elements: tuple[dict[str, str], str], at: float = NOON) -> dict[str, Any]:
    result = [{"metric": labels, "value": [at, value]} for labels, value in elements]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}
