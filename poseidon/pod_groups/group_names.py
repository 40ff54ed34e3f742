"""Reads from a pod's manifest which group the pod is in, and how far it has progressed."""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

from poseidon.group_trees.spec.keys import GROUP_LABEL
from poseidon.kube.api.metadata import ObjectMeta, seconds
from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.koordinator import (
    ANNOTATIONS,
    LABELS,
    NO_TERMS,
    GangTerms,
    gang_name,
    gang_terms,
    list_bundled_gangs,
)
from poseidon.pod_groups.slices import find_slice_topology, name_slice
from poseidon.pod_groups.topology_annotations import find_role, pick_topology
from poseidon.pods.tasks import join_parts

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""Label with the name of a PodGroup in the pod's namespace (scheduler-plugins, coscheduling)."""

VOLCANO_KEYS = ("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name")
"""Annotations or labels with the name of a PodGroup of Volcano (or kube-batch) in the pod's namespace."""

VOLCANO_TASK = "volcano.sh/task-spec"
"""Annotation with the name of a pod's task in its Volcano Job."""

KAI_GROUP = "pod-group-name"
"""Annotation with the name of a PodGroup of KAI in the pod's namespace, as its pod-grouper sets it."""

KAI_SUBGROUP = "kai.scheduler/subgroup-name"
"""Label with the name of a pod's subgroup in its PodGroup of KAI."""

POD_GANG_LABEL = "grove.io/podgang"
"""Label with the name of a PodGang of Grove in the pod's namespace."""

POD_CLIQUE_LABEL = "grove.io/podclique"
"""Label with the name of a pod's PodClique, which is also the name of its group in the PodGang."""

KUEUE_GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
"""Label with the name of a pod's group in Kueue, for pods without a job."""

KUEUE_GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
"""Annotation with the number of pods of a group in Kueue."""

JOB_SET_DOMAIN = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""Annotation of a JobSet's pods: the node label whose value all pods of a Job share, and no other Job has."""

JOB_SET_BY_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
"""Annotation of a JobSet's pods whose domains are given by labels on nodes.

Pods with this label form no group of their own.
"""

LWS = "leaderworkerset.sigs.k8s.io"
"""Prefix of labels and annotations of LeaderWorkerSets' pods."""

LWS_DOMAIN, SUBGROUP_DOMAIN = f"{LWS}/exclusive-topology", f"{LWS}/subgroup-exclusive-topology"
"""Annotations of LeaderWorkerSets' pods: the node label whose value all pods of a group, or a subgroup, share."""

YUNIKORN_KEY = "yunikorn.apache.org/task-group-name"
"""Annotation with the name of a gang of YuniKorn; such gangs are not supported."""

FOREIGN_GANG_ANNOTATIONS = frozenset({*ANNOTATIONS, *VOLCANO_KEYS, VOLCANO_TASK, YUNIKORN_KEY, KAI_GROUP})
"""Annotations of pods and groups that name or describe gangs of other schedulers."""

_LABELS = frozenset({*LABELS, *VOLCANO_KEYS, POD_GANG_LABEL})
"""Labels of pods that name gangs of other schedulers."""

GANG_ANNOTATION = "firmament-gang-scheduling"
"""Annotation with the percentage of the owner's pods that are placed together, as in the original Poseidon."""

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
"""Annotation of pods that represent static pods in the API; kubelets run these from files."""

POD_GROUP = "PodGroup"
WORKLOAD = "Workload"
NATIVE_POD_GROUP = "PodGroup (scheduling.k8s.io)"
COMPOSITE_POD_GROUP = "CompositePodGroup"
"""Kind of trees of Kubernetes' own PodGroups, named by the root."""
SIGS_POD_GROUP = "PodGroup (scheduling.sigs.k8s.io)"
"""Kind of Koordinator's gangs, described by an object, or else by their pods' own annotations."""
VOLCANO_POD_GROUP = "PodGroup (scheduling.volcano.sh)"
KAI_POD_GROUP = "PodGroup (scheduling.run.ai)"
POD_GANG = "PodGang (scheduler.grove.io)"
BUNDLE = "Gangs (gang.scheduling.koordinator.sh)"
"""Kind of several gangs of Koordinator that are placed together."""
YUNIKORN = "Gang (yunikorn.apache.org)"
LEADER_WORKER_GROUP = "Group (leaderworkerset.x-k8s.io)"
"""Kind of a leader with its workers, described by their own annotations."""
DISAGGREGATED_SLICE = "Slice (disaggregatedset.x-k8s.io)"
"""Kind of a slice of a DisaggregatedSet: the pods of all its roles, described by their labels and affinity."""
KUEUE_POD_GROUP = "Pod group (kueue.x-k8s.io)"
"""Kind of Kueue's pod groups, described by their pods' own annotations."""
TOPOLOGY_GROUP = "TopologyGroup"
"""Kind of topology groups, described by a ConfigMap with the group's name in it, or by a PodGroup of this name."""

COUNTED_BY_POD = frozenset(
    {
        TOPOLOGY_GROUP,
        POD_GROUP,
        SIGS_POD_GROUP,
        VOLCANO_POD_GROUP,
        BUNDLE,
        KUEUE_POD_GROUP,
        LEADER_WORKER_GROUP,
        DISAGGREGATED_SLICE,
        COMPOSITE_POD_GROUP,
        KAI_POD_GROUP,
        POD_GANG,
    }
)
"""Kinds of groups for which each member is recorded, because a member's role or creation time may matter."""

GROUPS_BY_DOMAIN = frozenset({LEADER_WORKER_GROUP, DISAGGREGATED_SLICE})
"""Kinds of groups whose pods state themselves which domain of nodes they share."""

DESCRIBED_BY_PODS = frozenset({VOLCANO_POD_GROUP, *GROUPS_BY_DOMAIN})
"""Kinds of groups whose requirements depend on what all their pods state."""


class ObjectKey(NamedTuple):
    """An object that describes a group; ``kind`` is one of the constants above, or the kind of an owner."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Membership(NamedTuple):
    """The group that a pod is in."""

    source: ObjectKey
    """The object that describes the group."""
    part: str = ""
    """Name of the group within the object, "" if the object describes one group."""
    copy: str = ""
    """Key that distinguishes replicas of the part, "" for none."""
    share: str = ""
    """Text of the annotation ``firmament-gang-scheduling``, if that defines the group."""
    gangs: tuple[str, ...] = ()
    """Gangs that are placed together, () for a single gang."""
    whole: bool = False
    """Whether all pods that an owner wants are placed together, because the owner names a queue."""
    domain: str = ""
    """Key of the node label whose value all pods of an owner share, "" for none."""

    @property
    def sources(self) -> tuple[ObjectKey, ...]:
        """The objects that describe the group."""
        if not self.gangs:
            return (self.source,)
        return tuple(ObjectKey(SIGS_POD_GROUP, *each.split("/", 1)) for each in self.gangs)

    @property
    def job(self) -> str:
        """The ID of the group's job.

        "" for a share of an owner's pods, because the owner's job has an ID of its own.
        """
        if self.share:
            return ""
        source = self.source
        parts = [source.kind, source.namespace, source.name, self.part, self.copy]
        while not parts[-1]:
            parts.pop()
        what, _, group = source.kind.partition(" (")
        if group:
            parts[:1] = group.rstrip(")"), what
        return join_parts(*parts)

    @property
    def name(self) -> str:
        """The group's name for people: ``namespace/name``, with part and copy if the group has them."""
        parts = (self.source.namespace, self.source.name, self.part, self.copy)
        return "/".join(part for part in parts if part)


class DomainTerms(NamedTuple):
    """The annotations of a LeaderWorkerSet's pod about its group, as text.

    ``size``: number of pods; ``domain``: node label whose value all pods share; ``subgroup_size`` and
    ``subgroup_domain``: the same for each subgroup; ``policy``: whether the leader is in a subgroup.
    """

    size: str = ""
    domain: str = ""
    subgroup_size: str = ""
    subgroup_domain: str = ""
    policy: str = ""


class MemberPart(NamedTuple):
    """What a pod states about its group: its ``role`` ("" for none), and requirements of the group.

    ``terms`` are those of a gang, ``domains`` those of a LeaderWorkerSet's group. For a pod in a tree, ``inside`` is
    the parent of its group ("" for the root), and ``task`` its Volcano task. ``topology`` are the annotations about
    topology of a pod in a pod group of Kueue.
    """

    role: str = ""
    terms: GangTerms = NO_TERMS
    domains: DomainTerms = DomainTerms()
    inside: str = ""
    task: str = ""
    topology: tuple[tuple[str, str], ...] = ()


NO_PART = MemberPart()


def part_in(pod: Pod, member: Membership) -> MemberPart:
    """Return what a pod states about its group, by its labels and annotations."""
    kind = member.source.kind
    if kind == COMPOSITE_POD_GROUP and pod.spec.scheduling_group is not None:
        return MemberPart(pod.spec.scheduling_group.pod_group_name)
    if kind in (KAI_POD_GROUP, POD_GANG):
        return MemberPart(
            pod.metadata.labels.get(KAI_SUBGROUP if kind == KAI_POD_GROUP else POD_CLIQUE_LABEL, "")
        )
    if kind == VOLCANO_POD_GROUP:
        return MemberPart(pod.metadata.annotations.get(VOLCANO_TASK, ""))
    if kind in (SIGS_POD_GROUP, BUNDLE):
        own = f"{pod.metadata.namespace or 'default'}/{gang_name(pod.metadata)}"
        return MemberPart(own, gang_terms(pod.metadata))
    if kind == KUEUE_POD_GROUP:
        count = pod.metadata.annotations.get(KUEUE_GROUP_SIZE, "")
        terms = GangTerms(least=count or '""', least_key=f"annotation {KUEUE_GROUP_SIZE}")
        return MemberPart(terms=terms, topology=tuple(pick_topology(pod.metadata.annotations).items()))
    return MemberPart(find_role(pod.metadata.labels)) if member.whole else NO_PART


def kueue_group(pod: Pod) -> Membership | None:
    """Return the pod group of Kueue that a pod names, None for none."""
    name = pod.metadata.labels.get(KUEUE_GROUP_LABEL, "")
    return Membership(ObjectKey(KUEUE_POD_GROUP, pod.metadata.namespace or "default", name)) if name else None


def gang_key(pod: Pod) -> ObjectKey:
    """Return the key of the PodGroup of a pod's Koordinator gang; the PodGroup may not exist."""
    return ObjectKey(SIGS_POD_GROUP, pod.metadata.namespace or "default", gang_name(pod.metadata))


def make_bundle(gangs: tuple[str, ...]) -> Membership:
    """Return the group of several gangs (``namespace/name``, sorted) that are placed together."""
    namespace = gangs[0].partition("/")[0]
    names = "+".join(each.removeprefix(f"{namespace}/") for each in gangs)
    return Membership(ObjectKey(BUNDLE, namespace, names), gangs=gangs)


def is_mirror(pod: Pod) -> bool:
    """Return whether a pod in the API represents a static pod, which only its kubelet starts and stops."""
    return MIRROR_ANNOTATION in pod.metadata.annotations and bool(pod.spec.node_name)


def find_membership(pod: Pod) -> Membership | None:
    """Return the group that a pod names, None for none.

    Kubernetes' own references take precedence, then labels, then annotations. The annotation of the original Poseidon,
    a percentage of the owner's pods, is ignored on a pod without controller.
    """
    metadata, spec = pod.metadata, pod.spec
    namespace = metadata.namespace or "default"
    group, reference = spec.scheduling_group, spec.workload_ref
    if group is not None and group.pod_group_name:
        return Membership(ObjectKey(NATIVE_POD_GROUP, namespace, group.pod_group_name))
    if reference is not None and reference.name:
        key = ObjectKey(WORKLOAD, namespace, reference.name)
        return Membership(key, reference.pod_group, reference.pod_group_replica_key)
    for kind, label in ((TOPOLOGY_GROUP, GROUP_LABEL), (POD_GROUP, POD_GROUP_LABEL)):
        name = metadata.labels.get(label, "")
        if name:
            return Membership(ObjectKey(kind, namespace, name))
    if not (
        _LABELS.isdisjoint(metadata.labels) and FOREIGN_GANG_ANNOTATIONS.isdisjoint(metadata.annotations)
    ):
        return _of_others(metadata, namespace) or _share(metadata, namespace)
    return _share(metadata, namespace)


def _share(metadata: ObjectMeta, namespace: str) -> Membership | None:
    share = metadata.annotations.get(GANG_ANNOTATION)
    owner = metadata.controller() if share is not None else None
    if share is None or owner is None:
        return None
    return Membership(ObjectKey(owner.kind, namespace, owner.name), share=share or '""')


def find_domain_group(pod: Pod) -> Membership | None:
    """Return the group with which a pod shares a domain of nodes, None for none."""
    metadata = pod.metadata
    namespace, annotations, labels = metadata.namespace or "default", metadata.annotations, metadata.labels
    domain, owner = annotations.get(JOB_SET_DOMAIN, ""), metadata.controller()
    if domain and owner is not None and owner.kind == "Job" and JOB_SET_BY_SELECTOR not in annotations:
        return Membership(ObjectKey("Job", namespace, owner.name), domain=domain)
    name, index = labels.get(f"{LWS}/name", ""), labels.get(f"{LWS}/group-index", "")
    if not (name and index):
        return None
    if find_slice_topology(pod):
        return Membership(ObjectKey(DISAGGREGATED_SLICE, namespace, name_slice(pod)))
    if not (annotations.get(LWS_DOMAIN) or annotations.get(SUBGROUP_DOMAIN)):
        return None
    return Membership(ObjectKey(LEADER_WORKER_GROUP, namespace, f"{name}-{index}"))


def _of_others(metadata: ObjectMeta, namespace: str) -> Membership | None:
    """Return the group that a pod names by labels or annotations of Koordinator, Volcano, Grove, KAI or YuniKorn."""
    labels, annotations = metadata.labels, metadata.annotations
    name = gang_name(metadata)
    if name:
        gangs, _ = list_bundled_gangs(gang_terms(metadata), f"{namespace}/{name}")
        return make_bundle(gangs) if gangs else Membership(ObjectKey(SIGS_POD_GROUP, namespace, name))
    for key in VOLCANO_KEYS:
        name = annotations.get(key) or labels.get(key, "")
        if name:
            return Membership(ObjectKey(VOLCANO_POD_GROUP, namespace, name))
    for kind, name in (
        (POD_GANG, labels.get(POD_GANG_LABEL, "")),
        (KAI_POD_GROUP, annotations.get(KAI_GROUP, "")),
    ):
        if name:
            return Membership(ObjectKey(kind, namespace, name))
    name = annotations.get(YUNIKORN_KEY, "")
    return Membership(ObjectKey(YUNIKORN, namespace, name)) if name else None


class Progress(Enum):
    """The stages that a pod of a group can be in."""

    WAITING = "waiting"  # has no node
    PLACED = "placed"  # has a node, but does not run yet
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


def get_placement_time(pod: Pod) -> float:
    """Return when a pod got its node, in seconds since the epoch; infinite if its status does not state it."""
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "True":
        return math.inf
    since = seconds(condition.last_transition_time)
    return math.inf if since is None else since


def progress_of(pod: Pod) -> Progress:
    """Return the stage that a pod of a group is in."""
    phase = pod.status.phase
    if phase in ("Succeeded", "Failed"):
        return Progress.SUCCEEDED if phase == "Succeeded" else Progress.FAILED
    if not pod.spec.node_name:
        return Progress.WAITING
    return Progress.RUNNING if phase == "Running" else Progress.PLACED
