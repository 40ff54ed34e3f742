"""Groups of pods: what each asks for, and how far its pods have come."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from poseidon.group_trees.spec.groups import GroupSpec
from poseidon.group_trees.status.members import Member, admitted, member_of
from poseidon.kube.api.pods import Pod
from poseidon.kube.quarantine import Attempt, Quarantine
from poseidon.pod_groups.membership import (
    POD_GROUP,
    TOPOLOGY_GROUP,
    Membership,
    ObjectKey,
    Progress,
    is_mirror,
    membership,
    placed_since,
    progress_of,
)
from poseidon.pod_groups.sources import Demand, Described, Known, Source, Sources, places
from poseidon.pod_rules.pod_affinity import ANYWHERE, Colocation
from poseidon.pods import tasks as pod_translation
from poseidon.pods.tasks import HIGHEST, LOWEST, Task
from protos.firmament.v1 import scheduler_pb2 as pb

_GroupKey: TypeAlias = tuple[ObjectKey, str, str]


class GroupChange(NamedTuple):
    """What a group asks of the solver now, and by uid why its pods are held back ("": they are not)."""

    group: Group
    job: pb.Job
    waits: dict[str, str]


@dataclass(slots=True)
class Group:
    """A group with pods of ours. ``job`` is without what the demand says; ``owners`` are for people.

    ``first_placed``: since when the first of its pods that were seen with a node has had it, seconds since the epoch.
    ``members`` are kept of groups that may be placed by a tree; ``admitted`` those of them that have a part in it, and
    ``beyond`` the others.
    """

    member: Membership
    job: pb.Job
    owners: str
    progress: dict[str, Progress] = field(default_factory=dict)
    counts: Counter[Progress] = field(default_factory=Counter)
    first_placed: float = math.inf
    members: dict[str, Member] = field(default_factory=dict)
    admitted: frozenset[str] = frozenset()
    beyond: frozenset[str] = frozenset()

    @property
    def key(self) -> _GroupKey:
        """What tells groups apart."""
        return _key(self.member)


class Groups:
    """Groups by what pods say of themselves, whichever comes first: the pods, or the object that they name.

    Objects are told from earlier namesakes by their uids. A group of which cannot be told what it asks for goes to
    ``quarantine``.
    """

    def __init__(self, quarantine: Quarantine | None = None) -> None:
        self._quarantine = quarantine if quarantine is not None else Quarantine()
        self._sources = Sources()
        self._groups: dict[_GroupKey, Group] = {}
        self._of_source: dict[ObjectKey, dict[_GroupKey, None]] = {}
        self._of_pod: dict[str, Group] = {}
        self._of_job: dict[str, Group] = {}
        self._changed: dict[_GroupKey, None] = {}
        self._moved: dict[_GroupKey, None] = {}
        self._unsettled: set[_GroupKey] = set()

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    # --- objects -------------------------------------------------------------------------------------------

    def put_source(self, kind: str, uid: str, found: Source) -> None:
        """Take an object as it is now."""
        self._mark(self._sources.put(kind, uid, found))

    def put_described(self, namespace: str, name: str, found: Described | None) -> None:
        """Take the ConfigMap that counts for a topology group, None for none."""
        self._mark(self._sources.put_described(namespace, name, found))

    def remove_source(self, uid: str) -> None:
        """Forget an object; one that is unknown, or that a namesake has replaced, is ignored."""
        key = self._sources.remove(uid)
        if key is not None:
            self._mark(key)

    def source(self, group: Group) -> tuple[str, Known] | None:
        """Return uid and content of what describes a group, None if nothing does."""
        return self._sources.of(group.member)

    def _mark(self, key: ObjectKey) -> None:
        for place in places(key):
            for group in self._of_source.get(place, ()):
                self._changed[group] = None
                self._moved[group] = None
                self._unsettled.add(group)

    # --- pods ----------------------------------------------------------------------------------------------

    def put_pod(self, uid: str, pod: Pod) -> Group | None:
        """Take a pod of ours as it is now, whatever has become of it; return its group, None for a pod by itself."""
        member = None if is_mirror(pod) else membership(pod)
        group = self._of_pod.get(uid)
        if group is not None and (member is None or _key(member) != group.key):
            self.remove_pod(uid)
            group = None
        if member is None:
            return None
        if group is None:
            group = self._of_pod[uid] = self._group(member, pod)
        if member.share != group.member.share:
            # What the newest pod says holds: its owner's template has changed.
            group.member = member
            self._changed[group.key] = None
        if member.source.kind in (TOPOLOGY_GROUP, POD_GROUP):
            now = member_of(uid, pod)
            if group.members.get(uid) != now:
                group.members[uid] = now
                self._moved[group.key] = None
                self._unsettled.add(group.key)
        progress = progress_of(pod)
        if progress in (Progress.PLACED, Progress.RUNNING) and group.progress.get(uid) is not progress:
            group.first_placed = min(group.first_placed, placed_since(pod))
        self._count(group, uid, progress)
        return group

    def remove_pod(self, uid: str) -> None:
        """Forget a pod; unknown ones are ignored."""
        group = self._of_pod.pop(uid, None)
        if group is None:
            return
        self._count(group, uid, None)
        if group.members.pop(uid, None) is not None:
            self._moved[group.key] = None
            self._unsettled.add(group.key)
        if not group.progress:
            key = group.key
            del self._groups[key]
            if self._of_job.get(group.job.id) is group:
                # Owners in several namespaces may claim one uid.
                del self._of_job[group.job.id]
            self._changed.pop(key, None)
            self._moved.pop(key, None)
            self._unsettled.discard(key)
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

    def _settle(self, key: _GroupKey) -> None:
        """Decide which pods have a part in a group, where that matters."""
        if key not in self._unsettled:
            return
        self._unsettled.discard(key)
        group = self._groups[key]
        spec = self.topology(group)
        beyond: frozenset[str] = frozenset()
        if spec is None:
            group.admitted = beyond
        else:
            group.admitted = admitted(group.members, spec.size, group.admitted)
            beyond = frozenset(group.members.keys() - group.admitted)
        if beyond != group.beyond:
            group.beyond = beyond
            self._changed[key] = None

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
            job.disrupted_whole = demand.disrupted_whole
        return job

    def waits_for(self, group: Group) -> str:
        """Return why none of a group's pods may be placed at present, "" if they may."""
        return self._sources.waits_for(group.member)

    def demand(self, group: Group) -> Demand | None:
        """Return what a group asks for; None while its object is not known."""
        return self._sources.demand(group.member)

    def colocation(self, group: Group) -> Colocation:
        """Return what a group asks for of the domains that its pods go to."""
        demand = self.demand(group)
        if demand is None or not demand.topology_keys:
            return ANYWHERE
        return Colocation(group.job.id, demand.topology_keys)

    def topology(self, group: Group) -> GroupSpec | None:
        """Return size and rules of a group that is to be placed by a tree, None for another one."""
        return self._sources.topology(group.member)

    def members(self, group: Group) -> dict[str, Member]:
        """Return the pods that have a part in a topology group, by uid."""
        self._settle(group.key)
        return {uid: each for uid, each in group.members.items() if uid in group.admitted}

    def beyond(self, uid: str) -> str:
        """Return why a pod is more than its group needs, "" if it is not."""
        group = self._of_pod.get(uid)
        spec = self.topology(group) if group is not None else None
        if group is None or spec is None or len(group.members) <= spec.size:
            return ""
        self._settle(group.key)
        if uid in group.admitted:
            return ""
        leaving = sum(each.leaving for each in group.members.values())
        going = f", {leaving} of which are being deleted" if leaving else ""
        return f"beyond size: group {group.member.name} has its {spec.size} pods{going}"

    @property
    def has_news(self) -> bool:
        """Whether there is something to take by ``take_changes`` or ``take_moved``."""
        return bool(self._changed or self._moved or self._unsettled)

    def take_changes(self) -> list[GroupChange]:
        """Return the groups whose demand may have changed, once."""
        for key in [*self._unsettled]:
            with self._attempt(key):
                self._settle(key)
        changed, self._changed = self._changed, {}
        changes = []
        for key in changed:
            with self._attempt(key):
                changes.append(self._change(self._groups[key]))
        return changes

    def _attempt(self, key: _GroupKey) -> Attempt:
        name = self._groups[key].member.name
        return self._quarantine.attempt("groups", f"{key[0].kind} {name}", name=name)

    def _change(self, group: Group) -> GroupChange:
        waits_for = self.waits_for(group)
        waits = {uid: waits_for or self.beyond(uid) for uid in group.progress}
        return GroupChange(group, self.job(group), waits)

    def ranked(self, group: Group, task: Task) -> Task:
        """Return a task of a group with the priority by which the group stands among others.

        It is what the group states, else the task's own; only groups that are placed by a tree have one, and those of
        Kubernetes itself that state one. Whoever may write such an object may state one, so it never takes the place of
        the priority that the pod itself was given.
        """
        spec, demand = self.topology(group), self.demand(group)
        stated = demand.priority if demand is not None else None
        if spec is not None:
            stated = task.priority if spec.priority is None else spec.priority
        stated = None if stated is None else min(max(stated, LOWEST), HIGHEST)
        return task if task.group_priority == stated else replace(task, group_priority=stated)

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
