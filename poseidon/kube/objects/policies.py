"""Cluster-wide objects that pods refer to by name."""

from __future__ import annotations

from poseidon.kube.objects.base import KubeStruct
from poseidon.kube.objects.metadata import ObjectMeta


class PriorityClass(KubeStruct, frozen=True):
    """scheduling.k8s.io/v1 PriorityClass; at most one of a cluster is the ``global_default``."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class Namespace(KubeStruct, frozen=True):
    """core/v1 Namespace."""

    metadata: ObjectMeta = ObjectMeta()
