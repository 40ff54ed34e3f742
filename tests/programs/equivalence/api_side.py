"""An API server's side as far as a bridge reads it: collections of JSON, answered in pages; and what it carries out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from poseidon.kube.api.collections import NATIVE_POD_GROUPS
from poseidon.kube.api.metadata import format_time
from poseidon.kube.client.errors import ApiError
from poseidon.manifests.loader import Manifests

Object = dict[str, Any]

_PLURALS = {
    "NodeMetric": "nodemetrics",
    "NodeMetrics": "nodes",
    "PodMetrics": "pods",
    "PriorityClass": "priorityclasses",
    "DeviceClass": "deviceclasses",
    "StorageClass": "storageclasses",
    "VolumeAttachment": "volumeattachments",
    "CSIStorageCapacity": "csistoragecapacities",
    "NetworkTopology": "networktopologies",
    "NodeResourceTopology": "noderesourcetopologies",
}
_CORE = {"Namespace", "Node", "Pod", "Service", "PersistentVolume", "PersistentVolumeClaim", "ConfigMap"}
_OTHER_VERSIONS = {each.path for each in NATIVE_POD_GROUPS.versions()[:-1]}
"""Served where the objects are of them."""
_PATH = re.compile(
    r"(?P<collection>/api/v1|/apis/[^/]+/[^/]+)(/namespaces/(?P<namespace>[^/]+))?(?P<kind>/[^/]+)"
)
_OF_STRUCTS = {
    "DisruptionBudget": ("policy/v1", "PodDisruptionBudget"),
    "CsiDriver": ("storage.k8s.io/v1", "CSIDriver"),
    "CsiNode": ("storage.k8s.io/v1", "CSINode"),
    "CsiStorageCapacity": ("storage.k8s.io/v1", "CSIStorageCapacity"),
    "StorageClass": ("storage.k8s.io/v1", "StorageClass"),
    "VolumeAttachment": ("storage.k8s.io/v1", "VolumeAttachment"),
    "PriorityClass": ("scheduling.k8s.io/v1", "PriorityClass"),
    "PodGroup": ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
    "SigsPodGroup": ("scheduling.sigs.k8s.io/v1alpha1", "PodGroup"),
    "KaiPodGroup": ("scheduling.run.ai/v2alpha2", "PodGroup"),
    "PodGang": ("scheduler.grove.io/v1alpha1", "PodGang"),
    "HyperNode": ("topology.volcano.sh/v1alpha1", "HyperNode"),
    "VolcanoPodGroup": ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    "CompositePodGroup": ("scheduling.k8s.io/v1alpha3", "CompositePodGroup"),
    "NativePodGroup": ("scheduling.k8s.io/v1alpha2", "PodGroup"),
    "Workload": ("scheduling.k8s.io/v1alpha1", "Workload"),
    "AppGroup": ("appgroup.diktyo.x-k8s.io/v1alpha1", "AppGroup"),
    "NetworkTopology": ("networktopology.diktyo.x-k8s.io/v1alpha1", "NetworkTopology"),
    "NodeResourceTopology": ("topology.node.k8s.io/v1alpha2", "NodeResourceTopology"),
    "NodeMetric": ("slo.koordinator.sh/v1alpha1", "NodeMetric"),
    "NodeMetrics": ("metrics.k8s.io/v1beta1", "NodeMetrics"),
    "PodMetrics": ("metrics.k8s.io/v1beta1", "PodMetrics"),
    "DeviceClass": ("resource.k8s.io/v1", "DeviceClass"),
    "ResourceClaim": ("resource.k8s.io/v1", "ResourceClaim"),
    "ResourceSlice": ("resource.k8s.io/v1", "ResourceSlice"),
    "NodeDeviceList": ("scheduling.koordinator.sh/v1alpha1", "Device"),
    "ResourceFlavor": ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"),
    "Cohort": ("kueue.x-k8s.io/v1beta2", "Cohort"),
    "ClusterQueue": ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
    "LocalQueue": ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
}


def path_of(made: Object) -> str:
    """The collection of an object over all namespaces."""
    version, kind = made["apiVersion"], made["kind"]
    plural = _PLURALS.get(kind, kind.lower() + "s")
    return f"/api/v1/{plural}" if version == "v1" else f"/apis/{version}/{plural}"


def objects_of(manifests: Manifests) -> list[Object]:
    """What manifests say, with the pods of their workloads, as the objects that an API server would hold."""
    owners = [
        _plain(each, "apps/v1" if kind != "Job" else "batch/v1", kind) for kind, each in manifests.owners
    ]
    daemons: list[Object] = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": msgspec.to_builtins(each)}
        for each in manifests.daemon_sets
    ]
    rest = (
        *manifests.nodes, *manifests.namespaces, *manifests.priority_classes, *manifests.storage,
        *manifests.budgets, *manifests.services, *manifests.for_models, *manifests.devices, *manifests.pods,
    )  # fmt: skip
    return [*owners, *daemons, *(_plain(each, *_version_of(each)) for each in rest)]


def _version_of(found: Any) -> tuple[str, str]:
    name = type(found).__name__
    return ("v1", name) if name in _CORE else _OF_STRUCTS[name]


def _plain(found: Any, version: str, kind: str) -> Object:
    # Decoded from its bytes: what is served is what stands in them.
    plain: Object = msgspec.json.decode(msgspec.json.encode(found))
    return {**plain, "apiVersion": version, "kind": kind}


class ApiSide:
    """Holds objects by collection, in order; answers lists. Each gets a uid, a version and a time of creation."""

    def __init__(self, objects: Iterable[Object], now: float) -> None:
        self.collections: dict[str, dict[str, Object]] = {}
        self._version = 0
        for each in objects:
            metadata = dict(each["metadata"])
            if each["kind"] in _NAMESPACED:
                metadata["namespace"] = metadata.get("namespace") or "default"
            else:
                metadata.pop("namespace", None)
            name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
            known = metadata.get("uid") if each["kind"] != "Pod" else ""
            metadata |= {"uid": known or f"uid-{name}"}
            metadata.setdefault("creationTimestamp", format_time(now))
            self.write({**each, "metadata": metadata})

    def write(self, made: Object) -> Object:
        """Create or replace an object; returns it as it is held."""
        self._version += 1
        made = {**made, "metadata": {**made["metadata"], "resourceVersion": str(self._version)}}
        self.collections.setdefault(path_of(made), {})[made["metadata"]["uid"]] = made
        return made

    def delete(self, made: Object) -> None:
        """Take an object away."""
        del self.collections[path_of(made)][made["metadata"]["uid"]]

    def named(self, collection: str, namespace: str, name: str) -> Object:
        """An object by name."""
        found = self.collections[collection].values()
        wanted = namespace, name
        return next(
            each
            for each in found
            if (each["metadata"].get("namespace", ""), each["metadata"]["name"]) == wanted
        )

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = "") -> bytes:
        """Answer a request for a page of a list."""
        asked = query or {}
        match = _PATH.fullmatch(path)
        assert match is not None, path
        collection = match["collection"] + match["kind"]
        if collection in _OTHER_VERSIONS and collection not in self.collections:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        found = [*self.collections.get(collection, {}).values()]
        if match["namespace"]:
            found = [each for each in found if each["metadata"].get("namespace") == match["namespace"]]
        if label := asked.get("labelSelector"):
            found = [each for each in found if label in each["metadata"].get("labels", {})]
        if field := asked.get("fieldSelector"):
            name = field.removeprefix("metadata.name=")
            found = [each for each in found if each["metadata"]["name"] == name]
        begin = int(asked.get("continue", "0"))
        end = begin + int(asked.get("limit", len(found) or 1))
        listed = {"resourceVersion": str(self._version), "continue": str(end) if end < len(found) else ""}
        return msgspec.json.encode({"metadata": listed, "items": found[begin:end]})


_NAMESPACED = {
    *("Pod", "Service", "ConfigMap", "PersistentVolumeClaim", "PodGroup", "Workload", "AppGroup"),
    "CompositePodGroup",
    "PodGang",
    *(
        "NetworkTopology",
        "PodDisruptionBudget",
        "PodMetrics",
        "ReplicaSet",
        "StatefulSet",
        "Deployment",
        "Job",
    ),
    "DaemonSet",
    "ResourceClaim",
    "LocalQueue",
}
