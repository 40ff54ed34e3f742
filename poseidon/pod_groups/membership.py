"""Reads from a pod's manifest which group it is in, and how far the pod has progressed."""

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
from poseidon.pods.tasks import identity

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""Label with the name of a PodGroup in the pod's namespace (scheduler-plugins, coscheduling)."""

VOLCANO_KEYS = ("scheduling.volcano.sh/group-name", "scheduling.k8s.io/group-name")
"""Annotations, or labels, with the name of a PodGroup of Volcano, or of kube-batch, in the pod's namespace."""

VOLCANO_TASK = "volcano.sh/task-spec"
"""Annotation with the task of a Volcano Job that a pod is of."""

KAI_GROUP = "pod-group-name"
"""Annotation with the name of a PodGroup of KAI in the pod's namespace, as its pod-grouper sets it."""

KAI_SUBGROUP = "kai.scheduler/subgroup-name"
"""Label with the name of a pod's group in it."""

POD_GANG_LABEL = "grove.io/podgang"
"""Label with the name of a PodGang of Grove in the pod's namespace."""

POD_CLIQUE_LABEL = "grove.io/podclique"
"""Label with the name of a pod's PodClique, which is that of its group in the PodGang."""

KUEUE_GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
"""Label with the name of a pod's group, as Kueue has it for pods without a job."""

KUEUE_GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
"""Annotation with the number of pods of such a group."""

JOB_SET_DOMAIN = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""Annotation of a JobSet's pods: the label of which the pods of each Job share a value, and those of no other Job."""

JOB_SET_BY_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
"""Annotation of pods whose Jobs got their domains from somebody who labelled nodes."""

LWS = "leaderworkerset.sigs.k8s.io"
"""Prefix of what is said on the pods of LeaderWorkerSets."""

LWS_DOMAIN, SUBGROUP_DOMAIN = f"{LWS}/exclusive-topology", f"{LWS}/subgroup-exclusive-topology"
"""Annotations of theirs: the labels of which the pods of each group, or of each subgroup, share a value."""

YUNIKORN_KEY = "yunikorn.apache.org/task-group-name"
"""Annotation with the name of a gang in the form of YuniKorn, which is not understood here."""

FOREIGN_GANG_ANNOTATIONS = frozenset({*ANNOTATIONS, *VOLCANO_KEYS, VOLCANO_TASK, YUNIKORN_KEY, KAI_GROUP})
"""Annotations of pods and groups by which gangs of other schedulers are described."""

_LABELS = frozenset({*LABELS, *VOLCANO_KEYS, POD_GANG_LABEL})
"""Labels of pods that do so."""

GANG_ANNOTATION = "firmament-gang-scheduling"
"""Annotation with the share of its owner's pods, in percent, that are placed together, as in the original."""

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
"""On pods that stand in the API for static pods, which kubelets run out of files."""

POD_GROUP = "PodGroup"
WORKLOAD = "Workload"
NATIVE_POD_GROUP = "PodGroup (scheduling.k8s.io)"
COMPOSITE_POD_GROUP = "CompositePodGroup"
"""A tree of PodGroups of Kubernetes, by its root."""
SIGS_POD_GROUP = "PodGroup (scheduling.sigs.k8s.io)"
"""Described by an object, or else by its pods' own annotations."""
VOLCANO_POD_GROUP = "PodGroup (scheduling.volcano.sh)"
KAI_POD_GROUP = "PodGroup (scheduling.run.ai)"
POD_GANG = "PodGang (scheduler.grove.io)"
BUNDLE = "Gangs (gang.scheduling.koordinator.sh)"
"""Several gangs that go together; its parts are the gangs."""
YUNIKORN = "Gang (yunikorn.apache.org)"
LEADER_WORKER_GROUP = "Group (leaderworkerset.x-k8s.io)"
"""A leader with its workers, described by their own annotations."""
KUEUE_POD_GROUP = "Pod group (kueue.x-k8s.io)"
"""Described by its pods' own annotations."""
TOPOLOGY_GROUP = "TopologyGroup"
"""Described by a ConfigMap with this group's name in it, or else by a PodGroup of this name."""

COUNTED_BY_POD = frozenset(
    {
        TOPOLOGY_GROUP,
        POD_GROUP,
        SIGS_POD_GROUP,
        VOLCANO_POD_GROUP,
        BUNDLE,
        KUEUE_POD_GROUP,
        LEADER_WORKER_GROUP,
        COMPOSITE_POD_GROUP,
        KAI_POD_GROUP,
        POD_GANG,
    }
)
"""Kinds of groups in which the single members may matter."""

DESCRIBED_BY_PODS = frozenset({VOLCANO_POD_GROUP, LEADER_WORKER_GROUP})
"""Kinds of groups in which the parts of all pods say what the whole asks for."""


class ObjectKey(NamedTuple):
    """An object that says how many pods go together; ``kind`` as above, or that of an owner."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Membership(NamedTuple):
    """A pod's place in a group."""

    source: ObjectKey
    """The object that describes the group."""
    part: str = ""
    """Name of the group within the source, "" where the source is one group."""
    copy: str = ""
    """What tells replicas of the part apart."""
    share: str = ""
    """Text of the annotation, if that makes the group."""
    gangs: tuple[str, ...] = ()
    """Gangs that are placed together, if they are several."""
    whole: bool = False
    """Whether all pods that an owner is to have go together, because the owner as such is in a queue."""
    domain: str = ""
    """Label of nodes of which all pods of an owner share a value."""

    @property
    def sources(self) -> tuple[ObjectKey, ...]:
        """The objects that say what the group asks for."""
        if not self.gangs:
            return (self.source,)
        return tuple(ObjectKey(SIGS_POD_GROUP, *each.split("/", 1)) for each in self.gangs)

    @property
    def job(self) -> str:
        """The id of the group's job; "" where the group is the pod's owner, which has an id of its own."""
        if self.share:
            return ""
        source = self.source
        parts = [source.kind, source.namespace, source.name, self.part, self.copy]
        while not parts[-1]:
            parts.pop()
        what, _, group = source.kind.partition(" (")
        if group:
            parts[:1] = group.rstrip(")"), what
        return identity(*parts)

    @property
    def name(self) -> str:
        """What people call the group: ``namespace/name``, with part and copy where there are some."""
        parts = (self.source.namespace, self.source.name, self.part, self.copy)
        return "/".join(part for part in parts if part)


class DomainTerms(NamedTuple):
    """What a pod of a LeaderWorkerSet states of its group, as text: ``size``, its pods; ``domain``, the label of nodes
    of which all of them share a value; the same of the subgroups in it; and ``policy``, whether its leader is in one.
    """

    size: str = ""
    domain: str = ""
    subgroup_size: str = ""
    subgroup_domain: str = ""
    policy: str = ""


class MemberPart(NamedTuple):
    """A pod's part in its group: its ``role`` ("" for none), and what it states about the gang or its domains.

    Of a pod in a tree ``inside`` is the group that its group is in ("" for the root), and ``task`` its task there.
    """

    role: str = ""
    terms: GangTerms = NO_TERMS
    domains: DomainTerms = DomainTerms()
    inside: str = ""
    task: str = ""


NO_PART = MemberPart()


def part_in(pod: Pod, member: Membership) -> MemberPart:
    """Return what a pod says of its part in its group."""
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
        return MemberPart(terms=GangTerms(least=count or '""', least_key=f"annotation {KUEUE_GROUP_SIZE}"))
    return NO_PART


def kueue_group(pod: Pod) -> Membership | None:
    """Return the pod group of Kueue that a pod says it is in, None for none."""
    name = pod.metadata.labels.get(KUEUE_GROUP_LABEL, "")
    return Membership(ObjectKey(KUEUE_POD_GROUP, pod.metadata.namespace or "default", name)) if name else None


def gang_key(pod: Pod) -> ObjectKey:
    """Return what describes a pod's gang of Koordinator."""
    return ObjectKey(SIGS_POD_GROUP, pod.metadata.namespace or "default", gang_name(pod.metadata))


def bundle(gangs: tuple[str, ...]) -> Membership:
    """Return the group that several gangs (``namespace/name``, sorted) make together."""
    namespace = gangs[0].partition("/")[0]
    names = "+".join(each.removeprefix(f"{namespace}/") for each in gangs)
    return Membership(ObjectKey(BUNDLE, namespace, names), gangs=gangs)


def is_mirror(pod: Pod) -> bool:
    """Return whether a pod in the API represents a static one, which only its kubelet starts and stops."""
    return MIRROR_ANNOTATION in pod.metadata.annotations and bool(pod.spec.node_name)


def membership(pod: Pod) -> Membership | None:
    """Return the group that a pod says it is in, None for a pod by itself.

    Kubernetes' own references come first, then the labels, then annotations. The original's annotation on a pod without
    a controller means nothing: there is nothing that it could be a share of.
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
    """Return the group with which a pod goes to one domain, None for none."""
    metadata = pod.metadata
    namespace, annotations, labels = metadata.namespace or "default", metadata.annotations, metadata.labels
    domain, owner = annotations.get(JOB_SET_DOMAIN, ""), metadata.controller()
    if domain and owner is not None and owner.kind == "Job" and JOB_SET_BY_SELECTOR not in annotations:
        return Membership(ObjectKey("Job", namespace, owner.name), domain=domain)
    if not (annotations.get(LWS_DOMAIN) or annotations.get(SUBGROUP_DOMAIN)):
        return None
    name, index = labels.get(f"{LWS}/name", ""), labels.get(f"{LWS}/group-index", "")
    if not (name and index):
        return None
    return Membership(ObjectKey(LEADER_WORKER_GROUP, namespace, f"{name}-{index}"))


def _of_others(metadata: ObjectMeta, namespace: str) -> Membership | None:
    """Return the group that a pod says it is in, in the form of another scheduler than scheduler-plugins."""
    labels, annotations = metadata.labels, metadata.annotations
    name = gang_name(metadata)
    if name:
        gangs, _ = list_bundled_gangs(gang_terms(metadata), f"{namespace}/{name}")
        return bundle(gangs) if gangs else Membership(ObjectKey(SIGS_POD_GROUP, namespace, name))
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
    """How far a member has come."""

    WAITING = "waiting"  # has no node
    PLACED = "placed"  # has a node, does not run yet
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


def get_placement_time(pod: Pod) -> float:
    """Return since when a pod has had its node, in seconds since the epoch; infinite if it does not say."""
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "True":
        return math.inf
    since = seconds(condition.last_transition_time)
    return math.inf if since is None else since


def progress_of(pod: Pod) -> Progress:
    """Return how far a pod has come."""
    phase = pod.status.phase
    if phase in ("Succeeded", "Failed"):
        return Progress.SUCCEEDED if phase == "Succeeded" else Progress.FAILED
    if not pod.spec.node_name:
        return Progress.WAITING
    return Progress.RUNNING if phase == "Running" else Progress.PLACED
