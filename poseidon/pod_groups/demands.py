"""Reads the requirements of groups from the objects that describe them: numbers of pods, time-outs and the like."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.group_trees.spec.groups import GroupSpec, read_pod_group
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.api.other_projects.scheduler_groups import KaiPodGroup, PodGang
from poseidon.kube.api.pod_groups import (
    CompositePodGroup,
    GroupPolicy,
    NativePodGroup,
    PodGroup,
    PodGroupSpec,
    ScaledOwner,
    SigsPodGroup,
    VolcanoPodGroup,
    Workload,
)
from poseidon.kube.parsing.defects import Defect, shorten
from poseidon.kube.parsing.label_syntax import key_fault
from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.pod_groups.composites import GroupNode, count_fewest, is_disrupted_whole
from poseidon.pod_groups.group_names import VOLCANO_POD_GROUP, MemberPart, Membership
from poseidon.pod_groups.koordinator import (
    GangTerms,
    gang_terms,
    least_members,
    list_bundled_gangs,
    list_ignored_terms,
    waiting_seconds,
)
from poseidon.pod_rules.redundant_pod_affinity import KeptTerm
from poseidon.pods.requests_and_limits import amounts
from poseidon.pods.tasks import get_qualified_name

MAX_MEMBERS = 2**31 - 1
MAX_SECONDS = 2**31 - 1
"""The largest numbers that the objects' fields hold."""

MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
"""Annotation of a Job: the number of its pods that are enough to begin."""

_PERCENT = re.compile(r"(\d{1,9})%?", re.ASCII)

Source: TypeAlias = (
    PodGroup
    | Workload
    | NativePodGroup
    | CompositePodGroup
    | SigsPodGroup
    | VolcanoPodGroup
    | KaiPodGroup
    | PodGang
    | ScaledOwner
)
Described: TypeAlias = DescribedMap[GroupSpec]
Known: TypeAlias = Source | Described
"""The object or the ConfigMap that describes a group."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The requirements of a group of pods, read from its object."""

    min_members: int = 0
    """How many pods must be placed together; 0 or 1: the group is no gang."""
    seconds: float = 0.0
    """Seconds within which the gang must be placed; 0: as configured."""
    size: int = 0
    """How many pods the group will have, 0 if unknown."""
    problem: str = ""
    """The fault of the object, for people, "" for none. No pod of a group with a problem is placed."""
    ignored: str = ""
    """Requirements of the object that are not supported, for people, "" for none."""
    topology_keys: tuple[str, ...] = ()
    """Keys of node labels; for each, all pods must be on nodes with equal values."""
    disrupted_whole: bool = False
    """Whether evicting one of the group's pods evicts all of them."""
    priority: int | None = None
    """The priority of the group, which decides between pods of equal priority; None if not stated."""
    by_role: Mapping[str, int] = field(default_factory=dict)
    """Number of pods needed of each role; in addition, ``min_members`` pods are needed in all."""
    roles: str = "pods"
    """The word for the group's roles in messages."""
    least_room: Mapping[str, int] = field(default_factory=dict)
    """Amounts by resource that must be free on all nodes together."""
    priority_class: str = ""
    """Name of the PriorityClass that gives the group's priority, "" for none."""
    nodes: tuple[GroupNode, ...] = ()
    """The groups of a tree, () for a plain group; ``min_members`` is then the smallest number that makes it whole."""
    preemption_policy: str | None = None
    """``Never``: the group's pods never evict others, even if their own policies allow it.

    "": the policy of ``priority_class`` applies; None: the policy of each pod applies.
    """
    kept_terms: tuple[KeptTerm, ...] = ()
    """Pod affinities that the tree's rules already guarantee, so that placement need not check them."""


def name_group_in_tree(demand: Demand, member: Membership, part: MemberPart) -> str:
    """Return the name of a pod's group in a tree: the tree's only group, or the one that ``part`` names."""
    alone = len(demand.nodes) == 1 and member.source.kind != VOLCANO_POD_GROUP
    return demand.nodes[0].name if alone else part.role


def read_pod_group_demand(found: PodGroup) -> Demand:
    """Read a PodGroup of scheduler-plugins."""
    return _read_plugins_demand(found.spec, read_pod_group(found).defects)


def _read_plugins_demand(spec: PodGroupSpec, rule_defects: Sequence[Defect]) -> Demand:
    problem = _count_problem("spec.minMember", spec.min_member)
    seconds = spec.schedule_timeout_seconds
    if not problem and seconds is not None and not 0 <= seconds <= MAX_SECONDS:
        what = "is negative" if seconds < 0 else "is out of range"
        problem = f"spec.scheduleTimeoutSeconds: {seconds} {what}; give 1 or more, or leave it out"
    least_room, defects = read_least_room(spec.min_resources)
    if not problem:
        problem = defects or "; ".join(map(str, rule_defects))
    if problem:
        return Demand(problem=problem)
    return Demand(spec.min_member, float(seconds or 0), least_room=least_room)


def read_sigs_group_demand(found: SigsPodGroup) -> Demand:
    """Read a PodGroup of ``scheduling.sigs.k8s.io``, with Koordinator's annotations."""
    demand = _read_plugins_demand(found.spec, ())
    terms = gang_terms(found.metadata)
    _, problem = list_bundled_gangs(terms, get_qualified_name(found.metadata))
    if problem or demand.problem:
        return Demand(problem=demand.problem or problem)
    return replace(
        demand,
        seconds=demand.seconds or waiting_seconds([terms]),
        ignored=list_ignored_terms([terms]),
    )


def read_annotated_demand(stated: Collection[GangTerms]) -> Demand | None:
    """Return the demand of a gang that its pods state; None if no pod states how many are placed together."""
    count, problem = least_members(stated)
    problem = problem or next(
        filter(None, (list_bundled_gangs(each, "")[1] for each in sorted(set(stated)))), ""
    )
    if problem:
        return Demand(problem=problem)
    if count is None:
        return None
    return Demand(count, waiting_seconds(stated), ignored=list_ignored_terms(stated))


def combine_demands(gangs: Mapping[str, Demand | None]) -> Demand:
    """Return the demand of gangs that are placed together; ``gangs``: the demand of each, None if unknown."""
    problems = [f"gang {name}: {each.problem}" for name, each in gangs.items() if each and each.problem]
    unknown = [name for name, each in gangs.items() if each is None]
    if unknown:
        problems.append(
            f"gang {unknown[0]}, which is to go together with the others, is not described by anything"
        )
    if problems:
        return Demand(problem="; ".join(problems))
    known = {name: each for name, each in gangs.items() if each is not None}
    room: dict[str, int] = {}
    for each in known.values():
        for resource, needed in each.least_room.items():
            room[resource] = min(room.get(resource, 0) + needed, MAX_AMOUNT)
    return Demand(
        sum(each.min_members for each in known.values()),
        max(each.seconds for each in known.values()),
        ignored="; ".join(f"gang {name}: {each.ignored}" for name, each in known.items() if each.ignored),
        by_role={name: each.min_members for name, each in known.items()},
        roles="gang",
        least_room=room,
    )


def read_least_room(stated: object) -> tuple[Mapping[str, int], str]:
    """Return the amounts of a ``spec.minResources``, and what is wrong with them ("" for nothing)."""
    if stated is None:
        return {}, ""
    path = "spec.minResources"
    if not isinstance(stated, dict):
        return {}, f"{path}: is not a map of resources to amounts; correct or remove it"
    odd = next(
        (
            key
            for key, value in stated.items()
            if isinstance(value, bool) or not isinstance(value, str | int | float)
        ),
        None,
    )
    if odd is not None:
        return {}, f"{path}.{odd}: is not an amount; correct or remove it"
    defects: list[Defect] = []
    found = amounts(stated, path, defects)
    return found, "; ".join(map(str, defects))


def read_described_demand(found: DescribedMap[GroupSpec]) -> Demand:
    """Return the demand of a topology group, by the last faultless data of its ConfigMap."""
    if found.spec is None:
        return Demand(problem=found.problem)
    return Demand(found.spec.size, size=found.spec.size)


def read_workload_demand(found: Workload, part: str) -> Demand:
    """Read that group of a Workload that is named ``part``."""
    for index, group in enumerate(found.spec.pod_groups):
        if group.name == part:
            return _read_policy_demand(group.policy, f"spec.podGroups[{index}].policy")
    return Demand(
        problem=f"spec.podGroups: has no group {part!r}; correct spec.workloadRef.podGroup of the pods"
    )


def read_native_group_demand(found: NativePodGroup) -> Demand:
    """Read a PodGroup of Kubernetes itself."""
    demand = _read_policy_demand(found.spec.scheduling_policy, "spec.schedulingPolicy")
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
        ignored=list_ignored_by_native(found),
        topology_keys=keys,
        disrupted_whole=is_disrupted_whole(found.spec.disruption_mode),
        priority=found.spec.priority,
        priority_class=found.spec.priority_class_name,
        preemption_policy=_read_policy(found),
    )


def read_tree_demand(root: CompositePodGroup, nodes: tuple[GroupNode, ...], problem: str) -> Demand:
    """Return the demand of a CompositePodGroup of Kubernetes and the groups below it (``nodes``)."""
    if problem:
        return Demand(problem=problem)
    return Demand(
        count_fewest(nodes),
        disrupted_whole=is_disrupted_whole(root.spec.disruption_mode),
        priority=root.spec.priority,
        priority_class=root.spec.priority_class_name,
        nodes=nodes,
        preemption_policy=_read_policy(root),
    )


def _read_policy(found: NativePodGroup | CompositePodGroup) -> str:
    """Return the stated preemption policy; "" if that of the PriorityClass applies, as in files without admission."""
    spec = found.spec
    return spec.preemption_policy or ("PreemptLowerPriority" if spec.priority is not None else "")


def list_ignored_by_native(found: NativePodGroup) -> str:
    """Return, for people, which settings of Kubernetes' own PodGroup this scheduler ignores, "" for none."""
    if found.spec.scheduling_policy.gang is None and is_disrupted_whole(found.spec.disruption_mode):
        return (
            "spec.disruptionMode is honoured for gangs alone: each pod may be evicted by itself; "
            "give spec.schedulingPolicy.gang"
        )
    if found.metadata.annotations.get(CONSTRAINTS_ANNOTATION):
        return (
            f"metadata.annotations[{CONSTRAINTS_ANNOTATION}] is honoured for groups of a CompositePodGroup; "
            "give spec.parentCompositePodGroupName"
        )
    return ""


def read_owner_demand(found: ScaledOwner, share: str) -> Demand:
    """Return the demand of an owner of which a percentage of pods (``share``) must be placed together.

    The pods state the percentage in an annotation.
    """
    percent, problem = _percent(share)
    if problem:
        return Demand(problem=problem)
    size = count_wanted(found)
    return Demand(percent * size // 100, size=size)


def read_queued_owner_demand(found: ScaledOwner) -> Demand:
    """Return the demand of an owner in a queue: all pods that it wants now are placed, and evicted, together.

    A Job may state that fewer pods are enough (``kueue.x-k8s.io/job-min-parallelism``).
    """
    size = count_wanted(found)
    stated = found.metadata.annotations.get(MIN_PARALLELISM)
    if stated is None:
        return Demand(size, size=size, disrupted_whole=True)
    if not (stated.isascii() and stated.isdecimal() and len(stated) < 10 and int(stated) >= 1):
        problem = (
            f"annotation {MIN_PARALLELISM}: {shorten(repr(stated))} is no number of pods; give 1 or more"
        )
        return Demand(problem=problem)
    return Demand(min(size, int(stated)), size=size, disrupted_whole=True)


def share_problem(member: Membership) -> str:
    """Return what is wrong with the percentage in a pod's annotation, "" for nothing."""
    return _percent(member.share)[1] if member.share else ""


def _read_policy_demand(policy: GroupPolicy, path: str) -> Demand:
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
        shown = share if share == '""' else shorten(repr(share))
        problem = f"annotation firmament-gang-scheduling: {shown} is no share in percent; give 0 to 100"
        return 0, problem
    return int(found.group(1)), ""


def count_wanted(found: ScaledOwner) -> int:
    """Return how many pods an owner wants now. A Job does not replace pods that have succeeded."""
    spec = found.spec
    if spec.replicas is not None:
        return _clamp(spec.replicas)
    size = 1 if spec.parallelism is None else _clamp(spec.parallelism)
    if spec.completions is not None:
        size = min(size, _clamp(spec.completions - found.status.succeeded))
    return size


def _clamp(count: int) -> int:
    """Return the nearest count that the objects' fields can hold."""
    return min(max(count, 0), MAX_MEMBERS)
