"""Writes about groups, as the API server gets them."""

from __future__ import annotations

import asyncio
import time
from random import Random

import msgspec

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.write.patch_writer import ConfigMapWrite, LabelWrite, PatchWriter
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.objects.resources import PODS
from tests.support.cluster import pod
from tests.support.time_limits import stretch


async def test_what_waits_is_written_at_once_and_a_namesake_is_left_alone():
    patches: list[str] = []
    cluster = SimulatedCluster(
        None, observer=lambda method, path, _: patches.append(path) if method == "PATCH" else None
    )
    await cluster.start()
    try:
        operations = cluster.operations
        maps = operations.registry.of_kind("v1", "ConfigMap")
        assert maps is not None
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "g"},
            "data": {"size": "2", "rank": "x"},
        }
        operations.create(maps, "default", body)
        operations.create(PODS, "default", pod("a"))

        def now(resource, name):
            return msgspec.json.decode(operations.get(resource, "default", name).raw)

        map_uid, pod_uid = (now(kind, name)["metadata"]["uid"] for kind, name in ((maps, "g"), (PODS, "a")))
        quiet = asyncio.Event()

        async def wait_quiet() -> None:
            await quiet.wait()

        async with Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport:
            writer = PatchWriter("topology group", Environment(transport, random=Random(1)), wait_quiet)
            writer.submit(
                ConfigMapWrite(map_uid, "default", "g", {"status": "Ready", "rank": None}, {"note": "1"})
            )
            writer.submit(ConfigMapWrite(map_uid, "default", "g", {"status": "Bound"}, {}))
            writer.submit(LabelWrite(PodRef(pod_uid, "default", "a"), {"rank": "0", "status": "Ready"}))
            writer.submit(LabelWrite(PodRef(pod_uid, "default", "a"), {"status": "Bound"}))
            writer.submit(LabelWrite(PodRef("another", "default", "a"), {"status": "Wrong"}))
            running = asyncio.create_task(writer.run())
            quiet.set()
            await asyncio.wait_for(writer.wait_drained(), stretch(10.0))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert now(maps, "g")["data"] == {"size": "2", "status": "Bound"}
        assert now(maps, "g")["metadata"]["annotations"] == {"note": "1"}
        assert now(PODS, "a")["metadata"]["labels"] == {"rank": "0", "status": "Bound"}
        assert len(patches) == 3
    finally:
        await cluster.stop()
