"""core/v1 Node, as far as a scheduler looks at it."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.base import KubeStruct, Resources
from poseidon.kube.api.metadata import Condition, ObjectMeta


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
