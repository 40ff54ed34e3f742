"""Finds out which pods are in which group, by the pods and by the objects that describe groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from poseidon.group_trees.spec.groups import GroupSpec
from poseidon.group_trees.status.members import choose_members, member_of
from poseidon.kube.api.other_projects.hyper_nodes import Tiers
from poseidon.kube.api.pod_groups import VolcanoPodGroup, VolcanoSubGroups
from poseidon.kube.api.pods import Pod
from poseidon.kube.quarantine import Quarantine
from poseidon.pod_groups.demands import Demand, Described, Known, Source
from poseidon.pod_groups.group import Group, GroupKey, group_key, new_group
from poseidon.pod_groups.group_names import (
    BUNDLE,
    COMPOSITE_POD_GROUP,
    COUNTED_BY_POD,
    DESCRIBED_BY_PODS,
    GROUPS_BY_DOMAIN,
    NATIVE_POD_GROUP,
    NO_PART,
    SIGS_POD_GROUP,
    VOLCANO_POD_GROUP,
    Membership,
    ObjectKey,
    Progress,
    find_domain_group,
    find_membership,
    gang_key,
    get_placement_time,
    is_mirror,
    part_in,
    progress_of,
)
from poseidon.pod_groups.group_objects import Sources, places
from poseidon.pod_groups.readers.exclusive_topology import read_domain_part
from poseidon.pod_groups.readers.volcano import find_part, is_tree
from poseidon.pod_groups.roles import ChosenPods, choose_pods
from poseidon.pod_groups.scheduler_names import ForeignMembers, Named
from poseidon.pods import tasks as pod_translation
from poseidon.pods.priority_classes import PriorityResolver


class GroupMembers:
    """Groups and their members, by what pods state.

    Pods and the objects that describe groups may arrive in any order. ``quarantine`` sets a group aside if its
    requirements cannot be read. ``priorities`` resolves PriorityClasses.
    """

    def __init__(
        self, quarantine: Quarantine | None = None, priorities: PriorityResolver | None = None
    ) -> None:
        self._quarantine = quarantine if quarantine is not None else Quarantine()
        self._priorities = priorities if priorities is not None else PriorityResolver()
        self._foreign = ForeignMembers[GroupKey]()
        self._gang_pods: dict[str, Pod] = {}
        self._native_pods: dict[ObjectKey, dict[str, Pod]] = {}
        self._leaf_of: dict[str, ObjectKey] = {}
        self._regrouped: dict[str, Pod] = {}
        self._bundled: dict[ObjectKey, tuple[str, ...]] = {}
        self._divided: dict[ObjectKey, tuple[VolcanoSubGroups, ...]] = {}
        self.one_scheduler = True
        """Whether this scheduler places all pods, whatever scheduler they name."""
        self.find_owner_gang: Callable[[str, Pod], Membership | None] = _find_none
        """Returns the gang of a pod that names none itself, by the pod's owner; None for no gang."""
        self._sources = Sources()
        self._groups: dict[GroupKey, Group] = {}
        self._of_source: dict[ObjectKey, dict[GroupKey, None]] = {}
        self._of_pod: dict[str, Group] = {}
        self._of_job: dict[str, Group] = {}
        self._changed: dict[GroupKey, None] = {}
        self._moved: dict[GroupKey, None] = {}
        self._unsettled: set[GroupKey] = set()

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    # --- objects that describe groups ----------------------------------------------------------------------

    def put_source(self, kind: str, uid: str, found: Source) -> None:
        """Add or update an object that describes groups."""
        if self._sources.says_the_same(kind, uid, found):
            self._sources.put(kind, uid, found)
            return
        name = ObjectKey(kind, found.metadata.namespace or "default", found.metadata.name)
        before = self._sources.find_root(name)
        key = self._sources.put(kind, uid, found)
        for each in {key, before, self._sources.find_root(key)}:
            self._mark(each)
        self._regroup(key)

    def put_described(self, namespace: str, name: str, found: Described | None) -> None:
        """Set the ConfigMap that describes a topology group; None: no ConfigMap describes it."""
        self._mark(self._sources.put_described(namespace, name, found))

    def remove_source(self, uid: str) -> None:
        """Remove an object; nothing happens if the object is unknown, or if a newer object has its name."""
        named = self._sources.find_key(uid)
        before = self._sources.find_root(named) if named is not None else None
        key = self._sources.remove(uid)
        if key is not None and before is not None:
            for each in {key, before}:
                self._mark(each)
            self._regroup(key)

    def take_regrouped(self) -> list[tuple[str, Pod]]:
        """Return the pods whose group an object has changed since the last call; call ``put_pod`` for each."""
        regrouped, self._regrouped = self._regrouped, {}
        return [*regrouped.items()]

    def _regroup(self, key: ObjectKey) -> None:
        if key.kind == VOLCANO_POD_GROUP:
            self._divide_anew(key)
        if key.kind in (NATIVE_POD_GROUP, COMPOSITE_POD_GROUP):
            for leaf in self._sources.list_leaves(key):
                now = group_key(self._sources.join_bundle(Membership(leaf)))
                for uid, pod in self._native_pods.get(leaf, {}).items():
                    group = self._of_pod.get(uid)
                    if group is None or group.key != now:
                        self._regrouped[uid] = pod
            return
        gangs = self._sources.join_bundle(Membership(key)).gangs
        if gangs == self._bundled.get(key, ()):
            return
        self._bundled[key] = gangs
        if not gangs:
            del self._bundled[key]
        self._regrouped.update((uid, pod) for uid, pod in self._gang_pods.items() if gang_key(pod) == key)

    def _divide_anew(self, key: ObjectKey) -> None:
        """Mark the pods of a Volcano PodGroup for regrouping, if its rules for subgroups have changed."""
        known = self._sources.find(Membership(key))
        now = known[1] if known is not None and isinstance(known[1], VolcanoPodGroup) else None
        divided = now.spec.sub_group_policy if now is not None and is_tree(now) else None
        if divided == self._divided.get(key):
            return
        self._divided.pop(key, None)
        if divided is not None:
            self._divided[key] = divided
        for group in self._of_source.get(key, ()):
            self._regrouped.update((uid, self._gang_pods[uid]) for uid in self._groups[group].progress)

    def set_tiers(self, tiers: Tiers) -> None:
        """Set the tiers of HyperNodes, and mark Volcano's groups, whose requirements depend on tiers, as changed."""
        if tiers == self._sources.tiers:
            return
        self._sources.tiers = tiers
        for group in self._groups.values():
            if group.member.source.kind == VOLCANO_POD_GROUP:
                self._mark(group.member.source)

    def source(self, group: Group) -> tuple[str, Known] | None:
        """Return uid and content of the object that describes a group, None if no object describes it."""
        return self._sources.find(group.member)

    def list_objects(self, group: Group) -> list[tuple[str, Known]]:
        """Return uid and content of all objects that describe a group: for a tree, the objects of all groups in it."""
        return self._sources.list_objects(group.member)

    def _mark(self, key: ObjectKey) -> None:
        for place in places(key):
            for group in self._of_source.get(place, ()):
                self._groups[group].demand = self._groups[group].demand_without_pods = None
                self._changed[group] = None
                self._moved[group] = None
                self._unsettled.add(group)

    # --- pods ----------------------------------------------------------------------------------------------

    def put_pod(self, uid: str, pod: Pod) -> Group | None:
        """Add or update a pod of this scheduler; return the pod's group, None for a pod without group."""
        member = None if is_mirror(pod) else self._find_group(uid, pod)
        self._leave_leaf(uid)
        if member is not None and member.source.kind in (SIGS_POD_GROUP, NATIVE_POD_GROUP):
            if member.source.kind == NATIVE_POD_GROUP:
                self._leaf_of[uid] = member.source
                self._native_pods.setdefault(member.source, {})[uid] = pod
            member = self._sources.join_bundle(member)
        self._drop_foreign(uid)
        group = self._of_pod.get(uid)
        if group is not None and (member is None or group_key(member) != group.key):
            # ``_leaf_of`` keeps the pod's own PodGroup, which may move to another tree later.
            self._gang_pods.pop(uid, None)
            self._regrouped.pop(uid, None)
            self._leave_group(uid)
            group = None
        if member is None:
            return None
        if group is None:
            group = self._of_pod[uid] = self._group(member, pod)
        if member.share != group.member.share:
            # The newest pod decides, because the template of the group's owner has changed.
            group.member = member
            self._changed[group.key] = None
        if member.whole or member.source.kind in COUNTED_BY_POD:
            self._take_part(uid, group, pod)
        if member.source.kind in COUNTED_BY_POD:
            now = member_of(uid, pod)
            if group.members.get(uid) != now:
                group.members[uid] = now
                self._moved[group.key] = None
                self._unsettled.add(group.key)
        progress = progress_of(pod)
        if progress in (Progress.PLACED, Progress.RUNNING) and group.progress.get(uid) is not progress:
            group.first_placed = min(group.first_placed, get_placement_time(pod))
        self._note_scheduler(uid, group, pod, progress)
        self._count(group, uid, progress)
        return group

    def _find_group(self, uid: str, pod: Pod) -> Membership | None:
        """Return the group that a pod names, else the group of its domain, else its owner's group in a queue.

        A group with a domain takes precedence over a queue: most of its pods are created only after the first pod has a
        node, so that pod cannot wait for all pods of its owner.
        """
        return find_membership(pod) or find_domain_group(pod) or self.find_owner_gang(uid, pod)

    def _leave_leaf(self, uid: str) -> None:
        leaf = self._leaf_of.pop(uid, None)
        if leaf is not None:
            del self._native_pods[leaf][uid]
            if not self._native_pods[leaf]:
                del self._native_pods[leaf]

    def put_foreign(self, uid: str, pod: Pod) -> None:
        """Add or update a pod of another scheduler; if the pod waits, its group may lack members for this process."""
        member = find_membership(pod) if progress_of(pod) is Progress.WAITING else None
        if member is None or member.share:
            self._drop_foreign(uid)
            return
        key = group_key(self._sources.join_bundle(member))
        if self._foreign.put(uid, key, _find_name(pod)) and key in self._groups:
            self._changed[key] = None

    def _drop_foreign(self, uid: str) -> None:
        if uid not in self._foreign.group_of:
            return
        key = self._foreign.remove(uid)
        if key is not None and key in self._groups:
            self._changed[key] = None

    def _take_part(self, uid: str, group: Group, pod: Pod) -> None:
        kind = group.member.source.kind
        part = read_domain_part(pod) if kind in GROUPS_BY_DOMAIN else part_in(pod, group.member)
        if kind in (SIGS_POD_GROUP, BUNDLE, VOLCANO_POD_GROUP):
            self._gang_pods[uid] = pod
        if kind == VOLCANO_POD_GROUP:
            known = self._sources.find(group.member)
            if known is not None and isinstance(known[1], VolcanoPodGroup):
                part = find_part(known[1], pod.metadata)
        if group.parts.get(uid, NO_PART) != part:
            self._leave_part(uid, group)
            group.parts[uid] = part
            group.stated[part] += 1
            group.demand = None
            self._changed[group.key] = self._moved[group.key] = None
            self._unsettled.add(group.key)

    def _leave_part(self, uid: str, group: Group) -> None:
        part = group.parts.pop(uid, None)
        if part is not None:
            group.stated[part] -= 1
            if not group.stated[part]:
                del group.stated[part]
                group.demand = None
                self._changed[group.key] = None

    def _note_scheduler(self, uid: str, group: Group, pod: Pod, progress: Progress) -> None:
        if not self.one_scheduler and progress is Progress.WAITING:
            group.schedulers.put(uid, _find_name(pod))
        else:
            group.schedulers.remove(uid)

    def remove_pod(self, uid: str) -> None:
        """Remove a pod; unknown pods are ignored."""
        self._drop_foreign(uid)
        self._gang_pods.pop(uid, None)
        self._regrouped.pop(uid, None)
        self._leave_leaf(uid)
        self._leave_group(uid)

    def _leave_group(self, uid: str) -> None:
        group = self._of_pod.pop(uid, None)
        if group is None:
            return
        self._count(group, uid, None)
        self._leave_part(uid, group)
        group.schedulers.remove(uid)
        if group.members.pop(uid, None) is not None:
            self._moved[group.key] = None
            self._unsettled.add(group.key)
        if not group.progress:
            key = group.key
            del self._groups[key]
            if self._of_job.get(group.job.id) is group:
                # Another group may have this job by now: owners in several namespaces may state the same uid.
                del self._of_job[group.job.id]
            self._changed.pop(key, None)
            self._moved.pop(key, None)
            self._unsettled.discard(key)
            for source in group.member.sources:
                self._of_source[source].pop(key, None)
                if not self._of_source[source]:
                    del self._of_source[source]

    def group_of(self, uid: str) -> Group | None:
        """Return the group of a pod, None for a pod without group."""
        return self._of_pod.get(uid)

    def of_job(self, job: str) -> Group | None:
        """Return the group with this job, None if no group has it."""
        return self._of_job.get(job)

    def _group(self, member: Membership, pod: Pod) -> Group:
        key = group_key(member)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = new_group(member, pod)
            self._of_job[group.job.id] = group
            for source in member.sources:
                self._of_source.setdefault(source, {})[key] = None
            self._changed[key] = None
        return group

    def _settle(self, key: GroupKey) -> None:
        """Decide which pods of a topology group, or of a group with roles, are placed as its members."""
        if key not in self._unsettled:
            return
        self._unsettled.discard(key)
        group = self._groups[key]
        spec = self.topology(group)
        beyond: frozenset[str] = frozenset()
        if spec is None:
            group.admitted = beyond
            demand = self.demand_without_pods(group)
            chosen = ChosenPods()
            if demand is not None and demand.by_role:
                chosen = choose_pods(group.members, group.parts, demand)
            if chosen != group.chosen:
                group.chosen = chosen
                self._changed[key] = None
            beyond = chosen.beyond
        else:
            group.admitted = choose_members(group.members, spec.size, group.admitted)
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
        if Progress.SUCCEEDED in (before, now) or group.schedulers or self._foreign.iter_members(group.key):
            self._changed[group.key] = None

    @property
    def has_news(self) -> bool:
        """Whether ``take_changes`` or ``take_moved`` has results to return."""
        return bool(self._changed or self._moved or self._unsettled)

    # --- requirements of groups --------------------------------------------------------------------------

    def demand(self, group: Group) -> Demand | None:
        """Return the requirements of a group; None while its object is not known."""
        if group.member.source.kind not in DESCRIBED_BY_PODS:
            return self._sources.demand(group.member, group.stated.keys())
        if group.demand is None:
            group.demand = self._sources.demand(group.member, group.stated.keys())
        return group.demand

    def demand_without_pods(self, group: Group) -> Demand | None:
        """Return a group's requirements; for a Volcano PodGroup without what its pods state, to save time."""
        if group.member.source.kind != VOLCANO_POD_GROUP:
            return self.demand(group)
        if group.demand_without_pods is None:
            group.demand_without_pods = self._sources.demand(group.member)
        return group.demand_without_pods

    def topology(self, group: Group) -> GroupSpec | None:
        """Return size and rules of a topology group, None for any other group."""
        return self._sources.topology(group.member)


def _find_none(uid: str, pod: Pod) -> Membership | None:  # noqa: ARG001 - stands for one that looks at them
    """Return None: without queues, no pod is in a gang that it does not name."""
    return None


def _find_name(pod: Pod) -> Named:
    return Named(pod_translation.get_qualified_name(pod.metadata), pod_translation.scheduler_of(pod))
