"""The objects that describe groups, and what each says of the groups in it: how many pods go together, and how long
they may take to be whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.groups import GroupSpec, read_pod_group
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.api.collections import GROUP_MAP_LABEL
from poseidon.kube.api.pod_groups import GroupPolicy, NativePodGroup, PodGroup, ScaledOwner, Workload
from poseidon.kube.parsing.defects import shortened
from poseidon.kube.parsing.label_syntax import key_fault
from poseidon.pod_groups.membership import POD_GROUP, TOPOLOGY_GROUP, Membership, ObjectKey
from poseidon.pods.tasks import qualified_name

MAX_MEMBERS = 2**31 - 1
MAX_SECONDS = 2**31 - 1
"""The largest numbers that the objects' fields hold."""

_ALL = ("PodGroup", "All", "all")
"""The ``spec.disruptionMode`` of groups that are disrupted as a whole, as text or as the key of a union."""

_PERCENT = re.compile(r"(\d{1,9})%?", re.ASCII)

Source: TypeAlias = PodGroup | Workload | NativePodGroup | ScaledOwner
Described: TypeAlias = DescribedMap[GroupSpec]
Known: TypeAlias = Source | Described
"""What describes a group: an object, or the ConfigMap that counts for it."""

OWNER_KINDS = frozenset({"ReplicaSet", "StatefulSet", "Job", "Deployment"})
"""Owners of whose size a share can be taken. A Deployment's pods name it themselves in offline commands only."""


@dataclass(frozen=True, slots=True)
class Demand:
    """``min_members`` 0 or 1: no gang. ``seconds`` 0: as configured. ``size``: pods it is to have, 0: not known.

    ``topology_keys``: labels of nodes, of each of which all pods are to have one value; ``disrupted_whole``: whoever
    evicts one of its pods evicts all; ``priority``: where it stands among groups, None where it does not say.
    ``problem``: why the object's text makes no sense, in words for people; nothing of the group is placed then.
    ``ignored``: what the object asks for beside this and does not get, "" for nothing.
    """

    min_members: int = 0
    seconds: float = 0.0
    size: int = 0
    problem: str = ""
    ignored: str = ""
    topology_keys: tuple[str, ...] = ()
    disrupted_whole: bool = False
    priority: int | None = None


def of_pod_group(found: PodGroup) -> Demand:
    """Read a PodGroup of scheduler-plugins."""
    spec = found.spec
    problem = _count_problem("spec.minMember", spec.min_member)
    seconds = spec.schedule_timeout_seconds
    if not problem and seconds is not None and not 0 <= seconds <= MAX_SECONDS:
        what = "is negative" if seconds < 0 else "is out of range"
        problem = f"spec.scheduleTimeoutSeconds: {seconds} {what}; give 1 or more, or leave it out"
    if not problem:
        problem = "; ".join(map(str, read_pod_group(found).defects))
    return (
        Demand(spec.min_member, float(seconds or 0), problem=problem)
        if not problem
        else Demand(problem=problem)
    )


def of_described(found: DescribedMap[GroupSpec]) -> Demand:
    """Read the ConfigMap of a topology group: what it says, or said last without faults."""
    if found.spec is None:
        return Demand(problem=found.problem)
    return Demand(found.spec.size, size=found.spec.size)


def of_workload(found: Workload, part: str) -> Demand:
    """Read one group of a Workload."""
    for index, group in enumerate(found.spec.pod_groups):
        if group.name == part:
            return _of_policy(group.policy, f"spec.podGroups[{index}].policy")
    return Demand(
        problem=f"spec.podGroups: has no group {part!r}; correct spec.workloadRef.podGroup of the pods"
    )


def of_native_pod_group(found: NativePodGroup) -> Demand:
    """Read a PodGroup of Kubernetes itself."""
    demand = _of_policy(found.spec.scheduling_policy, "spec.schedulingPolicy")
    keys = tuple([each.key for each in found.spec.scheduling_constraints.topology])
    faults = (
        f"spec.schedulingConstraints.topology[{index}].key: {fault}"
        for index, key in enumerate(keys)
        if (fault := key_fault(key))
    )
    problem = demand.problem or "; ".join(faults)
    if problem:
        return Demand(problem=problem)
    return replace(
        demand,
        ignored=ignored_by_native(found),
        topology_keys=keys,
        disrupted_whole=_is_disrupted_whole(found.spec.disruption_mode),
        priority=found.spec.priority,
    )


def ignored_by_native(found: NativePodGroup) -> str:
    """Return what a PodGroup of Kubernetes itself asks for and does not get, in words for people, "" for nothing."""
    if found.spec.scheduling_policy.gang is None and _is_disrupted_whole(found.spec.disruption_mode):
        return (
            "spec.disruptionMode is honoured for gangs alone: each pod may be evicted by itself; "
            "give spec.schedulingPolicy.gang"
        )
    return ""


def _is_disrupted_whole(mode: object) -> bool:
    """Whether a ``spec.disruptionMode`` says so: a text until v1alpha2, ``all: {}`` from v1alpha3 on."""
    return (
        mode in _ALL if isinstance(mode, str) else isinstance(mode, dict) and not mode.keys().isdisjoint(_ALL)
    )


def of_owner(found: ScaledOwner, share: str) -> Demand:
    """Read the annotation on the pods of an owner: a share of the pods that it is to have at present."""
    percent, problem = _percent(share)
    if problem:
        return Demand(problem=problem)
    size = _size(found)
    return Demand(percent * size // 100, size=size)


def share_problem(member: Membership) -> str:
    """Return what is wrong with a pod's annotation, whatever its owner says, or ""."""
    return _percent(member.share)[1] if member.share else ""


def _of_policy(policy: GroupPolicy, path: str) -> Demand:
    if policy.gang is None:
        return Demand()
    problem = _count_problem(f"{path}.gang.minCount", policy.gang.min_count)
    return Demand(problem=problem) if problem else Demand(policy.gang.min_count)


def _count_problem(field: str, count: int) -> str:
    if 1 <= count <= MAX_MEMBERS:
        return ""
    return f"{field}: {count} is out of range; give how many pods are to be placed together, at least 1"


def _percent(share: str) -> tuple[int, str]:
    found = _PERCENT.fullmatch(share.strip())
    if found is None or int(found.group(1)) > 100:
        shown = share if share == '""' else shortened(repr(share))
        problem = f"annotation firmament-gang-scheduling: {shown} is no share in percent; give 0 to 100"
        return 0, problem
    return int(found.group(1)), ""


def _size(found: ScaledOwner) -> int:
    """Return how many pods an owner is to have now. A Job's pods that have succeeded are not replaced."""
    spec = found.spec
    if spec.replicas is not None:
        return _bounded(spec.replicas)
    size = 1 if spec.parallelism is None else _bounded(spec.parallelism)
    if spec.completions is not None:
        size = min(size, _bounded(spec.completions - found.status.succeeded))
    return size


def _bounded(count: int) -> int:
    """Return a count as the objects' fields hold it."""
    return min(max(count, 0), MAX_MEMBERS)


class _Entry(NamedTuple):
    """An object; ``spec`` is what it says of a group that is placed by a tree, as far as it does."""

    uid: str
    found: Known
    spec: GroupSpec | None = None


class Sources:
    """Objects by name; those of now are told from earlier namesakes by their uids."""

    def __init__(self) -> None:
        self._entries: dict[ObjectKey, _Entry] = {}
        self._keys: dict[str, ObjectKey] = {}

    def put(self, kind: str, uid: str, found: Source) -> ObjectKey:
        """Take an object as it is now; returns its key."""
        key = ObjectKey(kind, found.metadata.namespace or "default", found.metadata.name)
        spec = None
        if isinstance(found, PodGroup) and not of_pod_group(found).problem:
            spec = read_pod_group(found).spec
        self._keys[uid] = key
        self._entries[key] = _Entry(uid, found, spec)
        return key

    def put_described(self, namespace: str, name: str, found: Described | None) -> ObjectKey:
        """Take the ConfigMap that counts for a topology group, None for none; returns the group's key."""
        key = ObjectKey(TOPOLOGY_GROUP, namespace, name)
        if found is not None:
            self._entries[key] = _Entry(found.uid, found, found.spec)
        else:
            self._entries.pop(key, None)
        return key

    def remove(self, uid: str) -> ObjectKey | None:
        """Forget an object; returns its key, None if it is unknown or a namesake has replaced it."""
        key = self._keys.pop(uid, None)
        if key is None or key not in self._entries or self._entries[key].uid != uid:
            return None
        del self._entries[key]
        return key

    def of(self, member: Membership) -> tuple[str, Known] | None:
        """Return uid and content of what describes a group, None if nothing does."""
        entry = self._entry(member)
        return (entry.uid, entry.found) if entry is not None else None

    def _entry(self, member: Membership) -> _Entry | None:
        found = (self._entries.get(place) for place in places(member.source))
        return next((entry for entry in found if entry is not None), None)

    def topology(self, member: Membership) -> GroupSpec | None:
        """Return size and rules of a group that is to be placed by a tree, None for another one."""
        entry = self._entry(member)
        if entry is None or not isinstance(entry.found, PodGroup):
            return entry.spec if entry is not None else None
        # A PodGroup without rules is an ordinary gang, unless its pods say otherwise.
        named = member.source.kind == TOPOLOGY_GROUP
        return entry.spec if named or CONSTRAINTS_ANNOTATION in entry.found.metadata.annotations else None

    def demand(self, member: Membership) -> Demand | None:
        """Return what a group asks for; None while nothing describes it."""
        entry = self._entry(member)
        if entry is None:
            return None
        found = entry.found
        if isinstance(found, DescribedMap):
            return of_described(found)
        if isinstance(found, PodGroup):
            return of_pod_group(found)
        if isinstance(found, Workload):
            return of_workload(found, member.part)
        if isinstance(found, NativePodGroup):
            return of_native_pod_group(found)
        return of_owner(found, member.share)

    def waits_for(self, member: Membership) -> str:
        """Return why none of a group's pods may be placed at present, "" if they may."""
        problem = share_problem(member)
        if problem:
            return problem
        if member.share and member.source.kind not in OWNER_KINDS:
            return (
                f"annotation firmament-gang-scheduling: the size of a {member.source.kind} is not known here; "
                "use a PodGroup"
            )
        demand = self.demand(member)
        if demand is None:
            return _missing(member.source)
        return f"{self._name(member)}: {demand.problem}" if demand.problem else ""

    def _name(self, member: Membership) -> str:
        entry = self._entry(member)
        if entry is not None and isinstance(entry.found, DescribedMap):
            return f"ConfigMap {qualified_name(entry.found.found.metadata)}"
        if entry is not None and isinstance(entry.found, PodGroup):
            return str(member.source._replace(kind=POD_GROUP))
        return str(member.source)


def places(key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return where a group may be described, first what counts first.

    A topology group may be described by a PodGroup of its name, and the other way round: a ConfigMap wins.
    """
    if key.kind not in (TOPOLOGY_GROUP, POD_GROUP):
        return (key,)
    return key._replace(kind=TOPOLOGY_GROUP), key._replace(kind=POD_GROUP)


def _missing(source: ObjectKey) -> str:
    if source.kind != TOPOLOGY_GROUP:
        return f"waits for {source}, which does not exist"
    return (
        f"waits for the group {source.namespace}/{source.name}: no ConfigMap in namespace {source.namespace} with the "
        f"label {GROUP_MAP_LABEL} describes it, nor does a PodGroup of this name"
    )
