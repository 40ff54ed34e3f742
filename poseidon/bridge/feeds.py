"""The collections of the API that the bridge follows."""

from __future__ import annotations

from poseidon.kube.batch_objects import (
    DisruptionBudget,
    NativePodGroup,
    PodGroup,
    ScaledOwner,
    Workload,
)
from poseidon.kube.listing import Resource
from poseidon.kube.node_topology import NodeResourceTopology
from poseidon.kube.objects import Namespace, Node, Pod, PriorityClass, Service
from poseidon.kube.storage_objects import (
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

NODES = Resource("nodes", "/api/v1/nodes", Node)
NAMESPACES = Resource("namespaces", "/api/v1/namespaces", Namespace)
SERVICES = Resource("services", "/api/v1/services", Service)
PODS = Resource("pods", "/api/v1/pods", Pod)
NODE_TOPOLOGIES = Resource(
    "noderesourcetopologies",
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
    NodeResourceTopology,
)
NODE_TOPOLOGIES_ALPHA1 = Resource(
    "noderesourcetopologies.v1alpha1",
    "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies",
    NodeResourceTopology,
)
PRIORITY_CLASSES = Resource("priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses", PriorityClass)

CLAIMS = Resource("persistentvolumeclaims", "/api/v1/persistentvolumeclaims", PersistentVolumeClaim)
VOLUMES = Resource("persistentvolumes", "/api/v1/persistentvolumes", PersistentVolume)
STORAGE_CLASSES = Resource("storageclasses", "/apis/storage.k8s.io/v1/storageclasses", StorageClass)
CSI_NODES = Resource("csinodes", "/apis/storage.k8s.io/v1/csinodes", CsiNode)

POD_GROUPS = Resource("podgroups", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups", PodGroup)
WORKLOADS = Resource("workloads", "/apis/scheduling.k8s.io/v1alpha1/workloads", Workload)
NATIVE_POD_GROUPS = Resource(
    "podgroups.scheduling.k8s.io", "/apis/scheduling.k8s.io/v1alpha2/podgroups", NativePodGroup
)
BUDGETS = Resource("poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets", DisruptionBudget)
DAEMON_SETS = Resource("daemonsets", "/apis/apps/v1/daemonsets", ScaledOwner)
"""As far as their metadata; followed only where it makes a difference whose pods a DaemonSet's are."""
SCALED_OWNERS: dict[str, Resource[ScaledOwner]] = {
    "ReplicaSet": Resource("replicasets", "/apis/apps/v1/replicasets", ScaledOwner),
    "StatefulSet": Resource("statefulsets", "/apis/apps/v1/statefulsets", ScaledOwner),
    "Job": Resource("jobs", "/apis/batch/v1/jobs", ScaledOwner),
}
"""Owners by kind; followed only once some pod's gang is a share of its owner's pods."""
