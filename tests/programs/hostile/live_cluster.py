"""A live cluster in which hostile objects of every kind stand beside decent ones, as commands read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from aiohttp import web

from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Resource
from poseidon.live.support_bundle import COLLECTIONS
from tests.poseidon.kube.scripted_api import json as answered
from tests.poseidon.kube.scripted_api import scripted
from tests.programs.hostile.objects import COMMONS, Mallory

_KINDS = {
    "services": "Service",
    "csinodes": "CSINode",
    "csidrivers": "CSIDriver",
    "csistoragecapacities": "CSIStorageCapacity",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "podgroups.scheduling.k8s.io": "PodGroup",
}


def pod_of(
    name: str, *, namespace: str = "decent", node: str = "", cpu: str = "1", **spec: Any
) -> dict[str, Any]:
    """A pod as an API server holds it."""
    whole = {
        "schedulerName": "poseidon",
        "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
        **({"nodeName": node} if node else {}),
        **spec,
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"{namespace}-{name}",
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": whole, "status": {"phase": "Running" if node else "Pending"}}


def node_of(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def hostile(seed: int, pods: int, others: int) -> dict[str, list[bytes]]:
    """Draw objects of every kind that is read, as encoded by an API server, by the path of their collection."""
    mallory, drawn = Mallory(Random(seed)), {}
    for each in COLLECTIONS:
        names = [f"mallory-node-{index}" for index in range(4)] if each.kind is Node else [""] * others
        if each.kind is Pod:
            names = [""] * pods
        raws = (mallory.raw(each.kind, name)[1] for name in names)
        # These are no JSON at all, and so in no list.
        drawn[each.path] = [raw for raw in raws if not raw.endswith((b"NaN}", b"{}"))]
    return drawn


def beside(drawn: dict[str, list[bytes]], decent: Sequence[dict[str, Any]]) -> dict[str, list[bytes]]:
    """Add decent pods, the nodes that they use, and a namespace in which pods may be moved."""
    allowed = {"metadata": {"name": "decent", "labels": {"firmament.io/reschedule": "allow"}}}
    return {
        **drawn,
        "/api/v1/nodes": [*drawn.get("/api/v1/nodes", ()), *map(_encoded, map(node_of, COMMONS))],
        "/api/v1/namespaces": [*drawn.get("/api/v1/namespaces", ()), _encoded(allowed)],
        "/api/v1/pods": [*drawn.get("/api/v1/pods", ()), *map(_encoded, decent)],
    }


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _kind(resource: Resource[Any]) -> str:
    return _KINDS.get(resource.name, resource.kind.__name__)


@asynccontextmanager
async def serving(objects: dict[str, list[bytes]]):
    """Serve lists of objects, all of a collection or those that a field selector names; yields the server's URL."""
    lists = {each.path: _kind(each) for each in COLLECTIONS}

    async def answer(request: web.Request) -> web.StreamResponse:
        path, selector = request.path, request.query.get("fieldSelector", "")
        if path == "/version":
            return answered({"major": "1", "minor": "36", "gitVersion": "v1.36.0"})
        if path not in lists:
            path = f"/api/v1/{path.rpartition('/')[2]}"
        if path not in lists or "watch" in request.query:
            return answered({"kind": "Status", "code": 404, "reason": "NotFound"}, 404)
        found = objects.get(path, [])
        if selector:
            name = f'"name": "{selector.removeprefix("metadata.name=")}"'.encode()
            found = [each for each in found if name in each]
        head = (
            b'{"apiVersion":"v1","kind":"%bList","metadata":{"resourceVersion":"7"},"items":['
            % lists[path].encode()
        )
        return web.Response(body=head + b",".join(found) + b"]}")

    async with scripted(answer) as (_, url):
        yield url


def kubeconfig(url: str) -> str:
    """A kubeconfig that leads to a server."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": {"server": url}}],
            "users": [{"name": "it", "user": {}}],
        }
    )
