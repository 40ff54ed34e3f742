"""Cluster-wide objects that pods refer to by name, and services, which refer to pods."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.base import Integer, KubeStruct
from poseidon.kube.api.metadata import ObjectMeta


class PriorityClass(KubeStruct, frozen=True):
    """scheduling.k8s.io/v1 PriorityClass; at most one of a cluster is the ``global_default``."""

    metadata: ObjectMeta = ObjectMeta()
    value: Integer = 0
    global_default: bool = False
    preemption_policy: str = ""


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
