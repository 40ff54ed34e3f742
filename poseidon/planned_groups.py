"""How the groups of an input stand after a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from poseidon.batch.groups import Group, Groups

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
    """A group (``namespace/name``): its pods by node, the uids of all, and what it waits for, if it does.

    ``ranks`` are of pods by name, where the group gives its pods ranks.
    """

    group: str
    status: str
    placement: Mapping[str, tuple[str, ...]]
    members: frozenset[str]
    message: str = ""
    ranks: Mapping[str, int] = field(default_factory=dict)


class Decided(Protocol):
    """What rounds have decided, by job and by uid."""

    @property
    def gangs(self) -> Mapping[str, pb.GangState]:
        """The latest state of each gang."""
        ...

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why pods stay pending."""
        ...

    @property
    def preemptors(self) -> frozenset[str]:
        """Pods that get a node which others have to leave first."""
        ...


def planned_groups(
    groups: Groups, tasks: Iterable[pb.TaskState], decided: Decided, held: Mapping[str, str]
) -> tuple[PlannedGroup, ...]:
    """Return all groups that have pods, sorted. ``held`` says why pods were not offered at all."""
    node_of = {task.uid: task.machine for task in tasks if task.machine}
    found = (_planned(groups, each, node_of, decided, held) for each in groups)
    return tuple(sorted(found, key=lambda each: each.group))


def _planned(
    groups: Groups,
    group: Group,
    node_of: Mapping[str, str],
    decided: Decided,
    held: Mapping[str, str],
) -> PlannedGroup:
    placement: dict[str, list[str]] = {}
    for uid in sorted(group.progress):
        if uid in node_of:
            placement.setdefault(node_of[uid], []).append(uid.partition("/")[2])
    placed = sum(map(len, placement.values()))
    job = groups.job(group)
    state = decided.gangs.get(job.id)
    status = BOUND if placed >= max(job.min_members, 1) else WAITING
    if state is not None:
        status = _STATUSES.get(state.state, status)
    if status == BOUND and not decided.preemptors.isdisjoint(group.progress):
        status = PREEMPTING
    message = groups.waits_for(group)
    if not message and status != BOUND:
        waiting = (held.get(uid) or decided.reasons.get(uid, "") for uid in sorted(group.progress))
        message = (state.message if state is not None else "") or next(filter(None, waiting), "")
    return PlannedGroup(
        group=group.member.name,
        status=status,
        placement={node: tuple(names) for node, names in sorted(placement.items())},
        members=frozenset(group.progress),
        message=message,
    )
