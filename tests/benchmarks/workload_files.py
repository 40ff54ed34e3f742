"""Workload files for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"labels": {"kubernetes.io/hostname": "$name"}},
    "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "500m"}}}]},
}


def content(*ops: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A workload of nodes and pods with these ops."""
    return {
        "kind": "Workload",
        "name": "test",
        "description": "for tests",
        "params": {"nodes": 3, "pods": 6},
        "templates": {"node": NODE, "pod": POD},
        "ops": list(ops),
        **fields,
    }


def write(folder: Path, document: Any) -> str:
    """Write a workload file; returns its path."""
    path = folder / "test.yaml"
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return str(path)


def nodes(count: int | str = "$nodes") -> dict[str, Any]:
    """The op that creates nodes."""
    return {"createNodes": {"count": count, "template": "node"}}


def pods(count: int | str = "$pods", **fields: Any) -> dict[str, Any]:
    """The op that creates pods."""
    return {"createPods": {"count": count, "template": "pod", **fields}}


def measured(*ops: dict[str, Any], name: str = "burst") -> dict[str, Any]:
    """The op that measures others."""
    return {"measure": {"name": name, "ops": list(ops)}}
