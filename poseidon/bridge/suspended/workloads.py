"""Reads objects that own pods and are in a queue: whether they are suspended, and which pods they would have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from poseidon.kube.api.decoding import MalformedObjectError, convert_object
from poseidon.kube.api.metadata import ObjectMeta, ObjectRef, OwnerReference
from poseidon.kube.api.other_projects.queues import QueuedOwner
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.pods import Container, EmptyDir, HostPath, Pod, PodSpec, PodVolume
from poseidon.kube.api.resource import Resource
from poseidon.kube.api.workloads import PodTemplate
from poseidon.manifests.workloads.common.fields import Value, find, is_over, mapping
from poseidon.manifests.workloads.common.pod_sets import Known, PodSet, number_names
from poseidon.manifests.workloads.queued import resume
from poseidon.manifests.workloads.table import FAMILIES
from poseidon.pod_groups.demands import read_queued_owner_demand
from poseidon.queues.queue_names import SUSPENDABLE, read_kueue_queue

IN_SPEC, IN_POLICY = ("spec", "suspend"), ("spec", "runPolicy", "suspend")
"""Paths of the fields by which an object says whether it is suspended."""

_OF_POLICY = frozenset({"PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"})

_ADDED_BY_ADMISSION = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Keys of the tolerations that the API server adds to each pod."""

_NO_DISKS = (PodVolume(), PodVolume(empty_dir=EmptyDir()), PodVolume(host_path=HostPath()))

_NOTHING_ELSE = Known(())


@dataclass(frozen=True, slots=True)
class Workload:
    """An object that owns pods and is in a queue."""

    ref: ObjectRef
    """The reference to the object."""
    collection: str
    """The API path of the collection of the object's kind."""
    generation: int
    """``metadata.generation``, 0 if it is missing."""
    queue: str
    """The LocalQueue that the object names."""
    controller: OwnerReference | None
    """The object that manages this object, if any."""
    suspended: bool
    """Whether the object is suspended, and should have no pods now."""
    ended: bool
    """Whether the object has ended, so that its controller will create no more pods."""
    active: int
    """Number of the object's pods that its controller still counts, by its status."""
    size: int
    """Number of pods that the object would have now if it were not suspended."""
    value: Value
    """The object's fields, as a controller would read them."""

    @property
    def field(self) -> tuple[str, ...]:
        """The path of the field that says whether the object is suspended."""
        return IN_POLICY if self.ref.kind in _OF_POLICY else IN_SPEC


def read_workload(
    kind: str, resource: Resource[QueuedOwner], found: QueuedOwner, scale: ScaledOwner
) -> Workload | None:
    """Return an object that this program may resume and suspend, None if it is in no queue or of another kind.

    ``scale``: the same object with the number of its pods.
    """
    metadata = found.metadata
    queue = read_kueue_queue(metadata)
    if not queue or kind not in SUSPENDABLE:
        return None
    value: dict[str, Any] = {
        "apiVersion": api_version_of(resource),
        "kind": kind,
        "metadata": {"name": metadata.name, "namespace": metadata.namespace},
        "spec": found.spec,
        "status": found.status,
    }
    try:
        ended, active = is_over(value), find(value, "status", "active")
        suspended = resume(value) is not None
    except MalformedObjectError:
        return None
    return Workload(
        ObjectRef(value["apiVersion"], kind, metadata.uid, metadata.namespace or "default", metadata.name),
        resource.path,
        metadata.generation,
        queue,
        metadata.controller(),
        suspended,
        ended or metadata.deletion_timestamp is not None,
        active if kind == "Job" and isinstance(active, int) else 0,
        _read_size(kind, scale),
        {**value, "metadata": {**value["metadata"], "created": metadata.creation_timestamp}},
    )


def _read_size(kind: str, scale: ScaledOwner) -> int:
    """Return how many pods an object should have now.

    A Job without completions gets no more pods once one has succeeded.
    """
    if kind == "Job" and scale.spec.completions is None and scale.status.succeeded:
        return 0
    return read_queued_owner_demand(scale).size


def api_version_of(resource: Resource[Any]) -> str:
    """Return the ``apiVersion`` of the objects in a collection."""
    return resource.path.removeprefix("/apis/").rpartition("/")[0]


def expand(workload: Workload, attempt: int) -> list[Pod]:
    """Return the pods that a suspended object would have if it ran. Raises ``MalformedObjectError``.

    No such pod exists: uids and names differ from those of all other pods, and of each other ``attempt``. The returned
    pods lack what controllers and the API server add to pods, and claims that are made for each pod.
    """
    ref, metadata = workload.ref, workload.value["metadata"]
    owner = OwnerReference(ref.api_version, ref.kind, ref.name, ref.uid, controller=True)
    pods: list[Pod] = []
    for pod_set in _iter_sets(workload):
        template = convert_object(dict(pod_set.template), PodTemplate)
        labels = {**template.metadata.labels, **pod_set.marks, **pod_set.labels}
        annotations = {**template.metadata.annotations, **pod_set.annotations}
        spec = _as_expected(template.spec)
        for _ in pod_set.names:
            number = len(pods)
            made = ObjectMeta(
                name=f"{ref.name}[{number}]",
                namespace=ref.namespace,
                uid=f"{ref.uid}[{attempt}.{number}]",
                labels=labels,
                annotations=annotations,
                owner_references=(owner,),
                creation_timestamp=metadata["created"],
            )
            pods.append(Pod(metadata=made, spec=spec))
    return pods


def _iter_sets(workload: Workload) -> Iterator[PodSet]:
    kind, name = workload.ref.kind, workload.ref.name
    resumed: Mapping[str, Any] = resume(workload.value) or workload.value
    if kind == "Job":
        template = mapping(resumed, "spec", "template")
        yield PodSet(
            number_names(name, workload.size), template, (kind, name), labels=_labels_of_job(workload)
        )
        return
    family = FAMILIES[workload.ref.api_version.rpartition("/")[0], kind]
    yield from (each for each in family(resumed, _NOTHING_ELSE) if isinstance(each, PodSet))


def _labels_of_job(workload: Workload) -> dict[str, str]:
    """Return the labels that the Job controller gives to pods; rules between pods may select these labels."""
    uid, name = workload.ref.uid, workload.ref.name
    return {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }


def _complete(container: Container) -> Container:
    stated = container.resources
    requests = {**stated.limits, **stated.requests}
    return (
        container
        if requests == stated.requests
        else replace(container, resources=replace(stated, requests=requests))
    )


def _as_expected(spec: PodSpec) -> PodSpec:
    """Return the spec that pods made from a template share.

    If a container states no request for a resource, its limit is the request, as the API server completes pods. Fields
    that each pod has for itself are left out: node, gates, claims, ephemeral volumes.
    """
    return replace(
        spec,
        containers=tuple(map(_complete, spec.containers)),
        init_containers=tuple(map(_complete, spec.init_containers)),
        node_name="",
        scheduling_gates=(),
        volumes=tuple(each for each in spec.volumes if each.ephemeral is None),
        resource_claims=(),
    )


def reduce_spec(spec: PodSpec) -> PodSpec:
    """Return the part of a spec that decides where a pod may go.

    The result is equal for a pod and for its placeholder.
    """
    return replace(
        _as_expected(spec),
        scheduler_name="",
        priority=None,
        priority_class_name="",
        preemption_policy="",
        restart_policy="",
        active_deadline_seconds=None,
        runtime_class_name="",
        workload_ref=None,
        scheduling_group=None,
        tolerations=tuple(
            each
            for each in spec.tolerations
            if not (each.key in _ADDED_BY_ADMISSION and each.effect == "NoExecute")
        ),
        volumes=tuple(
            replace(each, name="")
            for each in spec.volumes
            if each.ephemeral is None and replace(each, name="") not in _NO_DISKS
        ),
    )
