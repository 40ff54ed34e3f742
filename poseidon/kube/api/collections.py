"""Lists the API's collections that the bridge reads, each with its group, version and path."""

from __future__ import annotations

from poseidon.kube.api.devices import DeviceClass, NodeDeviceList, ResourceClaim, ResourceSlice
from poseidon.kube.api.namespaces import LimitRange, Namespace
from poseidon.kube.api.nodes import Node, NodeOutline, PriorityClass, Service
from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.kube.api.other_projects.hyper_nodes import HyperNode
from poseidon.kube.api.other_projects.kueue_topology import KueueTopology
from poseidon.kube.api.other_projects.metrics import NodeMetric
from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
from poseidon.kube.api.other_projects.queues import (
    ClusterQueue,
    Cohort,
    ElasticQuota,
    KaiQueue,
    KoordinatorQuota,
    LocalQueue,
    QueuedOwner,
    ResourceFlavor,
    VolcanoQueue,
    WorkloadPriorityClass,
)
from poseidon.kube.api.other_projects.scheduler_groups import KaiPodGroup, PodGang
from poseidon.kube.api.pod_groups import (
    CompositePodGroup,
    DisruptionBudget,
    NativePodGroup,
    PodGroup,
    ScaledOwner,
    SigsPodGroup,
    VolcanoPodGroup,
    Workload,
)
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Resource
from poseidon.kube.api.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

NODES = Resource("nodes", "/api/v1/nodes", Node, required=True, outline=NodeOutline)
NAMESPACES = Resource("namespaces", "/api/v1/namespaces", Namespace)
LIMIT_RANGES = Resource("limitranges", "/api/v1/limitranges", LimitRange)
SERVICES = Resource("services", "/api/v1/services", Service)
PODS = Resource("pods", "/api/v1/pods", Pod, required=True)
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
CSI_DRIVERS = Resource("csidrivers", "/apis/storage.k8s.io/v1/csidrivers", CsiDriver)
STORAGE_CAPACITIES = Resource(
    "csistoragecapacities", "/apis/storage.k8s.io/v1/csistoragecapacities", CsiStorageCapacity
)
VOLUME_ATTACHMENTS = Resource(
    "volumeattachments", "/apis/storage.k8s.io/v1/volumeattachments", VolumeAttachment
)

DEVICE_CLASSES = Resource("deviceclasses", "/apis/resource.k8s.io/v1/deviceclasses", DeviceClass)
RESOURCE_SLICES = Resource("resourceslices", "/apis/resource.k8s.io/v1/resourceslices", ResourceSlice)
RESOURCE_CLAIMS = Resource("resourceclaims", "/apis/resource.k8s.io/v1/resourceclaims", ResourceClaim)
NODE_DEVICES = Resource("devices", "/apis/scheduling.koordinator.sh/v1alpha1/devices", NodeDeviceList)

POD_GROUPS = Resource("podgroups", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups", PodGroup)
SIGS_POD_GROUPS = Resource(
    "podgroups.scheduling.sigs.k8s.io", "/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups", SigsPodGroup
)
VOLCANO_POD_GROUPS = Resource(
    "podgroups.scheduling.volcano.sh", "/apis/scheduling.volcano.sh/v1beta1/podgroups", VolcanoPodGroup
)
KAI_POD_GROUPS = Resource(
    "podgroups.scheduling.run.ai", "/apis/scheduling.run.ai/v2alpha2/podgroups", KaiPodGroup
)
HYPER_NODES = Resource("hypernodes", "/apis/topology.volcano.sh/v1alpha1/hypernodes", HyperNode)
POD_GANGS = Resource("podgangs", "/apis/scheduler.grove.io/v1alpha1/podgangs", PodGang)
WORKLOADS = Resource("workloads", "/apis/scheduling.k8s.io/v1alpha1/workloads", Workload)
NATIVE_POD_GROUPS = Resource(
    "podgroups.scheduling.k8s.io",
    "/apis/scheduling.k8s.io/v1beta1/podgroups",
    NativePodGroup,
    other_paths=(
        "/apis/scheduling.k8s.io/v1alpha3/podgroups",
        "/apis/scheduling.k8s.io/v1alpha2/podgroups",
    ),
)
"""Kubernetes' own PodGroups: 1.36 serves v1alpha2; 1.37 serves v1beta1 and v1alpha3."""
COMPOSITE_POD_GROUPS = Resource(
    "compositepodgroups", "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups", CompositePodGroup
)
BUDGETS = Resource("poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets", DisruptionBudget)
DAEMON_SETS = Resource("daemonsets", "/apis/apps/v1/daemonsets", ScaledOwner)
"""DaemonSets, of which only metadata are read.

The bridge watches them only if cost models need to know daemons' pods.
"""
SCALED_OWNERS: dict[str, Resource[ScaledOwner]] = {
    "ReplicaSet": Resource("replicasets", "/apis/apps/v1/replicasets", ScaledOwner),
    "StatefulSet": Resource("statefulsets", "/apis/apps/v1/statefulsets", ScaledOwner),
    "Job": Resource("jobs", "/apis/batch/v1/jobs", ScaledOwner),
}
"""Owners of pods by kind. The bridge watches these owners once a gang's size is a share of its owner's pods."""

APP_GROUP_VERSION = "appgroup.diktyo.x-k8s.io/v1alpha1"
TOPOLOGY_VERSION = "networktopology.diktyo.x-k8s.io/v1alpha1"
APP_GROUPS = Resource("appgroups", f"/apis/{APP_GROUP_VERSION}/appgroups", AppGroup)
NETWORK_TOPOLOGIES = Resource(
    "networktopologies", f"/apis/{TOPOLOGY_VERSION}/networktopologies", NetworkTopology
)

_KUEUE = "/apis/kueue.x-k8s.io"
CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES, TOPOLOGIES = (
    Resource(plural, f"{_KUEUE}/v1beta2/{plural}", struct, other_paths=(f"{_KUEUE}/v1beta1/{plural}", *more))
    for plural, struct, more in (
        ("clusterqueues", ClusterQueue, ()),
        ("localqueues", LocalQueue, ()),
        ("cohorts", Cohort, (f"{_KUEUE}/v1alpha1/cohorts",)),
        ("resourceflavors", ResourceFlavor, ()),
        ("workloadpriorityclasses", WorkloadPriorityClass, ()),
        ("topologies", KueueTopology, (f"{_KUEUE}/v1alpha1/topologies",)),
    )
)
"""Kueue's kinds; Kueue serves v1beta2 from version 0.15 on."""
VOLCANO_QUEUES = Resource(
    "queues.scheduling.volcano.sh", "/apis/scheduling.volcano.sh/v1beta1/queues", VolcanoQueue
)
KAI_QUEUES = Resource("queues.scheduling.run.ai", "/apis/scheduling.run.ai/v2/queues", KaiQueue)
KOORDINATOR_QUOTAS = Resource(
    "elasticquotas.scheduling.sigs.k8s.io",
    "/apis/scheduling.sigs.k8s.io/v1alpha1/elasticquotas",
    KoordinatorQuota,
)
ELASTIC_QUOTAS = Resource(
    "elasticquotas.scheduling.x-k8s.io", "/apis/scheduling.x-k8s.io/v1alpha1/elasticquotas", ElasticQuota
)

QUEUED_OWNERS: dict[str, Resource[QueuedOwner]] = {
    kind: Resource(plural, f"/apis/{version}/{plural}", QueuedOwner)
    for kind, version, plural in (
        ("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets"),
        ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
        ("RayCluster", "ray.io/v1", "rayclusters"),
        ("RayJob", "ray.io/v1", "rayjobs"),
        ("JAXJob", "kubeflow.org/v1", "jaxjobs"),
        ("MPIJob", "kubeflow.org/v2beta1", "mpijobs"),
        ("PaddleJob", "kubeflow.org/v1", "paddlejobs"),
        ("PyTorchJob", "kubeflow.org/v1", "pytorchjobs"),
        ("TFJob", "kubeflow.org/v1", "tfjobs"),
        ("XGBoostJob", "kubeflow.org/v1", "xgboostjobs"),
        ("SparkApplication", "sparkoperator.k8s.io/v1beta2", "sparkapplications"),
        ("TrainJob", "trainer.kubeflow.org/v1alpha1", "trainjobs"),
    )
}
"""Owners of pods that queues may hold back, by kind.

The bridge watches these owners and ``SCALED_OWNERS`` if pods may be in their owners' queues.
"""

QUEUED_JOBS = Resource("jobs", "/apis/batch/v1/jobs", QueuedOwner)
"""Jobs with all fields that determine their pods; watched instead of ``SCALED_OWNERS``' if Jobs may be suspended."""

NODE_METRICS = Resource("nodemetrics", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics", NodeMetric)
"""Koordinator's NodeMetrics, if Koordinator is installed."""

CONFIG_MAPS = Resource("configmaps", "/api/v1/configmaps", ConfigMap)
"""All ConfigMaps. The bridge watches only two sorts of them: single ones (``config_map``) and those with a label."""


def config_map(namespace: str, name: str) -> Resource[ConfigMap]:
    """Return the collection that contains only this ConfigMap."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return Resource(CONFIG_MAPS.name, path, ConfigMap, field_selector=f"metadata.name={name}")


TREE_MAP_LABEL = "sakkara.topology"
"""Label, with any value, of the ConfigMap that describes the cluster's tree."""

GROUP_MAP_LABEL = "sakkara.group"
"""Label, with any value, of a ConfigMap that describes a group."""

GROUP_MAPS = Resource("group-configmaps", CONFIG_MAPS.path, ConfigMap, label_selector=GROUP_MAP_LABEL)


def tree_maps(namespace: str) -> Resource[ConfigMap]:
    """Return the collection of the ConfigMaps in a namespace that describe the cluster's tree."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return Resource("tree-configmaps", path, ConfigMap, label_selector=TREE_MAP_LABEL)
