"""Defines a group of pods: its requirements, what its pods state about it, and how far each pod has progressed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from poseidon.group_trees.status.members import Member
from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.demands import Demand
from poseidon.pod_groups.group_names import MemberPart, Membership, ObjectKey, Progress
from poseidon.pod_groups.roles import ChosenPods
from poseidon.pod_groups.scheduler_names import WaitingMembers
from poseidon.pods import tasks as pod_translation
from protos.firmament.v1 import scheduler_pb2 as pb

GroupKey: TypeAlias = tuple[ObjectKey, str, str]
"""Identity of a group: the object that describes it, and the part and copy within that object."""


@dataclass(slots=True)
class Group:
    """A group with pods that this scheduler places."""

    member: Membership
    """The identity of the group, as its pods state it."""
    job: pb.Job
    """The group's job for the solver, without the numbers that it demands."""
    owners: str
    """Names of its pods' owners, for people."""
    progress: dict[str, Progress] = field(default_factory=dict)
    """Progress of the group's pods, by uid."""
    counts: Counter[Progress] = field(default_factory=Counter)
    """Number of pods by progress."""
    first_placed: float = math.inf
    """The time when the group's first pod got a node, in seconds since the epoch."""
    members: dict[str, Member] = field(default_factory=dict)
    """The group's members by uid, if it may be a topology group or its pods have roles."""
    admitted: frozenset[str] = frozenset()
    """Uids of the members that have a part in a topology group."""
    beyond: frozenset[str] = frozenset()
    """Uids of surplus members: more than the group needs now."""
    parts: dict[str, MemberPart] = field(default_factory=dict)
    """The parts of its pods in the group, by uid."""
    stated: Counter[MemberPart] = field(default_factory=Counter)
    """Number of pods by part."""
    chosen: ChosenPods = field(default_factory=ChosenPods)
    """The members that are sent to the solver, if the group's pods have roles."""
    schedulers: WaitingMembers = field(default_factory=WaitingMembers)
    """The group's waiting pods, with the schedulers that they name."""
    demand_without_pods: Demand | None = None
    """The requirements that the group's object alone states.

    None if these requirements must be read, as after a change of the object.
    """
    in_topology: tuple[object, Demand] | None = None
    """The requirements including topology, and the data from which they were read; None if they must be read."""
    demand: Demand | None = None
    """The requirements, if these depend on the group's pods; None if they must be read, as after a pod's change."""

    @property
    def key(self) -> GroupKey:
        """Identity of a group: the object that describes it, and the part and copy within that object."""
        return group_key(self.member)


def group_key(member: Membership) -> GroupKey:
    """Return the identity of a group."""
    return member.source, member.part, member.copy


def new_group(member: Membership, pod: Pod) -> Group:
    """Return a new group for its first known pod."""
    return Group(member, _plain_job(member, pod), _owners(pod))


def _plain_job(member: Membership, pod: Pod) -> pb.Job:
    """Return the job of a group without its demand."""
    owned = pod_translation.job(pod.metadata) if member.share else None
    if owned is not None:
        return owned
    source = member.source
    name = "/".join(
        part
        for part in (source.namespace, source.kind.split()[0], source.name, member.part, member.copy)
        if part
    )
    return pb.Job(id=member.job, name=name, namespace=source.namespace)


def _owners(pod: Pod) -> str:
    """Return a pod's owners as the coscheduling plugin writes them into a PodGroup."""
    namespace = pod.metadata.namespace or "default"
    return ",".join(sorted(f"{namespace}/{owner.name}" for owner in pod.metadata.owner_references))
