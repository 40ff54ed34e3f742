"""Small objects of the API as structs, and a store that is told of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.ui.cluster.records import PodEntry
from poseidon.ui.cluster.store import ClusterStore
from poseidon.ui.page_data import About, Capabilities, Known, SolverStatus
from poseidon.ui.versions import Versions

NOW = 1_800_000_000.0
GI = 2**30


class Wall:
    """A clock that is set."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def make_node(
    name: str,
    labels: dict[str, str] | None = None,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "10",
    taints: list[dict[str, str]] | None = None,
    unschedulable: bool = False,
    ready: str = "True",
    **allocatable: Any,
) -> Node:
    raw = {
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels or {}},
        "spec": {"unschedulable": unschedulable, "taints": taints or []},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **allocatable},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }
    return msgspec.convert(raw, Node)


def make_pod(
    name: str,
    *,
    uid: str = "",
    node: str = "",
    cpu: str = "1",
    memory: str = "1Gi",
    created: float = NOW - 100,
    since: float | None = None,
    reason: str = "",
    owner: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    conditions: list[dict[str, Any]] | None = None,
    deleted: float | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    namespace, _, own = name.rpartition("/")
    found = list(conditions or [])
    if node:
        at = stamp(created if since is None else since)
        found.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": at})
    elif reason:
        found.append(
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": reason}
        )
    metadata: dict[str, Any] = {
        "name": own,
        "namespace": namespace or "default",
        "uid": uid or f"uid-{name}",
        "creationTimestamp": stamp(created),
        "labels": labels or {},
        "annotations": annotations or {},
    }
    if owner:
        metadata["ownerReferences"] = [
            {"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
        ]
    if deleted is not None:
        metadata["deletionTimestamp"] = stamp(deleted)
    raw = {
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "schedulerName": "poseidon",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}],
            **spec,
        },
        "status": {"phase": "Running" if node else "Pending", "conditions": found, **(status or {})},
    }
    return msgspec.convert(raw, Pod)


def store(*objects: Node | Pod, wall: Wall | None = None, live: bool = False) -> ClusterStore:
    """Return a store that knows objects."""
    made = ClusterStore(Versions(), wall or Wall())
    tell(made, *objects)
    made.live = live
    return made


def tell(found: ClusterStore, *objects: Node | Pod) -> None:
    found.nodes_changed([Change(each.metadata.uid, each) for each in objects if isinstance(each, Node)])
    found.pods_changed([Change(each.metadata.uid, each) for each in objects if isinstance(each, Pod)])


def gone(found: ClusterStore, *uids: str) -> None:
    found.pods_changed([Change(uid, None) for uid in uids])


def record(found: ClusterStore, name: str) -> PodEntry:
    """Return a pod that is known."""
    one = found.pod(name)
    assert one is not None
    return one


def known(found: ClusterStore | None = None, **capabilities: bool) -> Known:
    """Return what is known of a store, with all capabilities unless told otherwise."""
    all_of_them = dict.fromkeys(("figures", "flow", "cluster", "pending", "explain", "cures", "groups"), True)
    made = found if found is not None else store()
    about = About("live", "https://api", "demo", Capabilities(**(all_of_them | capabilities)))
    return Known(about, made, made._versions, SolverStatus("connected", "127.0.0.1:9090"))
