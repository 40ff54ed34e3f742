"""Defines core/v1 Node, and objects that pods name or that select pods: PriorityClass, RuntimeClass, Service."""

from __future__ import annotations

import msgspec
from msgspec import field

from poseidon.kube.api.metadata import Condition, Integer, KubeStruct, ObjectMeta, Resources
from poseidon.kube.api.pod_rules import Toleration

_NOTHING = msgspec.Raw()


class Taint(KubeStruct, frozen=True):
    """core/v1 Taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(KubeStruct, frozen=True):
    """Spec of a Node: whether it is cordoned, and its taints."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(KubeStruct, frozen=True):
    """An image on a node, with all its names there."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0  # The reader limits this number.


class NodeStatus(KubeStruct, frozen=True):
    """Status of a Node, from its kubelet. ``allocatable`` is None if the kubelet has not reported it."""

    capacity: Resources = field(default_factory=dict)
    allocatable: Resources | None = None
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(KubeStruct, frozen=True):
    """core/v1 Node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class _ConditionOutline(KubeStruct, frozen=True):
    type: str = ""
    status: str = ""


class _MetadataOutline(KubeStruct, frozen=True):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: msgspec.Raw = _NOTHING
    annotations: msgspec.Raw = _NOTHING
    deletion_timestamp: msgspec.Raw = _NOTHING


class _StatusOutline(KubeStruct, frozen=True):
    capacity: msgspec.Raw = _NOTHING
    allocatable: msgspec.Raw = _NOTHING
    conditions: tuple[_ConditionOutline, ...] = ()
    images: msgspec.Raw = _NOTHING
    declared_features: msgspec.Raw = _NOTHING


class NodeOutline(KubeStruct, frozen=True):
    """The parts of a Node that placement reads, not decoded yet.

    If ``mark`` has not changed, the update is only a heartbeat of the kubelet, and the Node is not decoded.
    """

    found: _MetadataOutline = field(default=_MetadataOutline(), name="metadata")
    spec: msgspec.Raw = _NOTHING
    status: _StatusOutline = _StatusOutline()

    @property
    def metadata(self) -> ObjectMeta:
        """Name, uid and version."""
        found = self.found
        return ObjectMeta(name=found.name, uid=found.uid, resource_version=found.resource_version)

    @property
    def mark(self) -> int:
        """A hash of all parts of a node that placement reads; heartbeats do not change it."""
        found, status = self.found, self.status
        parts = (
            found.labels,
            found.annotations,
            found.deletion_timestamp,
            self.spec,
            status.capacity,
            status.allocatable,
            status.images,
            status.declared_features,
        )
        conditions = tuple([(each.type, each.status) for each in status.conditions])
        return hash((found.name, conditions, *map(bytes, parts)))


class PriorityClass(KubeStruct, frozen=True):
    """scheduling.k8s.io/v1 PriorityClass; at most one in a cluster is the ``global_default``."""

    metadata: ObjectMeta = ObjectMeta()
    value: Integer = 0
    global_default: bool = False
    preemption_policy: str = ""


class RuntimeOverhead(KubeStruct, frozen=True):
    """Resources that each pod of a runtime class needs in addition to its containers."""

    pod_fixed: Resources = field(default_factory=dict)


class RuntimeScheduling(KubeStruct, frozen=True):
    """The nodes that run a runtime class."""

    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(KubeStruct, frozen=True):
    """node.k8s.io/v1 RuntimeClass: the overhead and node rules that admission adds to pods that name it."""

    metadata: ObjectMeta = ObjectMeta()
    overhead: RuntimeOverhead = RuntimeOverhead()
    scheduling: RuntimeScheduling = RuntimeScheduling()


class ServiceSpec(KubeStruct, frozen=True):
    """Spec of a Service: the pods that it selects; an empty selector selects none."""

    selector: dict[str, str] = field(default_factory=dict)


class Service(KubeStruct, frozen=True):
    """core/v1 Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
