"""Expands workloads into those pods that their controllers would still create."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count

from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta, OwnerReference
from poseidon.kube.api.pod_groups import ScaledOwner, ScaleSpec, ScaleStatus, TemplateOutline
from poseidon.kube.api.pods import ClaimSource, Pod, PodVolume
from poseidon.kube.api.storage import PersistentVolumeClaim
from poseidon.kube.api.workloads import DaemonSet, Job, PodTemplate, ReplicaWorkload
from poseidon.manifests.controllers.daemon_sets import daemon_template, node_of, nodes_of
from poseidon.manifests.inventory import Inventory, Workload
from poseidon.queues.queue_names import read_kueue_queue

_HASH_LABEL = "pod-template-hash"

Key = tuple[str, str, str]
"""Namespace, kind and name of an object."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The pods that controllers would still create, and the claims that are created with them."""

    pods: tuple[Pod, ...]
    claims: tuple[PersistentVolumeClaim, ...] = ()
    suspended: tuple[Pod, ...] = ()
    """Pods of suspended Jobs in queues; they are created when a queue or a user resumes the Job."""


def expand(inventory: Inventory) -> Expansion:
    """Return the pods that the controllers of workloads would create.

    The pods are named NAME-0, NAME-1, …, without names that are taken; a StatefulSet's pods are named by their
    ordinals. Each pod has the labels and spec of the workload's template, and the workload as its owner. Workloads
    that are being deleted create no pods.
    """
    expander = _Expander(inventory)
    pods = tuple(expander.pods())
    return Expansion(pods, tuple(expander.claims), tuple(expander.list_suspended_pods()))


def list_scaled_owners(
    workloads: Iterable[tuple[str, ReplicaWorkload | DaemonSet | Job]],
) -> list[tuple[str, ScaledOwner]]:
    """Return each workload's kind and number of pods.

    DaemonSets are left out, because the number of their pods depends on the cluster.
    """
    owners = []
    for kind, each in workloads:
        if isinstance(each, Job):
            scale = ScaleSpec(
                parallelism=each.spec.parallelism,
                completions=each.spec.completions,
                template=_outline(each.spec.template),
            )
            owners.append((kind, ScaledOwner(each.metadata, scale, ScaleStatus(each.status.succeeded))))
        elif isinstance(each, ReplicaWorkload):
            scale = ScaleSpec(replicas=each.spec.replicas, template=_outline(each.spec.template))
            owners.append((kind, ScaledOwner(each.metadata, scale)))
    return owners


def _outline(template: PodTemplate | None) -> TemplateOutline | None:
    return TemplateOutline(template.metadata) if template is not None else None


class _Expander:
    def __init__(self, inventory: Inventory) -> None:
        self._nodes = inventory.nodes
        self._workloads = inventory.workloads
        self._owned: dict[Key, list[tuple[str, Pod]]] = defaultdict(list)
        self._taken: dict[tuple[str, str], Pod | None] = {}
        self.claims: list[PersistentVolumeClaim] = []
        self._claimed = {
            (each.metadata.namespace, each.metadata.name)
            for each in inventory.storage
            if isinstance(each, PersistentVolumeClaim)
        }
        self._replica_sets: dict[Key, list[tuple[str, ReplicaWorkload]]] = defaultdict(list)
        self._index(inventory)

    def pods(self) -> Iterator[Pod]:
        """Yield the pods that all workloads lack.

        StatefulSets come first, because the names of their pods are fixed; other pods get names that are still free.
        """
        for kind, workload in sorted(self._workloads, key=lambda each: each[0] != "StatefulSet"):
            if workload.metadata.deletion_timestamp is not None:
                continue
            if isinstance(workload, DaemonSet):
                yield from self._of_daemon_set(kind, workload)
            elif isinstance(workload, Job):
                yield from self._name_pods(
                    kind, workload, workload.spec.template, self._missing_of_job(kind, workload)
                )
            elif kind == "StatefulSet":
                yield from self._of_stateful_set(workload)
            else:
                missing = self._missing_replicas(kind, workload)
                yield from self._name_pods(kind, workload, workload.spec.template, missing)

    def list_suspended_pods(self) -> Iterator[Pod]:
        """Yield the pods that suspended Jobs in queues would create after being resumed."""
        for kind, job in self._workloads:
            if isinstance(job, Job) and job.spec.suspend and read_kueue_queue(job.metadata):
                resumed = replace(job, spec=replace(job.spec, suspend=False))
                missing = self._missing_of_job(kind, resumed)
                yield from self._name_pods(kind, job, job.spec.template, missing)

    # --- owners of pods ------------------------------------------------------------------------------------

    def _index(self, inventory: Inventory) -> None:
        for kind, workload in inventory.workloads:
            owner = workload.metadata.controller()
            if kind == "ReplicaSet" and owner and isinstance(workload, ReplicaWorkload):
                key = (workload.metadata.namespace, owner.kind, owner.name)
                self._replica_sets[key].append((owner.uid, workload))
        known = {
            (workload.metadata.namespace, kind, workload.metadata.name)
            for kind, workload in inventory.workloads
        }
        for pod in inventory.pods:
            metadata = pod.metadata
            self._taken[metadata.namespace, metadata.name] = pod
            owner = metadata.controller()
            if owner is None:
                continue
            key = (metadata.namespace, owner.kind, owner.name)
            if key not in known and owner.kind == "ReplicaSet":
                # The Deployment's ReplicaSet is not in the input. A ReplicaSet's name consists of the Deployment's
                # name and the template's hash.
                suffix = f"-{metadata.labels.get(_HASH_LABEL, '')}"
                if len(suffix) > 1 and owner.name.endswith(suffix):
                    deployment = (metadata.namespace, "Deployment", owner.name.removesuffix(suffix))
                    self._owned[deployment].append(("", pod))
            else:
                self._owned[key].append((owner.uid, pod))

    def _pods_of(self, kind: str, metadata: ObjectMeta) -> list[Pod]:
        """Return all pods of a workload; pods and workload are matched by uid if both know it, else by name."""
        found = self._owned.get((metadata.namespace, kind, metadata.name), ())
        return [pod for uid, pod in found if not uid or not metadata.uid or uid == metadata.uid]

    def _active(self, kind: str, metadata: ObjectMeta) -> int:
        """Return the number of pods that the controller counts: those that have not ended and are not being deleted."""
        return sum(_is_active(pod) for pod in self._pods_of(kind, metadata))

    # --- how many pods are missing -------------------------------------------------------------------------

    def _missing_replicas(self, kind: str, workload: ReplicaWorkload) -> int:
        metadata = workload.metadata
        provided = self._active(kind, metadata)
        if kind == "Deployment":
            for uid, owned in self._replica_sets.get((metadata.namespace, kind, metadata.name), ()):
                if not uid or not metadata.uid or uid == metadata.uid:
                    # The ReplicaSet is expanded by itself, up to its own number of replicas.
                    provided += max(owned.spec.replicas, self._active("ReplicaSet", owned.metadata))
        return workload.spec.replicas - provided

    def _replica_set_of(self, deployment: ObjectMeta) -> tuple[str, ObjectMeta]:
        """Return kind and metadata of the ReplicaSet of a Deployment's new pods.

        If the Deployment has no ReplicaSet, the result is the Deployment's own kind and metadata.
        """
        key = (deployment.namespace, "Deployment", deployment.name)
        known = [each for _, each in self._replica_sets.get(key, ())]
        if known:
            return "ReplicaSet", max(known, key=lambda each: each.spec.replicas).metadata
        for _, pod in self._owned.get(key, ()):
            owner = pod.metadata.controller()
            if owner is not None and owner.kind == "ReplicaSet":
                return owner.kind, ObjectMeta(name=owner.name, namespace=deployment.namespace, uid=owner.uid)
        return "Deployment", deployment

    def _missing_of_job(self, kind: str, job: Job) -> int:
        """Return how many pods a Job lacks: parallelism (or remaining completions, if fewer) minus active pods."""
        if job.spec.suspend or job.over:
            return 0
        pods = self._pods_of(kind, job.metadata)
        succeeded = max(job.status.succeeded, sum(pod.status.phase == "Succeeded" for pod in pods))
        wanted = 1 if job.spec.parallelism is None else job.spec.parallelism
        completions = job.spec.completions
        if completions is None and job.spec.parallelism is None:
            completions = 1
        if completions is not None:
            wanted = min(wanted, completions - succeeded)
        elif succeeded:
            return 0  # In a Job that is a work queue, no more pods start after the first success.
        return wanted - sum(_is_active(pod) for pod in pods)

    # --- creating missing pods -----------------------------------------------------------------------------

    def _name_pods(
        self, kind: str, workload: Workload, template: PodTemplate | None, missing: int
    ) -> Iterator[Pod]:
        """Yield ``missing`` pods of a workload, named by the first free numbers."""
        if template is None:
            return
        numbers = count()
        for _ in range(missing):
            yield self._pod(kind, workload.metadata, template, self._free_name(workload.metadata, numbers))

    def _free_name(self, metadata: ObjectMeta, numbers: Iterator[int]) -> str:
        while True:
            name = f"{metadata.name}-{next(numbers)}"
            if (metadata.namespace, name) not in self._taken:
                return name

    def _of_stateful_set(self, workload: ReplicaWorkload) -> Iterator[Pod]:
        """Yield a StatefulSet's missing pods; a pod that has ended is replaced, a pod that is being deleted not yet."""
        template = workload.spec.template
        if template is None:
            return
        first = workload.spec.ordinals.start
        for ordinal in range(first, first + workload.spec.replicas):
            name = f"{workload.metadata.name}-{ordinal}"
            holder = self._taken.get((workload.metadata.namespace, name))
            if holder is None or holder.terminal:
                pod = self._pod("StatefulSet", workload.metadata, template, name)
                yield self._add_claims(pod, workload.spec.volume_claim_templates)

    def _add_claims(self, pod: Pod, templates: tuple[PersistentVolumeClaim, ...]) -> Pod:
        """Return a pod with the claims TEMPLATE-POD, which replace volumes that have a template's name."""
        if not templates:
            return pod
        namespace, volumes = pod.metadata.namespace, {each.name: each for each in pod.spec.volumes}
        for template in templates:
            name = f"{template.metadata.name}-{pod.metadata.name}"
            source = ClaimSource(claim_name=name)
            volumes[template.metadata.name] = PodVolume(
                name=template.metadata.name, persistent_volume_claim=source
            )
            if (namespace, name) not in self._claimed:
                metadata = ObjectMeta(
                    name=name,
                    namespace=namespace,
                    uid=f"{namespace}/{name}",
                    labels=template.metadata.labels,
                    annotations=template.metadata.annotations,
                )
                self.claims.append(PersistentVolumeClaim(metadata=metadata, spec=template.spec))
        return replace(pod, spec=replace(pod.spec, volumes=tuple(volumes.values())))

    def _of_daemon_set(self, kind: str, workload: DaemonSet) -> Iterator[Pod]:
        """Yield a pod for each node that should run one and has none, sorted by the names of the nodes."""
        template = workload.spec.template
        if template is None:
            return
        served = {node_of(pod) for pod in self._pods_of(kind, workload.metadata) if not pod.terminal}
        numbers = count()
        for node in nodes_of(template, self._nodes):
            if node not in served:
                name = self._free_name(workload.metadata, numbers)
                yield self._pod(kind, workload.metadata, daemon_template(template, node), name)

    def _pod(self, kind: str, owner: ObjectMeta, template: PodTemplate, name: str) -> Pod:
        self._taken[owner.namespace, name] = None
        if kind == "Deployment":
            kind, owner = self._replica_set_of(owner)
        metadata = ObjectMeta(
            name=name,
            namespace=owner.namespace,
            uid=f"{owner.namespace}/{name}",
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            owner_references=(OwnerReference(kind=kind, name=owner.name, uid=owner.uid, controller=True),),
        )
        return Pod(metadata=metadata, spec=template.spec)


def _is_active(pod: Pod) -> bool:
    return not pod.terminal and pod.metadata.deletion_timestamp is None
