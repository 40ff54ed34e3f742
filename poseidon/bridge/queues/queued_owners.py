"""Follows objects that own pods: they may name the queue of their pods, and may be suspended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from poseidon.bridge.suspended.resumptions import Resumptions
from poseidon.bridge.suspended.workloads import api_version_of, read_workload
from poseidon.kube.api.decoding import MalformedObjectError, convert_object
from poseidon.kube.api.other_projects.queues import QueuedOwner
from poseidon.kube.api.pod_groups import OwnedPods, ScaledOwner, ScaleSpec, TemplateOutline
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.quarantine import Quarantine
from poseidon.manifests.workloads.common.fields import NotKnownError, mapping
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet
from poseidon.manifests.workloads.queued import count_pods, list_topology_sets, resume
from poseidon.manifests.workloads.table import FAMILIES

_NOTHING_ELSE = Known(())


def read_scale(kind: str, api_version: str, found: QueuedOwner) -> ScaledOwner:
    """Return an object with the number of pods that it is to have, even while it is suspended.

    The number is left out if the object alone does not state it; the object's pods are then no gang.
    """
    group = api_version.rpartition("/")[0]
    value: Mapping[str, Any] = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": found.metadata.name, "namespace": found.metadata.namespace},
        "spec": found.spec,
        "status": found.status,
    }
    pod_sets: tuple[OwnedPods, ...] = ()
    try:
        if kind == "Job":
            spec = dict(mapping(value, "spec"))
            template = _outline(spec.pop("template", None))
            scale = convert_object({"spec": spec, "status": found.status}, ScaledOwner)
            return replace(scale, metadata=found.metadata, spec=replace(scale.spec, template=template))
        value = resume(value) or value
        sets = [each for each in FAMILIES[group, kind](value, _NOTHING_ELSE) if isinstance(each, PodSet)]
        size = count_pods(kind, value, sets)
        pod_sets = list_topology_sets(sets)
    except (MalformedObjectError, NotKnownError, RecursionError):
        size = 0
    return ScaledOwner(found.metadata, ScaleSpec(replicas=size), pod_sets=pod_sets)


def _outline(template: object) -> TemplateOutline | None:
    """Return the metadata of a Job's template, None if it is malformed.

    Code that reads the whole template reports that.
    """
    try:
        return convert_object(mapping(template), TemplateOutline)
    except (MalformedObjectError, RecursionError):
        return None


def owner_changes(
    kind: str,
    resource: Resource[QueuedOwner],
    take: Callable[[Sequence[Change[Any]]], None],
    resumptions: Resumptions | None,
    quarantine: Quarantine,
) -> Callable[[Sequence[Change[QueuedOwner]]], None]:
    """Return a function that passes changed objects, with their numbers of pods, to ``take``, then ``resumptions``."""
    api_version = api_version_of(resource)

    def take_changes(changes: Sequence[Change[QueuedOwner]]) -> None:
        scales = {uid: read_scale(kind, api_version, found) for uid, found in changes if found is not None}
        take([Change(uid, scales.get(uid)) for uid, _ in changes])
        if resumptions is None:
            return
        for uid, found in changes:
            with quarantine.attempt("suspended objects", uid):
                workload = read_workload(kind, resource, found, scales[uid]) if found is not None else None
                resumptions.take_workload(uid, workload)

    return take_changes
