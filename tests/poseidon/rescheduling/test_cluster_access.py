"""Requests of moves to the API server: what is read, written and withdrawn, and what a refusal means."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.rescheduling.cluster_access import ClusterAccess, Eviction
from tests.support.cluster import pod, running_cluster

PODS = "/api/v1/namespaces/default/pods"
MOVE_TO, MOVE_UNTIL = "firmament.io/move-to", "firmament.io/move-until"
FREED, NOT_FREED = "firmament.io/freed", "firmament.io/not-freed"


class Scene:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.access = ClusterAccess(
            Environment(transport, random=Random(1), sleep=lambda _: asyncio.sleep(0))
        )

    async def node(self, name: str) -> None:
        await self.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})

    async def post(self, path: str, body: Any) -> Any:
        return msgspec.json.decode(await self._transport.post(path, msgspec.json.encode(body)))

    async def pod(self, name: str, owner: str = "web", labels: Any = None, **spec: Any) -> PodRef:
        made = pod(name, **spec)
        made["metadata"] |= {"labels": labels or {}, "ownerReferences": [reference(owner)]}
        found = await self.post(PODS, made)
        return PodRef(found["metadata"]["uid"], "default", name)

    async def read(self, path: str) -> Any:
        return msgspec.json.decode(await self._transport.get(path))

    async def annotations(self, path: str) -> dict[str, str]:
        found: dict[str, str] = (await self.read(path))["metadata"].get("annotations", {})
        return found


def reference(owner: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}


@asynccontextmanager
async def scene():
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        yield Scene(transport)


async def test_what_is_not_there_is_none():
    async with scene() as s:
        assert await s.access.pod("default", "p") is None
        assert await s.access.node("n1") is None
        assert await s.access.pods_on("n1") == []
        await s.node("n1")
        await s.pod("p", nodeName="n1")
        found, there = await s.access.pod("default", "p"), await s.access.node("n1")
        assert found is not None
        assert there is not None
        assert (found.metadata.name, there.metadata.name) == ("p", "n1")
        assert [each.metadata.name for each in await s.access.pods_on("n1")] == ["p"]


async def test_siblings_are_pods_of_the_same_controller():
    async with scene() as s:
        own = {"app": "web", "apps.kubernetes.io/pod-index": "0"}
        await s.pod("p", labels=own)
        await s.pod("q", labels={**own, "apps.kubernetes.io/pod-index": "1"})
        await s.pod("other", owner="api", labels=own)
        await s.pod("plain", labels={"app": "db"})
        found = await s.access.pod("default", "p")
        assert found is not None
        assert {each.metadata.name for each in await s.access.siblings(found)} == {"p", "q"}
        await s.pod("bare")
        bare = await s.access.pod("default", "bare")
        assert bare is not None
        assert {each.metadata.name for each in await s.access.siblings(bare)} == {"p", "q", "plain", "bare"}


async def test_a_move_is_announced_until_it_is_withdrawn():
    async with scene() as s:
        ref = await s.pod("p")
        await s.access.announce(ref, "n2", 1_767_225_600.0)
        said = await s.annotations(f"{PODS}/p")
        assert {key: said[key] for key in (MOVE_TO, MOVE_UNTIL)} == {
            MOVE_TO: "n2",
            MOVE_UNTIL: "2026-01-01T00:00:00Z",
        }
        await s.access.withdraw(ref)
        assert {MOVE_TO, MOVE_UNTIL}.isdisjoint(await s.annotations(f"{PODS}/p"))


async def test_an_eviction_says_why_a_pod_stays():
    async with scene() as s:
        assert await s.access.evict(PodRef("u", "default", "gone")) == Eviction("the pod is gone")
        ref = await s.pod("p")
        assert await s.access.evict(ref._replace(uid="another")) == Eviction("the pod is gone")
        assert await s.access.evict(ref) == Eviction()
        assert await s.access.pod("default", "p") is None


async def test_a_budget_refuses_for_now():
    async with scene() as s:
        await s.node("n1")
        ref = await s.pod("p", labels={"app": "web"}, nodeName="n1")
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await s._transport.patch(f"{PODS}/p/status", msgspec.json.encode({"status": status}))
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }
        await s.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
        refused = await s.access.evict(ref)
        assert refused.for_now
        assert "disruption budget" in refused.refusal
        assert await s.access.pod("default", "p") is not None


async def test_a_node_is_marked_while_it_is_freed_and_afterwards():
    async with scene() as s:
        await s.node("n1")
        await s.access.cordon("n1")
        found = await s.read("/api/v1/nodes/n1")
        assert found["spec"]["unschedulable"] is True
        assert found["metadata"]["annotations"][FREED] == "true"
        await s.access.uncordon("n1", "digest")
        found = await s.read("/api/v1/nodes/n1")
        assert not found["spec"].get("unschedulable")
        said = found["metadata"]["annotations"]
        assert (said.get(FREED), said[NOT_FREED]) == (None, "digest")
        await s.access.uncordon("n1")
        assert (await s.annotations("/api/v1/nodes/n1"))[NOT_FREED] == "digest"
        await s.access.cordon("n1")
        assert NOT_FREED not in await s.annotations("/api/v1/nodes/n1")
