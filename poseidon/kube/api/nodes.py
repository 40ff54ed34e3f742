"""core/v1 Node, other objects that pods refer to by name, and services, which refer to pods."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.metadata import Condition, Integer, KubeStruct, ObjectMeta, Resources
from poseidon.kube.api.pod_rules import Toleration


class Taint(KubeStruct, frozen=True):
    """core/v1 Taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(KubeStruct, frozen=True):
    """What an administrator asks of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(KubeStruct, frozen=True):
    """An image that is on a node, with all names that it is known under there."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0  # bounded where it is read


class NodeStatus(KubeStruct, frozen=True):
    """What the kubelet reports of a node. ``allocatable`` is None when it has not been reported at all."""

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


class PriorityClass(KubeStruct, frozen=True):
    """scheduling.k8s.io/v1 PriorityClass; at most one of a cluster is the ``global_default``."""

    metadata: ObjectMeta = ObjectMeta()
    value: Integer = 0
    global_default: bool = False
    preemption_policy: str = ""


class RuntimeOverhead(KubeStruct, frozen=True):
    """What each pod of a runtime class needs beside its containers."""

    pod_fixed: Resources = field(default_factory=dict)


class RuntimeScheduling(KubeStruct, frozen=True):
    """Which nodes run a runtime class."""

    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(KubeStruct, frozen=True):
    """node.k8s.io/v1 RuntimeClass: what admission adds to the pods that name it."""

    metadata: ObjectMeta = ObjectMeta()
    overhead: RuntimeOverhead = RuntimeOverhead()
    scheduling: RuntimeScheduling = RuntimeScheduling()


class Namespace(KubeStruct, frozen=True):
    """core/v1 Namespace."""

    metadata: ObjectMeta = ObjectMeta()


class ServiceSpec(KubeStruct, frozen=True):
    """Spec of a Service, as far as it says which pods it is about; an empty selector is about none."""

    selector: dict[str, str] = field(default_factory=dict)


class Service(KubeStruct, frozen=True):
    """core/v1 Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
