"""Describes the pod groups of an input as they are after a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from poseidon.group_trees.spec.trees import ClusterTree
from poseidon.group_trees.status.placement import Placement, ranks
from poseidon.group_trees.status.placement import group_by_unit as placement_of
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.groups import Groups
from protos.firmament.v1 import scheduler_pb2 as pb

BOUND, WAITING, FAILED = "Bound", "Waiting", "Failed"
PREEMPTING, PREEMPTED = "Preempting", "Preempted"

_STATUSES = {
    pb.GangState.WAITING: WAITING,
    pb.GangState.PLACED: BOUND,
    pb.GangState.BOUND: BOUND,
    pb.GangState.FAILED: FAILED,
    pb.GangState.PREEMPTING: PREEMPTING,
    pb.GangState.PREEMPTED: PREEMPTED,
}


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A group of pods after a plan, with the nodes of its pods."""

    group: str
    """Name of the group, ``namespace/name``."""
    status: str
    """Status of the group, as the group's object would show it."""
    placement: Placement
    """The group's pods by node; for a topology group, the nodes are nested in their racks and zones."""
    members: frozenset[str]
    """Uids of all pods of the group."""
    message: str = ""
    """Why the group waits, or "" if it does not wait."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Ranks of the pods by name, if the group has rules for a tree of nodes."""
    priority: int | None = None
    """Highest priority of the group's pods; None if no pod took part in a round."""
    stated: int | None = None
    """Priority that the group's object states, None if it states none."""


class Decided(NamedTuple):
    """What a plan's rounds decided about pods.

    ``gangs`` has the latest state of each gang, by job; ``reasons`` says why pods stay pending, by uid.
    ``preemptors`` has the uids of pods that get a node when victims have left. ``held`` says why pods took part in no
    round, by uid.
    """

    gangs: Mapping[str, pb.GangState]
    reasons: Mapping[str, str]
    preemptors: frozenset[str]
    held: Mapping[str, str]


def plan_groups(
    groups: Groups, tree: ClusterTree, tasks: Iterable[pb.TaskState], decided: Decided
) -> tuple[PlannedGroup, ...]:
    """Return all groups that have pods, sorted by name."""
    known = {task.uid: task for task in tasks}
    found = (_plan_group(groups, tree, each, known, decided) for each in groups)
    return tuple(sorted(found, key=lambda each: each.group))


def _plan_group(
    groups: Groups, tree: ClusterTree, group: Group, known: Mapping[str, pb.TaskState], decided: Decided
) -> PlannedGroup:
    spec = groups.topology(group)
    by_tree = spec is not None
    tasks = [known[uid] for uid in group.progress if uid in known]
    node_of = {task.uid: task.machine for task in tasks if task.machine}
    placed = {
        uid.partition("/")[2]: tree.path(node_of[uid]) if by_tree else (node_of[uid],) for uid in node_of
    }
    kept = {each.name: each.rank for each in group.members.values() if each.rank is not None}
    job = groups.job(group)
    state = decided.gangs.get(job.id)
    status = BOUND if len(placed) >= max(job.min_members, 1) else WAITING
    if state is not None:
        status = _STATUSES.get(state.state, status)
    if status == BOUND and not decided.preemptors.isdisjoint(group.progress):
        status = PREEMPTING
    message = groups.waits_for(group)
    if not message and status != BOUND:
        waiting = (decided.held.get(uid) or decided.reasons.get(uid, "") for uid in sorted(group.progress))
        message = (state.message if state is not None else "") or next(filter(None, waiting), "")
    return PlannedGroup(
        group=group.member.name,
        status=status,
        placement=placement_of(placed),
        members=frozenset(group.progress),
        message=message,
        ranks=ranks(placed, kept) if by_tree and len(placed) >= job.min_members else {},
        priority=max((task.priority for task in tasks), default=None),
        stated=spec.priority if spec is not None else None,
    )
