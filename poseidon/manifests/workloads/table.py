"""Expands other projects' objects into the pods that their controllers would create, with a reader for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from poseidon.kube.api.decoding import MalformedObjectError, convert_object
from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.workloads import PodTemplate
from poseidon.manifests.documents import Document
from poseidon.manifests.validation import MAX_PODS, Validator
from poseidon.manifests.workloads.argo import read_rollout, read_workflow
from poseidon.manifests.workloads.common.existing_pods import PresentPods, is_leaving
from poseidon.manifests.workloads.common.fields import NotKnownError, Value, name_of, namespace_of
from poseidon.manifests.workloads.common.pod_sets import Known, PodGroupObject, PodSet
from poseidon.manifests.workloads.grove import read_pod_clique_set
from poseidon.manifests.workloads.job_sets import read_job_set, read_train_job
from poseidon.manifests.workloads.kubeflow import reader
from poseidon.manifests.workloads.kueue import read_workload
from poseidon.manifests.workloads.leader_worker_sets import read_disaggregated_set, read_leader_worker_set
from poseidon.manifests.workloads.queued import list_owners, read_metadata, replace_value, resume
from poseidon.manifests.workloads.ray import read_ray_cluster, read_ray_job, read_ray_service
from poseidon.manifests.workloads.serving import read_inference_service, read_knative_service
from poseidon.manifests.workloads.spark import read_spark_application
from poseidon.manifests.workloads.volcano import read_volcano_job
from poseidon.queues.queue_names import read_kueue_queue

Reader: TypeAlias = Callable[[Value, Known], Iterator[PodSet | PodGroupObject] | Iterator[PodSet]]

FAMILIES: Mapping[tuple[str, str], Reader] = {
    ("argoproj.io", "Rollout"): read_rollout,
    ("argoproj.io", "Workflow"): read_workflow,
    ("batch.volcano.sh", "Job"): read_volcano_job,
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): read_disaggregated_set,
    ("grove.io", "PodCliqueSet"): read_pod_clique_set,
    ("jobset.x-k8s.io", "JobSet"): read_job_set,
    ("kubeflow.org", "JAXJob"): reader("JAXJob", "jaxReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): reader("MPIJob", "mpiReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): reader("PaddleJob", "paddleReplicaSpecs"),
    ("kubeflow.org", "PyTorchJob"): reader("PyTorchJob", "pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): reader("TFJob", "tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): reader("XGBoostJob", "xgbReplicaSpecs"),
    ("kueue.x-k8s.io", "Workload"): read_workload,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): read_leader_worker_set,
    ("ray.io", "RayCluster"): read_ray_cluster,
    ("ray.io", "RayJob"): read_ray_job,
    ("ray.io", "RayService"): read_ray_service,
    ("serving.knative.dev", "Service"): read_knative_service,
    ("serving.kserve.io", "InferenceService"): read_inference_service,
    ("sparkoperator.k8s.io", "SparkApplication"): read_spark_application,
    ("trainer.kubeflow.org", "TrainJob"): read_train_job,
}
"""Readers by API group and kind.

A reader yields sets of pods. A reader raises ``MalformedObjectError`` if an object is malformed, and
``NotKnownError`` if an object outside the input describes the pods.
"""


@dataclass(slots=True)
class Families:
    """The pods that other projects' controllers would create, and the objects that describe their groups."""

    pods: list[Pod] = field(default_factory=list)
    """Pods that a controller would still create."""
    groups: list[Document] = field(default_factory=list)
    """Objects that describe groups of the missing pods."""
    owners: list[tuple[str, ScaledOwner]] = field(default_factory=list)
    """The objects with kind and number of pods.

    If the input lacks controllers between an object and its pods, the controllers are included.
    """
    suspended: list[Pod] = field(default_factory=list)
    """Pods that are created only when a queue or a user resumes their suspended object."""
    warnings: list[str] = field(default_factory=list)


def expand_families(documents: Iterable[Document]) -> Families:
    """Return the pods that controllers of other projects would create for objects in ``documents``.

    Existing pods that an object controls, directly or through another object, are not created again. Existing pods
    are matched with the object's pods by name, by labels, or else in order. A malformed object is left out with a
    warning.
    """
    every = list(documents)
    chosen = [each for each in every if _key(each) in FAMILIES]
    done = Families()
    if not chosen:
        return done
    expander = _Expander(every)
    for document in chosen:
        if is_leaving(document.value):
            continue
        try:
            made = expander.expand(document)
        except (MalformedObjectError, NotKnownError) as error:
            done.warnings.append(f"{_identity(document)}: {error}; its pods are left out")
            continue
        except RecursionError:
            done.warnings.append(f"{_identity(document)}: nested too deeply; its pods are left out")
            continue
        done.pods += made.pods
        done.groups += made.groups
        done.owners += made.owners
        with suppress(MalformedObjectError, NotKnownError):
            resumed = expander.expand_resumed(document)
            done.suspended += resumed.pods
            done.owners += resumed.owners
    return done


def _key(document: Document) -> tuple[str, str]:
    return document.api_version.rpartition("/")[0], document.kind


def _identity(document: Document) -> str:
    namespace, name = _read_name(document)
    return f"{document.source}: {document.kind} {namespace}/{name or '(no name)'}"


def _read_name(document: Document) -> tuple[str, str]:
    """Return namespace and name of an object, as far as they can be read."""
    metadata = document.value.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    return str(given.get("namespace") or "default"), str(given.get("name") or "")


class _Expander:
    def __init__(self, documents: list[Document]) -> None:
        self._known = Known(documents)
        self._validator = Validator()
        self._present = PresentPods(documents, self._known)
        self._groups = {(_key(each)[0], *_read_name(each)) for each in documents if each.kind == "PodGroup"}

    def expand_resumed(self, document: Document) -> Families:
        """Return what a queued object would lack after being resumed; nothing if it is not suspended."""
        metadata = read_metadata(document.value)
        resumed = resume(document.value)
        if resumed is None or not read_kueue_queue(metadata):
            return Families()
        return self.expand(replace_value(document, resumed))

    def expand(self, document: Document) -> Families:
        """Return the pods that an object still lacks.

        Raises ``MalformedObjectError`` and ``NotKnownError``, as the readers of ``FAMILIES`` do.
        """
        value = document.value
        namespace, name = namespace_of(value), name_of(value)
        if not name:
            raise MalformedObjectError("metadata.name", "missing")
        sets: list[PodSet] = []
        every: list[PodSet] = []
        groups: list[Document] = []
        pods_in_all = 0
        for each in FAMILIES[_key(document)](value, self._known):
            if isinstance(each, PodSet):
                pods_in_all += len(each.names)
                if pods_in_all > MAX_PODS:
                    raise MalformedObjectError("spec", f"stands for more than {MAX_PODS} pods")
                every.append(each)
                if not self._is_there(value, namespace, each):
                    sets.append(each)
                continue
            made = each.value
            if (made["apiVersion"].rpartition("/")[0], namespace, name_of(made)) not in self._groups:
                groups.append(Document(document.source, made["apiVersion"], made["kind"], made))
        missing = self._present.missing(namespace, (document.kind, name), sets)
        pods: list[Pod] = []
        for pod_set, names in zip(sets, missing, strict=True):
            pods += self._pods(document, namespace, pod_set, names)
        return Families(pods, groups, list(list_owners(document, every, self._known)))

    def _is_there(self, value: Value, namespace: str, pod_set: PodSet) -> bool:
        """Return whether the input contains the owner of a set, so that the set is expanded from that owner."""
        itself = (str(value.get("kind")), name_of(value))
        return pod_set.owner != itself and self._known.get(namespace, *pod_set.owner) is not None

    def _pods(self, document: Document, namespace: str, pod_set: PodSet, names: list[str]) -> Iterator[Pod]:
        """Yield the pods of a set with these names, without names that other pods have."""
        if not names:
            return
        template = convert_object(dict(pod_set.template), PodTemplate)
        fault = next(self._validator.pod_template_defects(template), None)
        if fault is not None:
            raise MalformedObjectError(fault.field, fault.problem)
        api_version = document.api_version if pod_set.owner[0] == document.kind else ""
        owner = OwnerReference(api_version, *pod_set.owner, controller=True)
        labels = {**template.metadata.labels, **pod_set.marks, **pod_set.labels}
        annotations = {**template.metadata.annotations, **pod_set.annotations}
        numbers = {name: number for number, name in enumerate(pod_set.names, pod_set.first_index)}
        spec = replace(template.spec, node_name="")
        for name in names:
            if (namespace, name) in self._present.names:
                continue
            self._present.names.add((namespace, name))
            index = {pod_set.index_label: str(numbers[name])} if pod_set.index_label else {}
            metadata = ObjectMeta(
                name=name,
                namespace=namespace,
                uid=f"{namespace}/{name}",
                labels={**labels, **index} if index else labels,
                annotations=annotations,
                owner_references=(owner,),
            )
            yield Pod(metadata=metadata, spec=spec)
