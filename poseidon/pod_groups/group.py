"""A group of pods: what its pods say of it, and how far each has come."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from poseidon.group_trees.status.members import Member
from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.demands import Demand
from poseidon.pod_groups.membership import MemberPart, Membership, ObjectKey, Progress
from poseidon.pod_groups.roles import Offered
from poseidon.pod_groups.scheduler_names import WaitingMembers
from poseidon.pods import tasks as pod_translation
from protos.firmament.v1 import scheduler_pb2 as pb

GroupKey: TypeAlias = tuple[ObjectKey, str, str]
"""What tells groups apart."""


@dataclass(slots=True)
class Group:
    """A group with pods that this scheduler places."""

    member: Membership
    """Which group it is."""
    job: pb.Job
    """Its job for the solver, without its demand."""
    owners: str
    """Its owners, for people."""
    progress: dict[str, Progress] = field(default_factory=dict)
    """Progress of its pods, by uid."""
    counts: Counter[Progress] = field(default_factory=Counter)
    """Number of pods by progress."""
    first_placed: float = math.inf
    """When the first of its pods got its node, in seconds since the epoch."""
    members: dict[str, Member] = field(default_factory=dict)
    """Its members by uid, if it may be placed on a tree or its pods have roles."""
    admitted: frozenset[str] = frozenset()
    """Members with a place in the tree's group."""
    beyond: frozenset[str] = frozenset()
    """The other members."""
    parts: dict[str, MemberPart] = field(default_factory=dict)
    """What pods say about their parts, by uid."""
    stated: Counter[MemberPart] = field(default_factory=Counter)
    """Number of pods by such statement."""
    offered: Offered = field(default_factory=Offered)
    """Members that the solver gets, if its pods have roles."""
    schedulers: WaitingMembers = field(default_factory=WaitingMembers)
    """Its waiting pods, and the schedulers that they are for."""
    outline: Demand | None = None
    """What it asks for, as far as its object alone says it, once that has been read; None once that changes."""
    demand: Demand | None = None
    """What it asks for, if that depends on all of its pods and has been found out; None once one of these changes."""

    @property
    def key(self) -> GroupKey:
        """What tells groups apart."""
        return group_key(self.member)


def group_key(member: Membership) -> GroupKey:
    """Return what tells a group from others."""
    return member.source, member.part, member.copy


def new_group(member: Membership, pod: Pod) -> Group:
    """Return a group for a pod about whose group nothing else is known."""
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
