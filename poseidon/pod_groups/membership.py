"""Which group a pod is in, by what its own manifest says, and how far it has come."""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

from poseidon.group_trees.spec.keys import GROUP_LABEL
from poseidon.kube.api.metadata import seconds
from poseidon.kube.api.pods import Pod
from poseidon.pods.tasks import identity

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""Label with the name of a PodGroup in the pod's namespace (scheduler-plugins, coscheduling)."""

GANG_ANNOTATION = "firmament-gang-scheduling"
"""Annotation with the share of its owner's pods, in percent, that are placed together, as in the original."""

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
"""On pods that stand in the API for static pods, which kubelets run out of files."""

POD_GROUP = "PodGroup"
WORKLOAD = "Workload"
NATIVE_POD_GROUP = "PodGroup (scheduling.k8s.io)"
TOPOLOGY_GROUP = "TopologyGroup"
"""Described by a ConfigMap with this group's name in it, or else by a PodGroup of this name."""


class ObjectKey(NamedTuple):
    """An object that says how many pods go together; ``kind`` as above, or that of an owner."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Membership(NamedTuple):
    """A pod's place in a group: ``source`` is the object that says what the group asks for.

    ``part`` names the group within the source ("": it is one group), ``copy`` tells replicas of the part from one
    another. ``share`` is the text of the annotation where that makes the group.
    """

    source: ObjectKey
    part: str = ""
    copy: str = ""
    share: str = ""

    @property
    def job(self) -> str:
        """The id of the group's job; "" where the group is the pod's owner, which has an id of its own."""
        if self.share:
            return ""
        source = self.source
        parts = [source.kind, source.namespace, source.name, self.part, self.copy]
        while not parts[-1]:
            parts.pop()
        if source.kind == NATIVE_POD_GROUP:
            parts[:1] = "scheduling.k8s.io", "PodGroup"
        return identity(*parts)

    @property
    def name(self) -> str:
        """What people call the group: ``namespace/name``, with part and copy where there are some."""
        parts = (self.source.namespace, self.source.name, self.part, self.copy)
        return "/".join(part for part in parts if part)


def is_mirror(pod: Pod) -> bool:
    """Whether a pod stands in the API for a static one: only its kubelet places it, or lets it go."""
    return MIRROR_ANNOTATION in pod.metadata.annotations and bool(pod.spec.node_name)


def membership(pod: Pod) -> Membership | None:
    """Return the group that a pod says it is in, None for a pod by itself.

    Kubernetes' own references come first, then the labels, then the annotation. An annotation on a pod without a
    controller means nothing: there is nothing that it could be a share of.
    """
    metadata, spec = pod.metadata, pod.spec
    namespace = metadata.namespace or "default"
    group, reference = spec.scheduling_group, spec.workload_ref
    if group is not None and group.pod_group_name:
        return Membership(ObjectKey(NATIVE_POD_GROUP, namespace, group.pod_group_name))
    if reference is not None and reference.name:
        key = ObjectKey(WORKLOAD, namespace, reference.name)
        return Membership(key, reference.pod_group, reference.pod_group_replica_key)
    name = metadata.labels.get(GROUP_LABEL, "")
    if name:
        return Membership(ObjectKey(TOPOLOGY_GROUP, namespace, name))
    name = metadata.labels.get(POD_GROUP_LABEL, "")
    if name:
        return Membership(ObjectKey(POD_GROUP, namespace, name))
    share = metadata.annotations.get(GANG_ANNOTATION)
    owner = metadata.controller() if share is not None else None
    if share is None or owner is None:
        return None
    return Membership(ObjectKey(owner.kind, namespace, owner.name), share=share or '""')


class Progress(Enum):
    """How far a member has come."""

    WAITING = "waiting"  # has no node
    PLACED = "placed"  # has a node, does not run yet
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


def placed_since(pod: Pod) -> float:
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
