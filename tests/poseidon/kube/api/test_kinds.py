"""The table of kinds: whoever goes by it agrees with what is in the API, and nothing is missing."""

from __future__ import annotations

from poseidon.bridge.state import BridgeState
from poseidon.kube.api import collections, kinds
from poseidon.kube.api.resource import Resource


def test_every_collection_of_a_kind_is_in_the_table():
    """Those that hold single ConfigMaps, and other readings of a collection that is there, are no kinds."""
    there = {kind.resource for kind in kinds.FOLLOWED}
    stated = {each for each in vars(collections).values() if isinstance(each, Resource)}
    assert stated - there == {
        collections.CONFIG_MAPS,
        collections.NODE_TOPOLOGIES_ALPHA1,
        collections.QUEUED_JOBS,
    }
    assert set(collections.SCALED_OWNERS.values()) <= there


def test_kinds_are_told_apart_by_group_and_name():
    assert len(kinds.BY_NAME) == len(kinds.KINDS)
    assert kinds.BY_NAME["scheduling.volcano.sh", "PodGroup"] is kinds.VOLCANO_POD_GROUP
    assert (kinds.CLAIM.group, kinds.CLAIM.plural) == ("", "persistentvolumeclaims")
    assert (kinds.BUDGET.group, kinds.BUDGET.plural) == ("policy", "poddisruptionbudgets")


def test_whatever_is_known_before_pods_is_taken():
    assert BridgeState().handlers.keys() == {*kinds.BEFORE_PODS, kinds.POD}


def names(kinds_of):
    return {f"{kind.group}/{kind.name}".removeprefix("/") for kind in kinds_of}


def test_commands_refuse_faulty_objects_of_kubernetes_own_kinds_and_skip_those_of_other_projects():
    """Kubernetes' gang kinds are alpha, and metrics come from an add-on: these are skipped as well."""
    kept = names(kind for kind in kinds.KINDS if not kind.left_out)
    assert kept == {
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "LimitRange",
        "Namespace",
        "ReplicationController",
        "ResourceQuota",
        "Service",
        "apps/DaemonSet",
        "apps/Deployment",
        "apps/ReplicaSet",
        "apps/StatefulSet",
        "batch/CronJob",
        "batch/Job",
        "node.k8s.io/RuntimeClass",
        "policy/PodDisruptionBudget",
        "resource.k8s.io/DeviceClass",
        "resource.k8s.io/ResourceClaim",
        "resource.k8s.io/ResourceClaimTemplate",
        "resource.k8s.io/ResourceSlice",
        "scheduling.k8s.io/PriorityClass",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/CSINode",
        "storage.k8s.io/CSIStorageCapacity",
        "storage.k8s.io/StorageClass",
        "storage.k8s.io/VolumeAttachment",
    }


def test_which_kinds_are_in_no_namespace():
    assert names(kind for kind in kinds.KINDS if kind.cluster_scoped) == {
        "Namespace",
        "Node",
        "PersistentVolume",
        "kueue.x-k8s.io/ClusterQueue",
        "kueue.x-k8s.io/Cohort",
        "kueue.x-k8s.io/ResourceFlavor",
        "kueue.x-k8s.io/Topology",
        "kueue.x-k8s.io/WorkloadPriorityClass",
        "metrics.k8s.io/NodeMetrics",
        "node.k8s.io/RuntimeClass",
        "resource.k8s.io/DeviceClass",
        "resource.k8s.io/ResourceSlice",
        "scheduling.k8s.io/PriorityClass",
        "scheduling.koordinator.sh/Device",
        "scheduling.run.ai/Queue",
        "scheduling.volcano.sh/Queue",
        "slo.koordinator.sh/NodeMetric",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/CSINode",
        "storage.k8s.io/StorageClass",
        "storage.k8s.io/VolumeAttachment",
        "topology.node.k8s.io/NodeResourceTopology",
        "topology.volcano.sh/HyperNode",
    }


def test_bundles_leave_out_owners_of_pods_and_limits_of_namespaces():
    left_out = names(kind for kind in kinds.FOLLOWED if not kind.bundled)
    assert left_out == {"LimitRange", "apps/DaemonSet", *names(kinds.OWNERS)}
    assert names(kinds.OWNERS) == {"apps/ReplicaSet", "apps/StatefulSet", "batch/Job"}
