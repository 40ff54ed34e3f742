"""A live cluster as commands read it: what can be listed, and what is said of the rest."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.live.cluster import read_cluster
from poseidon.testbed.api_server.faults import Fault
from tests.support.cluster import pod, running_cluster


def job(name: str, *, suspended: bool) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}}
    metadata = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "users"}}
    spec = {"suspend": suspended, "parallelism": 2, "completions": 2, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


async def test_objects_are_read_and_suspended_jobs_if_asked_for():
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):

        async def create(path: str, body: Any) -> None:
            await transport.post(path, msgspec.json.encode(body))

        await create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        await create("/api/v1/namespaces/default/pods", pod("p"))
        for each in (job("waits", suspended=True), job("runs", suspended=False)):
            await create("/apis/batch/v1/namespaces/default/jobs", each)
        found = await read_cluster(transport)
        assert [each.metadata.name for each in found.nodes] == ["n1"]
        assert [each.metadata.name for each in found.pods] == ["p"]
        assert found.suspended == ()
        assert found.is_live
        found = await read_cluster(transport, suspended=True)
        names = [each.metadata.name for each in (*found.pods, *found.suspended)]
        assert "p" in names
        assert [name for name in names if name.startswith("waits")] == ["waits-0", "waits-1"]
        assert not [name for name in names if name.startswith("runs")]


async def test_what_cannot_be_listed_is_named_and_the_rest_is_read():
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
        await transport.post("/api/v1/nodes", msgspec.json.encode(node))
        for path in ("/apis/batch/v1/jobs", "/api/v1/services"):
            cluster.faults.add(Fault(path, "GET", code=403, reason="Forbidden", message="not you"))
        found = await read_cluster(transport, suspended=True)
    assert [each.metadata.name for each in found.nodes] == ["n1"]
    said = [each for each in found.set_aside if "cannot be listed" in each]
    assert said == [
        "services cannot be listed: 403 Forbidden: not you",
        "suspended Jobs cannot be listed: 403 Forbidden: not you",
    ]
