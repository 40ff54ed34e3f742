"""Lists every kind of object that placement reads, in the order in which the bridge loads them.

Watches, offline commands, support bundles and the rights that ``poseidon doctor`` checks all use this table, and tests
compare the roles in ``deploy/`` with it. A new kind needs a struct, a collection, an entry in this table, and code that
handles its objects (``BridgeState.handlers``, or a part that watches the kind itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from poseidon.kube.api import collections, workloads
from poseidon.kube.api.devices import ResourceClaimTemplate
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.namespaces import ResourceQuota
from poseidon.kube.api.nodes import RuntimeClass
from poseidon.kube.api.other_projects.metrics import NodeMetrics, PodMetrics
from poseidon.kube.api.resource import Resource


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of objects, as manifests name it, and how commands read it from files."""

    group: str
    """The API group without version, "" for the core's."""
    name: str
    """The ``kind`` in manifests."""
    struct: type[KubeStruct]
    """The struct that objects in files decode to."""
    cluster_scoped: bool = False
    """Whether objects of this kind are in no namespace."""
    left_out: bool = False
    """Whether commands warn about a faulty object in a file and skip it; otherwise they stop with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedKind(ObjectKind):
    """A kind whose objects the bridge watches in a cluster."""

    resource: Resource[Any]
    """The collection that the bridge watches."""
    role: str = ""
    """Folder below ``deploy/`` whose role allows watching this kind, "" for the bridge's own role."""
    verbs: tuple[str, ...] = ("list", "watch")
    """The verbs that the bridge needs."""
    bundled: bool = True
    """Whether live commands and support bundles read the collection of this kind.

    Support bundles derive workloads from pods instead.
    """

    @property
    def plural(self) -> str:
        """The name of the collection in the API, such as ``pods``."""
        return self.resource.path.rpartition("/")[2]

    @property
    def api_version(self) -> str:
        """The preferred ``apiVersion``."""
        return self.resource.path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]


def _make_kind(resource: Resource[Any], name: str, **fields: Any) -> WatchedKind:
    """Return a kind whose objects are in ``resource``; the path of ``resource`` names the API group."""
    group = "" if resource.path.startswith("/api/v1/") else resource.path.split("/")[2]
    return WatchedKind(group, name, **{"struct": resource.kind, "resource": resource, **fields})


_CHANGED = ("list", "watch", "patch")

NODE = _make_kind(collections.NODES, "Node", cluster_scoped=True)
PRIORITY_CLASS = _make_kind(collections.PRIORITY_CLASSES, "PriorityClass", cluster_scoped=True)
NAMESPACE = _make_kind(collections.NAMESPACES, "Namespace", cluster_scoped=True)
LIMIT_RANGE = _make_kind(collections.LIMIT_RANGES, "LimitRange", role="queue-admission", bundled=False)
SERVICE = _make_kind(collections.SERVICES, "Service")
STORAGE_CLASS = _make_kind(collections.STORAGE_CLASSES, "StorageClass", cluster_scoped=True)
CSI_NODE = _make_kind(collections.CSI_NODES, "CSINode", cluster_scoped=True)
CSI_DRIVER = _make_kind(collections.CSI_DRIVERS, "CSIDriver", cluster_scoped=True)
STORAGE_CAPACITY = _make_kind(collections.STORAGE_CAPACITIES, "CSIStorageCapacity")
VOLUME_ATTACHMENT = _make_kind(collections.VOLUME_ATTACHMENTS, "VolumeAttachment", cluster_scoped=True)
VOLUME = _make_kind(collections.VOLUMES, "PersistentVolume", cluster_scoped=True, verbs=_CHANGED)
CLAIM = _make_kind(collections.CLAIMS, "PersistentVolumeClaim", verbs=_CHANGED)
DEVICE_CLASS = _make_kind(collections.DEVICE_CLASSES, "DeviceClass", cluster_scoped=True)
RESOURCE_SLICE = _make_kind(collections.RESOURCE_SLICES, "ResourceSlice", cluster_scoped=True)
RESOURCE_CLAIM = _make_kind(collections.RESOURCE_CLAIMS, "ResourceClaim", verbs=("get", *_CHANGED))
NODE_DEVICES = _make_kind(
    collections.NODE_DEVICES, "Device", cluster_scoped=True, left_out=True, role="gpu-sharing"
)
DAEMON_SET = _make_kind(collections.DAEMON_SETS, "DaemonSet", struct=workloads.DaemonSet, bundled=False)
POD_GROUP = _make_kind(collections.POD_GROUPS, "PodGroup", left_out=True)
WORKLOAD = _make_kind(collections.WORKLOADS, "Workload", left_out=True)
NATIVE_POD_GROUP = _make_kind(collections.NATIVE_POD_GROUPS, "PodGroup", left_out=True)
COMPOSITE_POD_GROUP = _make_kind(collections.COMPOSITE_POD_GROUPS, "CompositePodGroup", left_out=True)
SIGS_POD_GROUP = _make_kind(collections.SIGS_POD_GROUPS, "PodGroup", left_out=True)
VOLCANO_POD_GROUP = _make_kind(collections.VOLCANO_POD_GROUPS, "PodGroup", left_out=True)
KAI_POD_GROUP = _make_kind(collections.KAI_POD_GROUPS, "PodGroup", left_out=True)
POD_GANG = _make_kind(collections.POD_GANGS, "PodGang", left_out=True)
HYPER_NODE = _make_kind(collections.HYPER_NODES, "HyperNode", cluster_scoped=True, left_out=True)
GROUP_MAP = _make_kind(collections.GROUP_MAPS, "ConfigMap", left_out=True, role="topology", verbs=_CHANGED)
RESOURCE_FLAVOR, WORKLOAD_PRIORITY_CLASS, TOPOLOGY, CLUSTER_QUEUE, COHORT, VOLCANO_QUEUE, KAI_QUEUE = (
    _make_kind(resource, name, cluster_scoped=True, left_out=True, role="queues")
    for resource, name in (
        (collections.RESOURCE_FLAVORS, "ResourceFlavor"),
        (collections.WORKLOAD_PRIORITY_CLASSES, "WorkloadPriorityClass"),
        (collections.TOPOLOGIES, "Topology"),
        (collections.CLUSTER_QUEUES, "ClusterQueue"),
        (collections.COHORTS, "Cohort"),
        (collections.VOLCANO_QUEUES, "Queue"),
        (collections.KAI_QUEUES, "Queue"),
    )
)
LOCAL_QUEUE, KOORDINATOR_QUOTA, ELASTIC_QUOTA = (
    _make_kind(resource, name, left_out=True, role="queues")
    for resource, name in (
        (collections.LOCAL_QUEUES, "LocalQueue"),
        (collections.KOORDINATOR_QUOTAS, "ElasticQuota"),
        (collections.ELASTIC_QUOTAS, "ElasticQuota"),
    )
)
POD = _make_kind(collections.PODS, "Pod")
APP_GROUP = _make_kind(
    collections.APP_GROUPS, "AppGroup", left_out=True, role="network", verbs=("get", *_CHANGED)
)
NETWORK_TOPOLOGY = _make_kind(
    collections.NETWORK_TOPOLOGIES, "NetworkTopology", left_out=True, role="network", verbs=("get", *_CHANGED)
)
BUDGET = _make_kind(collections.BUDGETS, "PodDisruptionBudget")
NODE_TOPOLOGY = _make_kind(
    collections.NODE_TOPOLOGIES, "NodeResourceTopology", cluster_scoped=True, left_out=True
)
NODE_METRIC = _make_kind(collections.NODE_METRICS, "NodeMetric", cluster_scoped=True, left_out=True)
OWNERS = tuple(
    _make_kind(resource, name, struct=struct, bundled=False)
    for (name, resource), struct in zip(
        collections.SCALED_OWNERS.items(),
        (workloads.ReplicaWorkload, workloads.ReplicaWorkload, workloads.Job),
        strict=True,
    )
)

GROUPS = (
    POD_GROUP,
    WORKLOAD,
    COMPOSITE_POD_GROUP,
    NATIVE_POD_GROUP,
    SIGS_POD_GROUP,
    VOLCANO_POD_GROUP,
    KAI_POD_GROUP,
    POD_GANG,
)
"""Kinds that say which pods form a group."""

QUEUES = (
    TOPOLOGY,
    RESOURCE_FLAVOR,
    WORKLOAD_PRIORITY_CLASS,
    COHORT,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    VOLCANO_QUEUE,
    KAI_QUEUE,
    KOORDINATOR_QUOTA,
    ELASTIC_QUOTA,
)
"""Kinds that describe queues and quotas; the bridge watches those of the configured projects."""

BEFORE_PODS = (
    NODE,
    # A pod's priority may depend on PriorityClasses. The priority is fixed when the bridge first sees the pod.
    PRIORITY_CLASS,
    # Rules between pods may select namespaces by label, so the labels must be known before the first round.
    NAMESPACE,
    SERVICE,
    # If a pod came before its claim, the claim would count as missing.
    STORAGE_CLASS,
    CSI_NODE,
    CSI_DRIVER,
    STORAGE_CAPACITY,
    VOLUME_ATTACHMENT,
    VOLUME,
    CLAIM,
    DEVICE_CLASS,
    RESOURCE_SLICE,
    RESOURCE_CLAIM,
    NODE_DEVICES,
    # If a pod came before its DaemonSet, the DaemonSet would count as missing.
    DAEMON_SET,
    # If groups came before HyperNodes, the reasons of the groups' pods would say that no HyperNode fits.
    HYPER_NODE,
    # If pods came before groups, the pods' reasons to wait would say that their groups do not exist.
    *GROUPS,
    GROUP_MAP,
    # If pods came before queues, the pods' reasons to wait would say that their queues do not exist.
    *QUEUES,
    # If LimitRanges came later, an object might be resumed although the API server would refuse its pods.
    LIMIT_RANGE,
)
"""Kinds that the bridge loads before pods, in this order."""

AFTER_PODS = (APP_GROUP, NETWORK_TOPOLOGY, BUDGET, NODE_TOPOLOGY, NODE_METRIC, *OWNERS)
"""Kinds that the bridge loads after pods: they describe known pods, nodes or owners of pods."""

FILES_ALONE = (
    ObjectKind("", "ReplicationController", workloads.ReplicaWorkload),
    ObjectKind("", "ResourceQuota", ResourceQuota),
    ObjectKind("apps", "Deployment", workloads.ReplicaWorkload),
    ObjectKind("batch", "CronJob", workloads.CronJob),
    ObjectKind("metrics.k8s.io", "NodeMetrics", NodeMetrics, cluster_scoped=True, left_out=True),
    ObjectKind("metrics.k8s.io", "PodMetrics", PodMetrics, left_out=True),
    ObjectKind("resource.k8s.io", "ResourceClaimTemplate", ResourceClaimTemplate),
    ObjectKind("node.k8s.io", "RuntimeClass", RuntimeClass, cluster_scoped=True),
)
"""Kinds that only offline commands read.

In a cluster, controllers, the API server's admission or sources of measured use have already applied them.
"""

FOLLOWED = (*BEFORE_PODS, POD, *AFTER_PODS)
"""Kinds that the bridge watches at an API server."""

KINDS: tuple[ObjectKind, ...] = (*FOLLOWED, *FILES_ALONE)
"""All kinds."""

BY_NAME = {(kind.group, kind.name): kind for kind in KINDS}
"""All kinds by group and name, as manifests state them."""

CLUSTER_SCOPED = frozenset(kind.name for kind in KINDS if kind.cluster_scoped)
"""Names of kinds whose objects are in no namespace."""
