"""Fills a cluster with objects through its API; a simulated cluster takes many objects per request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from poseidon.demo.workload import OwnerKey, Workload
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.transport import Transport

Object = dict[str, Any]

BULK_PATH = "/simulated/v1/bulk"
_BATCH = 250
_OWNER_PATHS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
}


async def create_cluster(transport: Transport, workload: Workload) -> dict[OwnerKey, str]:
    """Create all objects except the pods; return the owners' uids.

    Raises ``KubeError`` if the API server refuses an object or does not answer.
    """
    for name in workload.namespaces:
        await ensure_namespace(transport, name)
    for priority_class in workload.priority_classes:
        await _post(transport, "/apis/scheduling.k8s.io/v1/priorityclasses", priority_class)
    await create_in_bulk(transport, workload.nodes)
    uids: dict[OwnerKey, str] = {}
    for key, owner in workload.owners.items():
        namespace, kind, _ = key
        created = await _post(transport, _OWNER_PATHS[kind].format(namespace), owner)
        uids[key] = created["metadata"]["uid"]
    return uids


async def ensure_namespace(transport: Transport, name: str) -> None:
    """Create a namespace unless it exists.

    Raises ``KubeError`` if the API server refuses the namespace or does not answer.
    """
    try:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await _post(transport, "/api/v1/namespaces", body)
    except ApiError as error:
        if not error.conflict:
            raise


async def create_pods(
    transport: Transport,
    pods: Sequence[Object],
    uids: dict[OwnerKey, str],
    about_to_create: Callable[[Sequence[Object]], None],
) -> None:
    """Create pods in batches; call ``about_to_create`` before each batch is sent.

    Raises ``KubeError`` if the API server refuses a pod or does not answer.
    """
    for begin in range(0, len(pods), _BATCH):
        batch = pods[begin : begin + _BATCH]
        for pod in batch:
            for owner in pod["metadata"].get("ownerReferences", ()):
                owner["uid"] = uids[pod["metadata"]["namespace"], owner["kind"], owner["name"]]
        about_to_create(batch)
        await create_in_bulk(transport, batch)


async def create_in_bulk(transport: Transport, objects: Sequence[Object]) -> None:
    """Create many objects of a simulated cluster in one request; raise ``ApiError`` if some object is refused."""
    if objects:
        await transport.post(BULK_PATH, b"\n".join(msgspec.json.encode(each) for each in objects))


async def _post(transport: Transport, path: str, body: Object) -> Any:
    return msgspec.json.decode(await transport.post(path, msgspec.json.encode(body)))
