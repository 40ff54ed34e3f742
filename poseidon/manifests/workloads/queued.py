"""Reads queued objects of other projects: how many pods are admitted together, and the object after being resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from poseidon.kube.api.decoding import MetadataOnly, convert_object
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pod_groups import OwnedPods, ScaledOwner, ScaleSpec
from poseidon.manifests.documents import Document
from poseidon.manifests.workloads.common.fields import Value, find, mapping, number
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, Reference
from poseidon.pod_groups.topology_annotations import find_role, pick_topology
from poseidon.queues.queue_names import GROUP_INDEX


def read_metadata(value: Value) -> ObjectMeta:
    """Return an object's metadata; raise ``MalformedObjectError`` if they are malformed."""
    return convert_object({"metadata": value.get("metadata")}, MetadataOnly).metadata


def replace_value(document: Document, value: Value) -> Document:
    """Return a copy of a document with other content."""
    return replace(document, value=dict(value))


def resume(value: Value) -> Value | None:
    """Return an object as it is after being resumed, or None if it is not suspended."""
    spec = mapping(value, "spec")
    policy = mapping(spec, "runPolicy")
    if spec.get("suspend") is not True and policy.get("suspend") is not True:
        return None
    changed = {**spec, "suspend": False}
    if policy:
        changed["runPolicy"] = {**policy, "suspend": False}
    status = mapping(value, "status")
    if status.get("jobDeploymentStatus") == "Suspended":  # With this status, a RayJob counts as ended.
        status = {key: each for key, each in status.items() if key != "jobDeploymentStatus"}
    return {**value, "spec": changed, "status": status}


def count_pods(kind: str, value: Value, sets: Iterable[PodSet]) -> int:
    """Return how many pods of an object its queue admits together."""
    if kind == "LeaderWorkerSet":  # Each of the object's pod groups is admitted separately.
        return number(value, "spec", "leaderWorkerTemplate", "size", default=1)
    return sum(len(each.names) for each in sets)


def list_topology_sets(sets: Iterable[PodSet]) -> tuple[OwnedPods, ...]:
    """Return the pod sets of an object with their annotations about topology, or () if there are none.

    A LeaderWorkerSet gives only its first group, because each group is admitted separately.
    """
    counts: dict[str, int] = {}
    stated: dict[str, dict[str, str]] = {}
    for each in sets:
        if each.marks.get(GROUP_INDEX, "0") != "0":
            continue
        role = find_role(each.marks)
        counts[role] = counts.get(role, 0) + len(each.names)
        annotations = find(each.template, "metadata", "annotations")
        given = annotations if isinstance(annotations, Mapping) else {}
        picked = pick_topology({str(key): str(value) for key, value in given.items()})
        stated.setdefault(role, picked)
    if not any(stated.values()):
        return ()
    return tuple(OwnedPods(role, count, stated[role]) for role, count in counts.items() if count)


def list_owners(
    document: Document, sets: Iterable[PodSet], known: Known
) -> Iterator[tuple[str, ScaledOwner]]:
    """Yield an object with its number of pods, and the controllers between it and its pods that the input lacks."""
    listed, metadata = list(sets), read_metadata(document.value)
    namespace, kind = metadata.namespace or "default", document.kind
    size = count_pods(kind, document.value, listed)
    yield kind, ScaledOwner(metadata, ScaleSpec(replicas=size), pod_sets=list_topology_sets(listed))
    reference = OwnerReference(document.api_version, kind, metadata.name, metadata.uid, controller=True)
    pods = Counter[Reference]()
    for each in listed:
        pods[each.owner] += len(each.names)
    for between, count in pods.items():
        if between != (kind, metadata.name) and known.get(namespace, *between) is None:
            made = ObjectMeta(name=between[1], namespace=namespace, owner_references=(reference,))
            yield between[0], ScaledOwner(made, ScaleSpec(replicas=count))
