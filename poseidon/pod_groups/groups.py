"""Finds, for each group of pods, its job for the solver, and why its pods wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from poseidon.group_trees.status.members import Member
from poseidon.kube.api.other_projects.kueue_topology import TopologyLevels
from poseidon.kube.api.pod_groups import OwnedPods, ScaledOwner
from poseidon.kube.quarantine import Attempt
from poseidon.pod_groups.composites import count_fewest, take_off
from poseidon.pod_groups.demands import Demand, name_group_in_tree
from poseidon.pod_groups.group import Group, GroupKey
from poseidon.pod_groups.group_names import KUEUE_POD_GROUP, NO_PART, VOLCANO_POD_GROUP, Progress
from poseidon.pod_groups.keep_room import explain_wrong_seconds
from poseidon.pod_groups.members import GroupMembers
from poseidon.pod_groups.readers.kueue_topology import list_owned_pods, list_stated_pods, read_topology_demand
from poseidon.pod_groups.scheduler_names import foreign_words, split_words
from poseidon.pod_rules.pod_affinity import ANYWHERE, Colocation
from poseidon.pods.priority_classes import HIGHEST, LOWEST
from poseidon.pods.tasks import Task
from poseidon.pods.templates import NEVER
from poseidon.pods.tree_place import NO_TREE, TreePlace
from protos.conventions.number_formats import format_count
from protos.firmament.v1 import scheduler_pb2 as pb


class GroupChange(NamedTuple):
    """The present job of a group for the solver, and why each of its pods is held back, by uid ("" if it is not)."""

    group: Group
    job: pb.Job
    waits: dict[str, str]


class Groups(GroupMembers):
    """Groups of pods: the requirements that the solver gets for each group, and why its pods wait."""

    find_topologies: Callable[[str], Sequence[TopologyLevels]] | None = None
    """Returns the topologies of the flavors of a pod's queue; None if queues are not read."""

    def queues_changed(self) -> None:
        """Mark the groups in queues as changed, because the topologies of their flavors may have changed."""
        for key, group in self._groups.items():
            if group.member.whole or group.member.source.kind == KUEUE_POD_GROUP:
                self._changed[key] = self._moved[key] = None

    def demand(self, group: Group) -> Demand | None:
        """Return a group's requirements, with those about the topology of its queue.

        None while the group's object is unknown.
        """
        demand = super().demand(group)
        if demand is None or demand.problem or self.find_topologies is None:
            return demand
        sets = self._list_pod_sets(group, demand)
        if not sets or not group.progress:
            return demand
        topologies = self.find_topologies(next(iter(group.progress)))
        key = demand, sets, topologies
        if group.in_topology is None or group.in_topology[0] != key:
            group.in_topology = key, read_topology_demand(demand, group.member.source.name, sets, topologies)
        return group.in_topology[1]

    def _list_pod_sets(self, group: Group, demand: Demand) -> tuple[OwnedPods, ...]:
        """Return the pod sets of a group in a queue if some pod set asks for a topology, else ()."""
        if group.member.source.kind == KUEUE_POD_GROUP:
            return list_stated_pods(group.stated, demand.min_members)
        known = self._sources.find(group.member) if group.member.whole else None
        return list_owned_pods(known[1]) if known is not None and isinstance(known[1], ScaledOwner) else ()

    def priorities_changed(self) -> None:
        """Mark the groups that name a PriorityClass as changed, because PriorityClasses have changed."""
        for key, group in self._groups.items():
            demand = self.demand_without_pods(group)
            if demand is not None and demand.priority_class:
                self._changed[key] = self._moved[key] = None

    def job(self, group: Group) -> pb.Job:
        """Return a group's job for the solver.

        Pods that have succeeded reduce the number that the group still needs.
        """
        job = pb.Job()
        job.CopyFrom(group.job)
        demand = self.demand(group)
        if demand is not None and not demand.problem:
            counted = bool(group.member.share) or (group.member.whole and group.member.source.kind == "Job")
            done = 0 if counted else group.counts[Progress.SUCCEEDED]
            job.min_members = max(demand.min_members - done, 0)
            if demand.by_role:
                self._settle(group.key)
                job.min_members = group.chosen.needed
            if demand.nodes:
                done_of = Counter[str]() if counted else self._count_done(group)
                nodes = take_off(demand.nodes, done_of) if done_of else demand.nodes
                job.min_members = max(count_fewest(nodes), demand.min_members - done_of.total())
                job.groups.extend(node.to_proto() for node in nodes)
            for resource, amount in sorted(demand.least_room.items()):
                left = amount * max(demand.min_members - done, 0) // max(demand.min_members, 1)
                job.least_room.add(resource=resource, amount=amount if not done else left)
            if job.least_room:
                job.min_members = max(job.min_members, 1)
            job.gang_seconds = demand.seconds
            job.size = demand.size
            job.disrupted_whole = demand.disrupted_whole
        return job

    def _count_done(self, group: Group) -> Counter[str]:
        """Return how many pods of each role have succeeded."""
        if not group.counts[Progress.SUCCEEDED]:
            return Counter()
        done = [uid for uid, progress in group.progress.items() if progress is Progress.SUCCEEDED]
        return Counter(self._find_role(group, uid) for uid in done if uid in group.parts)

    def _find_role(self, group: Group, uid: str) -> str:
        """Return the name of a pod's group in a tree, or its role in a group that is no tree."""
        demand, part = self.demand_without_pods(group), group.parts.get(uid, NO_PART)
        return part.role if demand is None else name_group_in_tree(demand, group.member, part)

    def place_in_tree(self, group: Group, uid: str) -> TreePlace:
        """Return a pod's group in a tree ("" if the pod is in no tree), and whether the pod must not evict others."""
        demand = self.demand_without_pods(group)
        if demand is None:
            return NO_TREE
        policy = demand.preemption_policy
        never = policy == NEVER or (
            policy == "" and self._priorities.forbids_preemption(demand.priority_class)
        )
        role = self._find_role(group, uid) if demand.nodes else ""
        return TreePlace(role, never, demand.kept_terms)

    def waits_for(self, group: Group) -> str:
        """Return why none of a group's pods may be placed now, "" if they may."""
        stated = () if group.member.source.kind == VOLCANO_POD_GROUP else group.stated.keys()
        return (
            self._sources.waits_for(group.member, stated)
            or self._explain_topology(group)
            or self._explain_missing_pods(group)
        )

    def _explain_topology(self, group: Group) -> str:
        """Return what is wrong with the topology that the pods of a group in a queue state, "" for nothing."""
        demand = self.demand(group) if self.find_topologies is not None else None
        return f"{group.member.source}: {demand.problem}" if demand is not None and demand.problem else ""

    def _explain_missing_pods(self, group: Group) -> str:
        """Return, for people, which pods a group lacks, if the solver cannot find that out; "" for none."""
        foreign = self._foreign.iter_members(group.key)
        demand = self.demand_without_pods(group)
        if demand is None or not (foreign or group.schedulers or demand.by_role):
            return ""
        if demand.by_role:
            # Members are chosen again only for groups with roles: a pod of a topology group stays a member.
            self._settle(group.key)
        placed = group.counts[Progress.PLACED] + group.counts[Progress.RUNNING]
        done = group.counts[Progress.SUCCEEDED]
        needed, waiting = demand.min_members - done, group.counts[Progress.WAITING]
        words = foreign_words(needed, placed + waiting, foreign) or split_words(
            needed, placed, group.schedulers
        )
        lacks = group.chosen.lacking
        if lacks and not words:
            words = f"waits for members: {lacks}"
        return f"gang {group.member.name} {words}" if words else ""

    def not_honoured(self, group: Group) -> str:
        """Return, for people, which settings of a group have no effect, "" for none."""
        demand = self.demand_without_pods(group)
        if demand is None or demand.problem:
            return ""
        missing = ""
        if demand.priority is None and demand.priority_class and self._class_priority(demand) is None:
            missing = (
                f"spec.priorityClassName: there is no PriorityClass {demand.priority_class!r}; "
                "the group stands where its pods' own priority puts it"
            )
        known = self._sources.find(group.member)
        wrong = explain_wrong_seconds(known[1]) if known is not None else ""
        return "; ".join(filter(None, (demand.ignored, missing, wrong)))

    def _class_priority(self, demand: Demand) -> int | None:
        return self._priorities.of_class(demand.priority_class) if demand.priority_class else None

    def colocation(self, group: Group) -> Colocation:
        """Return the node labels whose values a group's pods must share, for the group's job."""
        demand = self.demand_without_pods(group)
        if demand is None or not demand.topology_keys:
            return ANYWHERE
        return Colocation(group.job.id, demand.topology_keys)

    def list_admitted(self, group: Group) -> dict[str, Member]:
        """Return, by uid, the members of a topology group that are placed: at most as many as its size."""
        self._settle(group.key)
        return {uid: each for uid, each in group.members.items() if uid in group.admitted}

    def explain_surplus(self, uid: str) -> str:
        """Return why a pod is surplus to its group's present needs, "" if the pod is not surplus."""
        group = self._of_pod.get(uid)
        spec = self.topology(group) if group is not None else None
        if group is not None and spec is None:
            self._settle(group.key)
            if uid in group.chosen.beyond:
                return f"beyond the pods that gang {group.member.name} lacks: it is placed once these are"
        if group is None or spec is None or len(group.members) <= spec.size:
            return ""
        self._settle(group.key)
        if uid in group.admitted:
            return ""
        leaving = sum(each.leaving for each in group.members.values())
        going = f", {leaving} of which are being deleted" if leaving else ""
        return f"beyond size: group {group.member.name} has its {format_count(spec.size, 'pod')}{going}"

    def take_changes(self) -> list[GroupChange]:
        """Return the groups whose requirements may have changed since the last call, with their jobs."""
        for key in [*self._unsettled]:
            with self._quarantine_faults(key):
                self._settle(key)
        changed, self._changed = self._changed, {}
        changes = []
        for key in changed:
            with self._quarantine_faults(key):
                changes.append(self._change(self._groups[key]))
        return changes

    def _quarantine_faults(self, key: GroupKey) -> Attempt:
        name = self._groups[key].member.name
        return self._quarantine.attempt("groups", f"{key[0].kind} {name}", name=name)

    def _change(self, group: Group) -> GroupChange:
        waits_for = self.waits_for(group)
        waits = {uid: waits_for or self.explain_surplus(uid) for uid in group.progress}
        return GroupChange(group, self.job(group), waits)

    def set_priority(self, group: Group, task: Task) -> Task:
        """Return a task with the priority of its group, which decides between tasks of equal priority.

        If a topology group states no priority, the priority of its tasks is used; other groups have a priority only
        if their object states one. Anybody who may write the group's object can state a priority in it, so this
        priority never replaces the pod's own.
        """
        spec, demand = self.topology(group), self.demand_without_pods(group)
        stated = None
        if demand is not None:
            stated = self._class_priority(demand) if demand.priority is None else demand.priority
        if spec is not None:
            stated = task.priority if spec.priority is None else spec.priority
        stated = None if stated is None else min(max(stated, LOWEST), HIGHEST)
        return task if task.group_priority == stated else replace(task, group_priority=stated)

    def take_moved(self) -> list[Group]:
        """Return the groups whose pods have progressed, or whose object has changed, since the last call."""
        moved, self._moved = self._moved, {}
        return [self._groups[key] for key in moved]
