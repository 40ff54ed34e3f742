"""What a group asks for: how many pods go together, and how long they may take to be whole."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poseidon.group_trees.spec.groups import GroupSpec, read_pod_group
from poseidon.kube.parsing.defects import shortened
from poseidon.kube.parsing.label_syntax import key_fault

if TYPE_CHECKING:
    from poseidon.group_trees.spec.described_maps import DescribedMap
    from poseidon.kube.api.pod_groups import GroupPolicy, NativePodGroup, PodGroup, ScaledOwner, Workload
    from poseidon.pod_groups.membership import Membership

MAX_MEMBERS = 2**31 - 1
MAX_SECONDS = 2**31 - 1
"""The largest numbers that the objects' fields hold."""

_ALL = ("PodGroup", "All", "all")
"""The ``spec.disruptionMode`` of groups that are disrupted as a whole, as text or as the key of a union."""

_PERCENT = re.compile(r"(\d{1,9})%?", re.ASCII)


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
