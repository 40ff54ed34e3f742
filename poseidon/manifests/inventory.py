"""Typed objects out of documents: each one converted, checked, and held once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from poseidon.kube.api.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.kube.api.core import KubeStruct, Namespace, Node, ObjectMeta, Pod, PriorityClass, Service
from poseidon.kube.api.decoding import MalformedObjectError, convert_object
from poseidon.kube.api.metrics import NodeMetric, NodeMetrics, PodMetrics
from poseidon.kube.api.node_topology import NodeResourceTopology
from poseidon.kube.api.pod_groups import DisruptionBudget, NativePodGroup, PodGroup
from poseidon.kube.api.pod_groups import Workload as WorkloadGroups
from poseidon.kube.api.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from poseidon.kube.api.workloads import CronJob, DaemonSet, Job, ReplicaWorkload
from poseidon.manifests.storage import STORAGE_KINDS
from poseidon.manifests.unread import Unread
from poseidon.manifests.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.manifests.documents import Document

_KINDS: dict[tuple[str, str], type[KubeStruct]] = {
    ("", "Namespace"): Namespace,
    ("", "Node"): Node,
    ("", "PersistentVolume"): PersistentVolume,
    ("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("", "Pod"): Pod,
    ("", "ReplicationController"): ReplicaWorkload,
    ("", "Service"): Service,
    ("apps", "ReplicaSet"): ReplicaWorkload,
    ("apps", "Deployment"): ReplicaWorkload,
    ("apps", "StatefulSet"): ReplicaWorkload,
    ("apps", "DaemonSet"): DaemonSet,
    ("batch", "CronJob"): CronJob,
    ("batch", "Job"): Job,
    ("policy", "PodDisruptionBudget"): DisruptionBudget,
    ("scheduling.k8s.io", "PriorityClass"): PriorityClass,
    ("storage.k8s.io", "CSIDriver"): CsiDriver,
    ("storage.k8s.io", "CSINode"): CsiNode,
    ("storage.k8s.io", "CSIStorageCapacity"): CsiStorageCapacity,
    ("storage.k8s.io", "StorageClass"): StorageClass,
}
_MODEL_KINDS: dict[tuple[str, str], type[KubeStruct]] = {
    ("", "ConfigMap"): ConfigMap,
    ("appgroup.diktyo.x-k8s.io", "AppGroup"): AppGroup,
    ("metrics.k8s.io", "NodeMetrics"): NodeMetrics,
    ("metrics.k8s.io", "PodMetrics"): PodMetrics,
    ("networktopology.diktyo.x-k8s.io", "NetworkTopology"): NetworkTopology,
    ("scheduling.k8s.io", "PodGroup"): NativePodGroup,
    ("scheduling.k8s.io", "Workload"): WorkloadGroups,
    ("scheduling.x-k8s.io", "PodGroup"): PodGroup,
    ("slo.koordinator.sh", "NodeMetric"): NodeMetric,
    ("topology.node.k8s.io", "NodeResourceTopology"): NodeResourceTopology,
}
"""Objects that only models look at, and those of groups of pods.

One that makes no sense is left out with a warning, and the rest goes on.
"""

_CLUSTER_SCOPED = (
    "CSIDriver",
    "CSINode",
    "Namespace",
    "Node",
    "NodeMetric",
    "NodeMetrics",
    "NodeResourceTopology",
    "PersistentVolume",
    "PriorityClass",
    "StorageClass",
)

Workload = ReplicaWorkload | DaemonSet | Job


@dataclass(slots=True)
class Inventory:
    """The objects of the input that matter here, in order of appearance. Workloads come with their kind.

    Every pod has its namespace filled in, and ``namespace/name`` as its uid: it is unique within one input,
    whatever was copied into it.
    """

    nodes: list[Node] = field(default_factory=list)
    namespaces: list[Namespace] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    workloads: list[tuple[str, Workload]] = field(default_factory=list)
    cron_jobs: list[CronJob] = field(default_factory=list)
    priority_classes: list[PriorityClass] = field(default_factory=list)
    storage: list[KubeStruct] = field(default_factory=list)
    budgets: list[DisruptionBudget] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    for_models: list[KubeStruct] = field(default_factory=list)


def take_inventory(documents: Iterable[Document], defects: list[str], warnings: list[str]) -> Inventory:
    """Convert and check every document; kinds that play no part are skipped, with a warning if they hold pods.

    Adds ``file: Kind ns/name: field: what is wrong; what to do`` to ``defects`` for each fault, and likewise
    to ``warnings`` for what is odd but usable, and for objects that only models look at. Of two identical objects
    one is kept; different ones of the same name are a defect.
    """
    inventory = Inventory()
    seen: dict[_Name, Document] = {}
    validator = Validator()
    unread = Unread()
    for document in documents:
        group_kind = (document.api_version.rpartition("/")[0], document.kind)
        model_kind = _MODEL_KINDS.get(group_kind)
        kind = _KINDS.get(group_kind)
        if model_kind is not None:
            _take_for_models(inventory, document, model_kind, seen, warnings)
        elif kind is not None:
            faults = _take(inventory, document, kind, seen, validator, warnings)
            if faults and document.template:
                unread.template(document)
            else:
                defects.extend(f"{_identity(document)}: {fault}" for fault in faults)
        else:
            unread.take(document)
    warnings.extend(unread.warnings())
    return inventory


_Name = tuple[str, str, str, str]
"""API group, kind, namespace and name."""


def _name_of(document: Document, metadata: ObjectMeta) -> _Name:
    namespace = "" if document.kind in _CLUSTER_SCOPED else metadata.namespace or "default"
    return document.api_version.rpartition("/")[0], document.kind, namespace, metadata.name


def _take(
    inventory: Inventory,
    document: Document,
    kind: type[KubeStruct],
    seen: dict[_Name, Document],
    validator: Validator,
    warnings: list[str],
) -> list[str]:
    """Convert, check and file an object; returns what is wrong with it, and then files nothing."""
    try:
        found = convert_object(document.value, kind)
    except (MalformedObjectError, RecursionError) as error:
        problem = str(error) if isinstance(error, MalformedObjectError) else "nested too deeply"
        return [f"{problem}; correct it"]
    metadata: ObjectMeta = found.metadata  # type: ignore[attr-defined]  # every kind in the table has it
    name = _name_of(document, metadata)
    earlier = seen.setdefault(name, document)
    if metadata.name and earlier is not document:
        if earlier.value == document.value:
            return []
        return [
            f"metadata.name: given differently in {earlier.source} as well; remove one of the two",
        ]
    faults = [str(defect) for defect in validator.defects(found)]
    if not faults:
        warnings.extend(f"{_identity(document)}: {warning}" for warning in validator.warnings(found))
        _file(inventory, document.kind, found, replace(metadata, namespace=name[2]))
    return faults


def _take_for_models(
    inventory: Inventory,
    document: Document,
    kind: type[KubeStruct],
    seen: dict[_Name, Document],
    warnings: list[str],
) -> None:
    """Convert an object that only models look at; the first of a name counts."""
    problem = ""
    try:
        found = convert_object(document.value, kind)
    except (MalformedObjectError, RecursionError) as error:
        problem = str(error) if isinstance(error, MalformedObjectError) else "nested too deeply"
    else:
        metadata: ObjectMeta = found.metadata  # type: ignore[attr-defined]  # every kind in the table has it
        name = _name_of(document, metadata)
        earlier = seen.setdefault(name, document)
        if not metadata.name:
            problem = "metadata.name: missing"
        elif earlier is not document and earlier.value != document.value:
            problem = f"metadata.name: given differently in {earlier.source} as well"
        elif earlier is document:
            uid = f"{name[2]}/{metadata.name}"
            metadata = replace(metadata, namespace=name[2], uid=uid)
            inventory.for_models.append(replace(found, metadata=metadata))
    if problem:
        warnings.append(f"{_identity(document)}: {problem}; the object is left out")


def _file(inventory: Inventory, kind: str, found: Any, metadata: ObjectMeta) -> None:
    if isinstance(found, Pod):
        metadata = replace(metadata, uid=f"{metadata.namespace}/{metadata.name}")
        inventory.pods.append(replace(found, metadata=metadata))
    elif isinstance(found, Node):
        inventory.nodes.append(replace(found, metadata=metadata))
    elif isinstance(found, Namespace):
        inventory.namespaces.append(found)
    elif isinstance(found, PriorityClass):
        inventory.priority_classes.append(found)
    elif isinstance(found, DisruptionBudget):
        inventory.budgets.append(replace(found, metadata=metadata))
    elif isinstance(found, CronJob):
        inventory.cron_jobs.append(replace(found, metadata=metadata))
    elif isinstance(found, Service):
        inventory.services.append(replace(found, metadata=metadata))
    elif isinstance(found, STORAGE_KINDS):
        inventory.storage.append(replace(found, metadata=metadata))
    else:
        inventory.workloads.append((kind, replace(found, metadata=metadata)))


def _identity(document: Document) -> str:
    """Return ``file: Kind ns/name`` as well as it can be told."""
    metadata = document.value.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    name = given.get("name") or "(no name)"
    if document.kind in _CLUSTER_SCOPED:
        return f"{document.source}: {document.kind} {name}"
    return f"{document.source}: {document.kind} {given.get('namespace') or 'default'}/{name}"
