"""Manifests as plain data."""

from __future__ import annotations

from typing import Any

_VERSIONS = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1"}


def owner(kind: str, name: str, uid: str = "") -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


def pod(name: str, *, owners: Any = None, labels: Any = None, phase: str = "Running", **spec: Any) -> dict:
    spec.setdefault("containers", [{"name": "c"}])
    metadata = {"name": name, "namespace": "shop", "ownerReferences": owners or [], "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def node(name: str, *, labels: Any = None, **spec: Any) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": 110}},
    }


def workload(
    kind: str, name: str, *, metadata: Any = None, status: Any = None, template: Any = None, **spec: Any
) -> dict:
    return {
        "apiVersion": _VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", **(metadata or {})},
        "spec": {
            "template": {
                "metadata": {"labels": {"app": name}, "creationTimestamp": None},
                "spec": {"containers": [{"name": "c"}], **(template or {})},
            },
            **spec,
        },
        "status": status or {},
    }
