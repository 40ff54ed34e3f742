"""Groups of pods: what each asks for, and how far its pods have come."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from poseidon.batch import demands
from poseidon.batch.demands import Demand
from poseidon.batch.membership import Membership, ObjectKey, membership
from poseidon.kube.batch_objects import NativePodGroup, PodGroup, ScaledOwner, Workload
from poseidon.translate import pod as pod_translation
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poseidon.kube.objects import Pod

Source: TypeAlias = PodGroup | Workload | NativePodGroup | ScaledOwner

OWNER_KINDS = frozenset({"ReplicaSet", "StatefulSet", "Job", "Deployment"})
"""Owners of whose size a share can be taken. A Deployment's pods name it themselves in offline commands only."""

_GroupKey: TypeAlias = tuple[ObjectKey, str, str]


class Progress(Enum):
    """How far a member has come."""

    WAITING = "waiting"  # has no node
    PLACED = "placed"  # has a node, does not run yet
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class GroupChange(NamedTuple):
    """What a group asks of the solver now, and why its pods are held back ("": they are not)."""

    job: pb.Job
    waits_for: str
    members: tuple[str, ...]


@dataclass(slots=True)
class Group:
    """A group with pods of ours. ``job`` is without what the demand says; ``owners`` are for people."""

    member: Membership
    job: pb.Job
    owners: str
    progress: dict[str, Progress] = field(default_factory=dict)
    counts: Counter[Progress] = field(default_factory=Counter)

    @property
    def key(self) -> _GroupKey:
        """What tells groups apart."""
        return _key(self.member)


class Groups:
    """Groups by what pods say of themselves, whichever comes first: the pods, or the object that they name.

    Objects are told from earlier namesakes by their uids.
    """

    def __init__(self) -> None:
        self._sources: dict[ObjectKey, tuple[str, Source]] = {}
        self._source_keys: dict[str, ObjectKey] = {}
        self._groups: dict[_GroupKey, Group] = {}
        self._of_source: dict[ObjectKey, dict[_GroupKey, None]] = {}
        self._of_pod: dict[str, Group] = {}
        self._of_job: dict[str, Group] = {}
        self._changed: dict[_GroupKey, None] = {}
        self._moved: dict[_GroupKey, None] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    # --- objects -------------------------------------------------------------------------------------------

    def put_source(self, kind: str, uid: str, found: Source) -> None:
        """Take an object as it is now."""
        key = ObjectKey(kind, found.metadata.namespace or "default", found.metadata.name)
        self._source_keys[uid] = key
        self._sources[key] = (uid, found)
        self._mark(key)

    def remove_source(self, uid: str) -> None:
        """Forget an object; one that is unknown, or that a namesake has replaced, is ignored."""
        key = self._source_keys.pop(uid, None)
        if key is not None and self._sources[key][0] == uid:
            del self._sources[key]
            self._mark(key)

    def source(self, key: ObjectKey) -> tuple[str, Source] | None:
        """Return uid and content of an object, None if there is none."""
        return self._sources.get(key)

    def _mark(self, key: ObjectKey) -> None:
        for group in self._of_source.get(key, ()):
            self._changed[group] = None
            self._moved[group] = None

    # --- pods ----------------------------------------------------------------------------------------------

    def put_pod(self, uid: str, pod: Pod) -> None:
        """Take a pod of ours as it is now, in a group or not."""
        member = membership(pod)
        group = self._of_pod.get(uid)
        if group is not None and (member is None or _key(member) != group.key):
            self.remove_pod(uid)
            group = None
        if member is None:
            return
        if group is None:
            group = self._of_pod[uid] = self._group(member, pod)
        if member.share != group.member.share:
            # What the newest pod says holds: its owner's template has changed.
            group.member = member
            self._changed[group.key] = None
        self._count(group, uid, _progress(pod))

    def remove_pod(self, uid: str) -> None:
        """Forget a pod; unknown ones are ignored."""
        group = self._of_pod.pop(uid, None)
        if group is None:
            return
        self._count(group, uid, None)
        if not group.progress:
            key = group.key
            del self._groups[key]
            del self._of_job[group.job.id]
            self._changed.pop(key, None)
            self._moved.pop(key, None)
            self._of_source[key[0]].pop(key, None)
            if not self._of_source[key[0]]:
                del self._of_source[key[0]]

    def group_of(self, uid: str) -> Group | None:
        """Return the group of a pod, None for a pod by itself."""
        return self._of_pod.get(uid)

    def of_job(self, job: str) -> Group | None:
        """Return the group with this job, if it is one."""
        return self._of_job.get(job)

    def _group(self, member: Membership, pod: Pod) -> Group:
        key = _key(member)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(member, _plain_job(member, pod), _owners(pod))
            self._of_job[group.job.id] = group
            self._of_source.setdefault(member.source, {})[key] = None
            self._changed[key] = None
        return group

    def _count(self, group: Group, uid: str, now: Progress | None) -> None:
        before = group.progress.pop(uid, None)
        if now is not None:
            group.progress[uid] = now
        if before is now:
            return
        for progress, step in ((before, -1), (now, 1)):
            if progress is not None:
                group.counts[progress] += step
        self._moved[group.key] = None
        if Progress.SUCCEEDED in (before, now):
            self._changed[group.key] = None

    # --- what follows --------------------------------------------------------------------------------------

    def job(self, group: Group) -> pb.Job:
        """Return a group's job. Pods that have succeeded need no place any more, so fewer others make it whole."""
        job = pb.Job()
        job.CopyFrom(group.job)
        demand = self.demand(group)
        if demand is not None and not demand.problem:
            done = 0 if group.member.share else group.counts[Progress.SUCCEEDED]
            job.min_members = max(demand.min_members - done, 0)
            job.gang_seconds = demand.seconds
            job.size = demand.size
        return job

    def waits_for(self, group: Group) -> str:
        """Return why none of a group's pods may be placed at present, "" if they may."""
        member = group.member
        problem = demands.share_problem(member)
        if problem:
            return problem
        if member.share and member.source.kind not in OWNER_KINDS:
            return (
                f"annotation firmament-gang-scheduling: the size of a {member.source.kind} is not known here; "
                "use a PodGroup"
            )
        demand = self.demand(group)
        if demand is None:
            return f"waits for {member.source}, which does not exist"
        return f"{member.source}: {demand.problem}" if demand.problem else ""

    def demand(self, group: Group) -> Demand | None:
        """Return what a group asks for; None while its object is not known."""
        known = self._sources.get(group.member.source)
        if known is None:
            return None
        found = known[1]
        if isinstance(found, PodGroup):
            return demands.of_pod_group(found)
        if isinstance(found, Workload):
            return demands.of_workload(found, group.member.part)
        if isinstance(found, NativePodGroup):
            return demands.of_native_pod_group(found)
        return demands.of_owner(found, group.member.share)

    def take_changes(self) -> list[GroupChange]:
        """Return the groups whose demand may have changed, once."""
        changed, self._changed = self._changed, {}
        groups = (self._groups[key] for key in changed)
        return [GroupChange(self.job(each), self.waits_for(each), tuple(each.progress)) for each in groups]

    def take_moved(self) -> list[Group]:
        """Return the groups whose pods have come further, or whose object has changed, once."""
        moved, self._moved = self._moved, {}
        return [self._groups[key] for key in moved]


def _key(member: Membership) -> _GroupKey:
    return member.source, member.part, member.copy


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


def _progress(pod: Pod) -> Progress:
    phase = pod.status.phase
    if phase in ("Succeeded", "Failed"):
        return Progress.SUCCEEDED if phase == "Succeeded" else Progress.FAILED
    if not pod.spec.node_name:
        return Progress.WAITING
    return Progress.RUNNING if phase == "Running" else Progress.PLACED
