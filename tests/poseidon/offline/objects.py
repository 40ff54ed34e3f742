"""A small cluster as plain data."""

from __future__ import annotations

from typing import Any


def node(
    name: str, *, cpu: Any = 4, memory: Any = "8Gi", pods: Any = 110, ready: str = "True", **spec: Any
) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def pod_group(name, least, namespace="shop"):
    """A gang of at least so many pods."""
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": least},
    }


def pod(name: str, *, cpu: Any = "100m", phase: str = "Pending", metadata: Any = None, **spec: Any) -> dict:
    requests = {"cpu": cpu, "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", **(metadata or {})},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec},
        "status": {"phase": phase},
    }


def affinity(kind: str, rules: Any) -> dict:
    return {"nodeAffinity": {f"{kind}DuringSchedulingIgnoredDuringExecution": rules}}
