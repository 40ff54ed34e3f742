"""Keeps the objects that describe groups, by name, and reads from each what its groups require."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.groups import GroupSpec, read_pod_group
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.api.collections import GROUP_MAP_LABEL
from poseidon.kube.api.other_projects.hyper_nodes import NO_TIERS
from poseidon.kube.api.other_projects.scheduler_groups import KaiPodGroup, PodGang
from poseidon.kube.api.pod_groups import (
    CompositePodGroup,
    NativePodGroup,
    PodGroup,
    ScaledOwner,
    SigsPodGroup,
    VolcanoPodGroup,
    Workload,
)
from poseidon.pod_groups.composites import CompositeTrees
from poseidon.pod_groups.demands import (
    Demand,
    Described,
    Known,
    Source,
    combine_demands,
    read_annotated_demand,
    read_described_demand,
    read_native_group_demand,
    read_owner_demand,
    read_pod_group_demand,
    read_queued_owner_demand,
    read_sigs_group_demand,
    read_tree_demand,
    read_workload_demand,
    share_problem,
)
from poseidon.pod_groups.group_names import (
    BUNDLE,
    COMPOSITE_POD_GROUP,
    GROUPS_BY_DOMAIN,
    KUEUE_POD_GROUP,
    NATIVE_POD_GROUP,
    POD_GROUP,
    SIGS_POD_GROUP,
    TOPOLOGY_GROUP,
    YUNIKORN,
    YUNIKORN_KEY,
    MemberPart,
    Membership,
    ObjectKey,
    make_bundle,
)
from poseidon.pod_groups.koordinator import gang_terms, list_bundled_gangs
from poseidon.pod_groups.readers.exclusive_topology import (
    read_demand_by_domain,
    read_exclusive_job_demand,
)
from poseidon.pod_groups.readers.scheduler_trees import read_kai_group_demand, read_pod_gang_demand
from poseidon.pod_groups.readers.volcano import read_volcano_group_demand
from poseidon.pods.tasks import get_qualified_name

OWNER_KINDS = frozenset({"ReplicaSet", "StatefulSet", "Job", "Deployment"})
"""Kinds of owners whose number of pods is known. Only in offline commands do Deployments own pods directly."""

_READERS: tuple[tuple[type[Any], Callable[[Any], Demand]], ...] = (
    (DescribedMap, read_described_demand),
    (PodGroup, read_pod_group_demand),
    (NativePodGroup, read_native_group_demand),
    (SigsPodGroup, read_sigs_group_demand),
    (KaiPodGroup, read_kai_group_demand),
    (PodGang, read_pod_gang_demand),
)


class _Entry(NamedTuple):
    """An object that describes groups; ``spec``: size and rules of a topology group, None if the object states none."""

    uid: str
    found: Known
    spec: GroupSpec | None = None


class Sources:
    """Objects that describe groups, by name; uids distinguish them from earlier objects of the same name."""

    def __init__(self) -> None:
        self._entries: dict[ObjectKey, _Entry] = {}
        self._keys: dict[str, ObjectKey] = {}
        self._trees = CompositeTrees()
        self._of_trees: dict[ObjectKey, Demand] = {}
        self.tiers = NO_TIERS
        """The tiers of HyperNodes, by which topologies of Volcano's groups are read."""

    def put(self, kind: str, uid: str, found: Source) -> ObjectKey:
        """Add or update an object; return its key."""
        key = ObjectKey(kind, found.metadata.namespace or "default", found.metadata.name)
        spec = None
        if isinstance(found, PodGroup) and not read_pod_group_demand(found).problem:
            spec = read_pod_group(found).spec
        self._keys[uid] = key
        self._entries[key] = _Entry(uid, found, spec)
        if isinstance(found, NativePodGroup | CompositePodGroup) and not self._trees.holds(key, found):
            self._of_trees.pop(self._trees.find_root(key), None)
            self._trees.put(key, found)
            self._of_trees.pop(self._trees.find_root(key), None)
        return key

    def says_the_same(self, kind: str, uid: str, found: Source) -> bool:
        """Return whether an object is Kubernetes' own group and is known with the same uid, spec and rules.

        Only the object's status has then changed, which does not matter to groups. In large trees thousands of
        statuses are written.
        """
        if not isinstance(found, NativePodGroup | CompositePodGroup):
            return False
        key = ObjectKey(kind, found.metadata.namespace or "default", found.metadata.name)
        return self._keys.get(uid) == key and self._trees.holds(key, found)

    def put_described(self, namespace: str, name: str, found: Described | None) -> ObjectKey:
        """Set the ConfigMap that describes a topology group (None: no ConfigMap does); return the group's key."""
        key = ObjectKey(TOPOLOGY_GROUP, namespace, name)
        if found is not None:
            self._entries[key] = _Entry(found.uid, found, found.spec)
        else:
            self._entries.pop(key, None)
        return key

    def find_key(self, uid: str) -> ObjectKey | None:
        """Return the key of an object, None if it is unknown."""
        return self._keys.get(uid)

    def remove(self, uid: str) -> ObjectKey | None:
        """Remove an object; return its key, None if the object is unknown or a newer object has its name."""
        key = self._keys.pop(uid, None)
        if key is None or key not in self._entries or self._entries[key].uid != uid:
            return None
        del self._entries[key]
        if key.kind in (NATIVE_POD_GROUP, COMPOSITE_POD_GROUP):
            self._of_trees.pop(self._trees.find_root(key), None)
            self._trees.remove(key)
            self._of_trees.pop(key, None)
        return key

    def find(self, member: Membership) -> tuple[str, Known] | None:
        """Return uid and content of the object that describes a group, None if there is none."""
        entry = self._entry(member)
        return (entry.uid, entry.found) if entry is not None else None

    def list_objects(self, member: Membership) -> list[tuple[str, Known]]:
        """Return uid and content of the objects that describe a group; for a tree, of all groups in it."""
        if member.source.kind != COMPOSITE_POD_GROUP:
            known = self.find(member)
            return [known] if known is not None else []
        found = (self._entries.get(key) for key in self._trees.walk(member.source))
        return [(entry.uid, entry.found) for entry in found if entry is not None]

    def _entry(self, member: Membership) -> _Entry | None:
        found = (self._entries.get(place) for place in places(member.source))
        return next((entry for entry in found if entry is not None), None)

    def topology(self, member: Membership) -> GroupSpec | None:
        """Return size and rules of a topology group, None for any other group."""
        entry = self._entry(member)
        if entry is None or not isinstance(entry.found, PodGroup):
            return entry.spec if entry is not None else None
        # A PodGroup without rules is an ordinary gang, unless its pods have the label of a topology group.
        named = member.source.kind == TOPOLOGY_GROUP
        return entry.spec if named or CONSTRAINTS_ANNOTATION in entry.found.metadata.annotations else None

    def list_leaves(self, key: ObjectKey) -> list[ObjectKey]:
        """Return the PodGroups of Kubernetes in and below a group; for a PodGroup, the group itself."""
        return self._trees.list_leaves(key)

    def find_root(self, key: ObjectKey) -> ObjectKey:
        """Return the root of a group's tree of Kubernetes' own groups; the group itself if it has no parent."""
        return self._trees.find_root(key)

    def join_bundle(self, member: Membership) -> Membership:
        """Return the tree, or the set of gangs placed together, that a group belongs to; else the group itself."""
        if member.source.kind == NATIVE_POD_GROUP:
            root = self._trees.find_root(member.source)
            return member if root == member.source else Membership(root)
        entry = self._entries.get(member.source) if member.source.kind == SIGS_POD_GROUP else None
        if entry is None or not isinstance(entry.found, SigsPodGroup):
            return member
        own = f"{member.source.namespace}/{member.source.name}"
        gangs, _ = list_bundled_gangs(gang_terms(entry.found.metadata), own)
        return make_bundle(gangs) if gangs else member

    def demand(self, member: Membership, stated: Collection[MemberPart] = ()) -> Demand | None:
        """Return the requirements of a group; None while nothing describes it.

        ``stated``: what the group's pods state.
        """
        if member.gangs:
            return combine_demands({gang: self._of_gang(gang, stated) for gang in member.gangs})
        if member.source.kind in GROUPS_BY_DOMAIN:
            return read_demand_by_domain(member.source, stated)
        entry = self._entry(member)
        if entry is None:
            by_pods = member.source.kind in (SIGS_POD_GROUP, KUEUE_POD_GROUP)
            return read_annotated_demand([each.terms for each in stated]) if by_pods else None
        if isinstance(entry.found, CompositePodGroup):
            root = member.source
            if root not in self._of_trees:
                self._of_trees[root] = read_tree_demand(entry.found, *self._trees.list_nodes(root))
            return self._of_trees[root]
        if isinstance(entry.found, VolcanoPodGroup):
            return read_volcano_group_demand(entry.found, stated, self.tiers)
        return _read(entry.found, member)

    def _of_gang(self, gang: str, stated: Collection[MemberPart]) -> Demand | None:
        """Return the requirements of one of several gangs that are placed together, None while nothing describes it."""
        namespace, _, name = gang.partition("/")
        entry = self._entries.get(ObjectKey(SIGS_POD_GROUP, namespace, name))
        if entry is not None and isinstance(entry.found, SigsPodGroup):
            return read_sigs_group_demand(entry.found)
        return read_annotated_demand([each.terms for each in stated if each.role == gang])

    def waits_for(self, member: Membership, stated: Collection[MemberPart] = ()) -> str:
        """Return why none of a group's pods may be placed now, "" if they may."""
        problem = share_problem(member)
        if problem:
            return problem
        if member.share and member.source.kind not in OWNER_KINDS:
            return (
                f"annotation firmament-gang-scheduling: the size of a {member.source.kind} is not known here; "
                "use a PodGroup"
            )
        if member.source.kind == YUNIKORN:
            return (
                f"annotation {YUNIKORN_KEY}: gangs of YuniKorn are not understood here, and half of one "
                "might be placed; use a PodGroup"
            )
        demand = self.demand(member, stated)
        if demand is None:
            return _missing(member.source)
        return f"{self._name(member)}: {demand.problem}" if demand.problem else ""

    def _name(self, member: Membership) -> str:
        entry = self._entry(member)
        if entry is not None and isinstance(entry.found, DescribedMap):
            return f"ConfigMap {get_qualified_name(entry.found.found.metadata)}"
        if entry is not None and isinstance(entry.found, PodGroup):
            return str(member.source._replace(kind=POD_GROUP))
        return str(member.source)


def _read(found: Known, member: Membership) -> Demand:
    """Return the requirements of a group by its object."""
    for struct, read in _READERS:
        if isinstance(found, struct):
            return read(found)
    if isinstance(found, Workload):
        return read_workload_demand(found, member.part)
    assert isinstance(found, ScaledOwner)
    if member.domain:
        return read_exclusive_job_demand(found, member.domain)
    return read_queued_owner_demand(found) if member.whole else read_owner_demand(found, member.share)


def places(key: ObjectKey) -> tuple[ObjectKey, ...]:
    """Return the keys of objects that may describe a group; the first object that exists is used.

    A ConfigMap or a PodGroup may describe both topology groups and PodGroups: the ConfigMap takes precedence. Several
    gangs that are placed together have no common key, because each gang is described separately.
    """
    if key.kind == BUNDLE:
        return ()
    if key.kind not in (TOPOLOGY_GROUP, POD_GROUP):
        return (key,)
    return key._replace(kind=TOPOLOGY_GROUP), key._replace(kind=POD_GROUP)


def _missing(source: ObjectKey) -> str:
    if source.kind == SIGS_POD_GROUP:
        return f"waits for {source}, which does not exist, nor do its pods say how many of them go together"
    if source.kind != TOPOLOGY_GROUP:
        return f"waits for {source}, which does not exist"
    return (
        f"waits for the group {source.namespace}/{source.name}: no ConfigMap in namespace {source.namespace} with the "
        f"label {GROUP_MAP_LABEL} describes it, nor does a PodGroup of this name"
    )
