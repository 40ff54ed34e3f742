"""Converts documents to typed objects, checks them, and keeps each of them once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from poseidon.kube.api.decoding import MalformedObjectError, convert_object
from poseidon.kube.api.kinds import BY_NAME, CLUSTER_SCOPED, KINDS, POD, ObjectKind
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.namespaces import LimitRange, Namespace, ResourceQuota
from poseidon.kube.api.nodes import Node, PriorityClass, RuntimeClass, Service
from poseidon.kube.api.pod_groups import (
    DisruptionBudget,
)
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.workloads import CronJob, DaemonSet, Job, ReplicaWorkload
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.quarantine import Quarantine
from poseidon.manifests.documents import Document
from poseidon.manifests.left_out_objects import warn_of_objects_left_out
from poseidon.manifests.validation import DEVICE_KINDS, STORAGE_KINDS, Validator

_LISTS: dict[type[KubeStruct], str] = {
    Node: "nodes",
    Namespace: "namespaces",
    Pod: "pods",
    CronJob: "cron_jobs",
    PriorityClass: "priority_classes",
    DisruptionBudget: "budgets",
    Service: "services",
    RuntimeClass: "runtime_classes",
    LimitRange: "limit_ranges",
    ResourceQuota: "quotas",
    **dict.fromkeys(STORAGE_KINDS, "storage"),
    **dict.fromkeys(DEVICE_KINDS, "devices"),
    **{kind.struct: "for_models" for kind in KINDS if kind.left_out},
}
"""The field of ``Inventory`` that holds each type of object; all other types are workloads."""

Workload = ReplicaWorkload | DaemonSet | Job


@dataclass(slots=True)
class Inventory:
    """The objects of the input that placement needs, in order of appearance.

    Every pod gets a namespace, and ``namespace/name`` as its uid. Uids are unique within an input even if files were
    copied into it.
    """

    nodes: list[Node] = field(default_factory=list)
    """Nodes of the input."""
    namespaces: list[Namespace] = field(default_factory=list)
    """Namespaces, with their labels."""
    pods: list[Pod] = field(default_factory=list)
    """Pods that the input itself contains."""
    workloads: list[tuple[str, Workload]] = field(default_factory=list)
    """Workloads of the input, each with its kind."""
    cron_jobs: list[CronJob] = field(default_factory=list)
    """CronJobs of the input."""
    priority_classes: list[PriorityClass] = field(default_factory=list)
    """PriorityClasses of the input."""
    storage: list[KubeStruct] = field(default_factory=list)
    """Claims, volumes, storage classes and CSI objects."""
    devices: list[KubeStruct] = field(default_factory=list)
    """Devices, device classes, device claims and templates of device claims."""
    budgets: list[DisruptionBudget] = field(default_factory=list)
    """PodDisruptionBudgets of the input."""
    services: list[Service] = field(default_factory=list)
    """Services of the input."""
    runtime_classes: list[RuntimeClass] = field(default_factory=list)
    """RuntimeClasses of the input."""
    limit_ranges: list[LimitRange] = field(default_factory=list)
    """LimitRanges of the input."""
    quotas: list[ResourceQuota] = field(default_factory=list)
    """ResourceQuotas of the input."""
    for_models: list[KubeStruct] = field(default_factory=list)
    """Objects that only cost models or pod groups use."""


def take_inventory(documents: Iterable[Document], defects: list[str], warnings: list[str]) -> Inventory:
    """Convert and check every document; skip kinds that placement ignores, with a warning if they hold pods.

    Each fault adds ``file: Kind ns/name: field: what is wrong; what to do`` to ``defects``. Odd but usable objects,
    and faults of objects that only cost models use, add a line in the same form to ``warnings``.

    Objects of a live cluster never count as defects: a readable object is used as the bridge uses it, even with
    faults, and an unreadable object is left out. Both cases add a line to ``warnings``.
    """
    inventory, validator, quarantine = Inventory(), Validator(), Quarantine()
    others: list[Document] = []
    templates: list[Document] = []
    for document in documents:
        kind = BY_NAME.get((document.api_version.rpartition("/")[0], document.kind))
        if kind is None:
            others.append(document)
            continue
        found, problem = _convert(document, kind.struct)
        if document.held or kind.left_out:
            if found is not None and not found.metadata.name:
                found, problem = None, "metadata.name: missing"
            if problem:
                warnings.append(f"{identity(document)}: {problem}; the object is left out")
            elif found is not None and not kind.left_out:
                with quarantine.attempt(document.kind, identity(document)) as attempt:
                    warnings.extend(_list_oddities(document, found, [*validator.defects(found)]))
                found = None if attempt.failed else found
        else:
            faults = [f"{problem}; correct it"] if problem else []
            if found is not None:
                faults = [str(defect) for defect in validator.defects(found)]
                odd = validator.warnings(found) if not faults else ()
                warnings.extend(f"{identity(document)}: {warning}" for warning in odd)
            if faults and document.template:
                templates.append(document)
            else:
                defects.extend(f"{identity(document)}: {fault}" for fault in faults)
            found = None if faults else found
        if found is not None:
            _file(inventory, kind, found)
    warnings.extend(warn_of_objects_left_out(others, templates))
    warnings.extend(f"{name} cannot be handled, and is left out: {why}" for _, name, why in quarantine)
    return inventory


def _list_oddities(document: Document, found: KubeStruct, faults: Sequence[Defect]) -> Iterator[str]:
    """Yield a warning if an object of a live cluster has faults."""
    if not faults:
        return
    more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
    what = "the rest of it is used"
    if isinstance(found, Pod):
        what = "it counts where it runs" if found.spec.node_name else "it waits"
    yield f"{identity(document)}: {faults[0]}{more}; {what}"


def _namespace_of(kind: str, metadata: ObjectMeta) -> str:
    return "" if kind in CLUSTER_SCOPED else metadata.namespace or "default"


def _convert(document: Document, kind: type[KubeStruct]) -> tuple[Any, str]:
    """Return an object and a description of its faults; the object is None if it cannot be used."""
    try:
        return convert_object(document.value, kind), ""
    except MalformedObjectError as error:
        return None, str(error)
    except RecursionError:
        return None, "nested too deeply"


def _file(inventory: Inventory, kind: ObjectKind, found: Any) -> None:
    namespace, name = _namespace_of(kind.name, found.metadata), found.metadata.name
    struct = type(found)
    uid = found.metadata.uid
    if kind is POD or kind.left_out:
        uid = f"{namespace}/{name}"
    found = replace(found, metadata=replace(found.metadata, namespace=namespace, uid=uid))
    if struct in _LISTS:
        getattr(inventory, _LISTS[struct]).append(found)
    else:
        inventory.workloads.append((kind.name, found))


def is_read(group: str, kind: str) -> bool:
    """Return whether this program reads objects of a kind."""
    return (group, kind) in BY_NAME


def identity(document: Document) -> str:
    """Return ``file: Kind ns/name`` as far as these are known, without the file if the object comes from none."""
    metadata = document.value.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    name = given.get("name") or "(no name)"
    where = f"{document.source}: " if document.source else ""
    if document.kind in CLUSTER_SCOPED:
        return f"{where}{document.kind} {name}"
    return f"{where}{document.kind} {given.get('namespace') or 'default'}/{name}"
