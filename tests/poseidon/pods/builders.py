"""Short ways to write the objects that tests of the translation need."""

from __future__ import annotations

from typing import Any

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod, PodSpec


def make_pod(name: str = "p", *, namespace: str = "default", phase: str = "", **spec: Any) -> Pod:
    """Return a pod with one container unless ``containers`` are given; keywords are fields of the spec."""
    spec.setdefault("containers", [{"name": "main"}])
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return convert_object({"metadata": metadata, "spec": spec, "status": {"phase": phase}}, Pod)


def make_spec(**spec: Any) -> PodSpec:
    """Return the spec of such a pod."""
    return make_pod(**spec).spec


def requesting(
    requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **more: Any
) -> dict:
    """Return a container."""
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def make_node(name: str = "n", *, labels: dict[str, str] | None = None, **parts: Any) -> Node:
    """Return a node; keywords are ``spec`` and ``status``."""
    parts.setdefault("status", {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}})
    return convert_object({"metadata": {"name": name, "labels": labels or {}}, **parts}, Node)
