"""Multiplies the manifests of a small application and a few nodes into the objects of a large cluster.

The nodes of the manifests are copied in turn, and the replicas of every workload are multiplied by the same number.
Pods are created as their controllers would create them, because a simulated cluster has no controllers.
"""

from __future__ import annotations

import copy
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from poseidon.kube.api.pods import Pod
from poseidon.manifests.controllers.expansion import expand
from poseidon.manifests.defaulting import complete_documents
from poseidon.manifests.documents import Document, read_documents
from poseidon.manifests.inventory import take_inventory
from poseidon.manifests.loader import ManifestError

Object = dict[str, Any]
OwnerKey = tuple[str, str, str]
"""Namespace, kind and name of a workload."""

_REPLICATED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_WORKLOADS = (*_REPLICATED, "Job", "DaemonSet")
_HOSTNAME = "kubernetes.io/hostname"
_EXAMPLE = Path("examples", "01-online-boutique")


@dataclass(frozen=True, slots=True)
class Workload:
    """The objects to create, in the order of the fields.

    ``owners`` has the workloads by key; the owner reference of a pod has no uid yet.

    ``warnings`` are for people.
    """

    namespaces: tuple[str, ...]
    priority_classes: tuple[Object, ...]
    nodes: tuple[Object, ...]
    owners: dict[OwnerKey, Object]
    pods: tuple[Object, ...]
    warnings: tuple[str, ...]

    @property
    def shapes(self) -> int:
        """Number of different kinds of nodes, judged by what they offer."""
        return len({repr(sorted(node["status"].get("allocatable", {}).items())) for node in self.nodes})

    @property
    def zones(self) -> int:
        """Number of zones in which the nodes are."""
        labels = (node["metadata"]["labels"] for node in self.nodes)
        return len({each.get("topology.kubernetes.io/zone", "") for each in labels})


class ExampleMissingError(Exception):
    """Raised if the example was not found; the message says which folders were searched, and what to do."""


def example_paths() -> tuple[str, ...]:
    """Return the paths of the example's manifests: in the source checkout, or else in the installed package.

    Raises ``ExampleMissingError`` if the manifests are in neither of these places.
    """
    checkout = Path(__file__).resolve().parents[2] / _EXAMPLE
    installed = Path(sysconfig.get_path("data"), "share", "poseidon", _EXAMPLE)
    for folder in (checkout, installed):
        found = [folder / name for name in ("nodes.yaml", "app.yaml")]
        if all(path.is_file() for path in found):
            return tuple(map(str, found))
    raise ExampleMissingError(
        f"the example's manifests are neither in {checkout} nor in {installed}; name manifests with --manifests"
    )


def load_workload(paths: Sequence[str], *, nodes: int, pods: int, scheduler_name: str) -> Workload:
    """Read manifests and multiply them to ``nodes`` nodes and at least ``pods`` pods (0: as they are written).

    Pods that already run are left out; so are pods that a controller of the manifests would replace. Raises
    ``ManifestError`` with one line per defect; a workload without nodes or without pods to schedule is a defect, too.
    """
    warnings: list[str] = []
    documents = _read(paths, warnings)
    given = [each for each in documents if not _is_kept_out(each)]
    shapes = [each.value for each in given if each.kind == "Node"]
    if not shapes:
        raise ManifestError(["the manifests hold no Node; add one per shape that the cluster should have"])
    machines = [_node(shapes[index % len(shapes)], index // len(shapes)) for index in range(nodes)]
    rest = [each for each in given if each.kind != "Node"]
    cluster = [Document("", "v1", "Node", machine) for machine in machines]
    fixed = _count([each for each in rest if each.kind == "DaemonSet"], cluster)
    once = _count(rest, cluster) - fixed
    if not once:
        raise ManifestError(["the manifests hold no pods to schedule; add a Deployment, Job or Pod"])
    factor = max(1, -(-(pods - fixed) // once))
    scaled = [copy for each in rest for copy in _scale(each, factor)]
    inventory = take_inventory([*cluster, *scaled], [], warnings)
    owners = {_key(each): each.value for each in scaled if each.kind in _WORKLOADS}
    bodies = [_expand(pod, owners, scheduler_name) for pod in expand(inventory).pods]
    bodies += [_make_bare_pod(each.value, scheduler_name) for each in scaled if each.kind == "Pod"]
    return Workload(
        namespaces=tuple(dict.fromkeys(body["metadata"]["namespace"] for body in bodies)),
        priority_classes=tuple(each.value for each in rest if each.kind == "PriorityClass"),
        nodes=tuple(machines),
        owners=owners,
        pods=tuple(bodies),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _read(paths: Iterable[str], warnings: list[str]) -> list[Document]:
    """Return the objects of all files; raise ``ManifestError`` if they have faults."""
    defects: list[str] = []
    documents = complete_documents(read_documents(paths, defects, warnings))
    take_inventory(documents, defects, [])
    if defects:
        raise ManifestError(defects)
    # A file may state an object twice with the same contents; the object is multiplied only once.
    unique = {(each.kind, *_key(each)): each for each in documents}
    return list(unique.values())


def _is_kept_out(document: Document) -> bool:
    if document.kind != "Pod":
        return False
    metadata, spec = document.value.get("metadata") or {}, document.value.get("spec") or {}
    owned = any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())
    return owned or bool(spec.get("nodeName"))


def _count(workloads: list[Document], cluster: list[Document]) -> int:
    lone = sum(each.kind == "Pod" for each in workloads)
    return len(expand(take_inventory([*cluster, *workloads], [], [])).pods) + lone


def _scale(document: Document, factor: int) -> list[Document]:
    """Return an object with ``factor`` times its replicas, or ``factor`` copies of a pod without a controller."""
    value = copy.deepcopy(document.value)
    if document.kind in _REPLICATED:
        value["spec"]["replicas"] = value["spec"].get("replicas", 1) * factor
    elif document.kind == "Job":
        spec = value["spec"]
        spec["parallelism"] = spec.get("parallelism", 1) * factor
        if spec.get("completions") is not None:
            spec["completions"] *= factor
    elif document.kind == "Pod":
        return [_rename(document, f"{value['metadata']['name']}-{index}") for index in range(factor)]
    return [replace(document, value=value)]


def _rename(document: Document, name: str) -> Document:
    value = copy.deepcopy(document.value)
    value["metadata"]["name"] = name
    return replace(document, value=value)


def _node(shape: Object, number: int) -> Object:
    """Return the ``number``-th node, a copy of ``shape``."""
    name = f"{shape['metadata']['name']}-{number:04d}"
    labels = {**(shape["metadata"].get("labels") or {}), _HOSTNAME: name}
    metadata = {"name": name, "labels": labels}
    if annotations := shape["metadata"].get("annotations"):
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": shape.get("spec") or {},
        "status": shape.get("status") or {},
    }


def _expand(pod: Pod, owners: dict[OwnerKey, Object], scheduler_name: str) -> Object:
    """Return the JSON body of a pod; ``pod`` holds only the fields that matter to a scheduler."""
    metadata = pod.metadata
    [owner] = metadata.owner_references
    workload = owners[metadata.namespace, owner.kind, owner.name]
    spec = {**workload["spec"]["template"]["spec"], "schedulerName": scheduler_name}
    if owner.kind == "DaemonSet":
        # The DaemonSet controller writes each pod's node into the affinity, and adds tolerations.
        spec |= {
            field: msgspec.to_builtins(getattr(pod.spec, field)) for field in ("affinity", "tolerations")
        }
    reference = {
        "apiVersion": workload["apiVersion"],
        "kind": owner.kind,
        "name": owner.name,
        "controller": True,
    }
    return _body(
        {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "labels": metadata.labels,
            "annotations": metadata.annotations,
            "ownerReferences": [reference],
        },
        spec,
    )


def _make_bare_pod(value: Object, scheduler_name: str) -> Object:
    """Return the JSON body of a pod without an owner, as a file states it."""
    metadata = value["metadata"]
    kept = {field: metadata[field] for field in ("name", "labels", "annotations") if field in metadata}
    kept["namespace"] = metadata.get("namespace") or "default"
    return _body(kept, {**value["spec"], "schedulerName": scheduler_name})


def _body(metadata: Object, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _key(document: Document) -> OwnerKey:
    metadata = document.value.get("metadata") or {}
    return metadata.get("namespace") or "default", document.kind, metadata.get("name", "")
