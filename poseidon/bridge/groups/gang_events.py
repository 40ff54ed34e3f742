"""Writes one event per gang: why all its pods wait, what is wrong with its object, and which settings are ignored."""

from __future__ import annotations

from poseidon.group_trees.spec.described_maps import DescribedMap
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef
from poseidon.kube.api.pod_groups import PodGroup, SigsPodGroup, VolcanoPodGroup
from poseidon.lifecycle.actions import Action, AnnounceGroup
from poseidon.lifecycle.failed_scheduling_timing import reasons_of
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.nodes.machines import Machines
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.group_names import BUNDLE, POD_GROUP, SIGS_POD_GROUP
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.kinds import GROUP_KINDS
from protos.conventions.number_formats import format_count, format_count_with_verb
from protos.firmament.v1 import scheduler_pb2 as pb

_VERSIONS = {name: (kind.api_version, kind.name) for name, kind in GROUP_KINDS.items()}
_REASONS = {
    pb.GangState.WAITING: EventReason.FAILED_SCHEDULING,
    pb.GangState.FAILED: EventReason.GANG_FAILED,
    pb.GangState.PREEMPTED: EventReason.PREEMPTED,
}
"""Reasons of events about gangs, by the gang's state. Gangs in other states get no event."""


class GangEvents:
    """The events about gangs, each added to ``actions`` once: an event is repeated only when it says something new."""

    def __init__(self, groups: Groups, tasks: PodRecords, machines: Machines, actions: list[Action]) -> None:
        self._groups = groups
        self._tasks = tasks
        self._machines = machines
        self._actions = actions
        self._written: dict[str, dict[tuple[str, str], str]] = {}
        """By object or job, and by topic: reason and message, without counts, of the last event."""

    def report_state(self, group: Group, state: pb.GangState, slots: int) -> str:
        """Write an event (``FailedScheduling`` for example) about a gang after a round; return the state's message.

        ``slots``: the number of pods that all nodes take together.
        """
        message = self._explain_too_large(group, state.needed, slots) or state.message
        reason = _REASONS.get(state.state)
        if reason is None:
            self._forget_state(group)
        else:
            self._write(group, reason, message)
        return message

    def report_problems(self, group: Group) -> None:
        """Write events about an invalid group, and about settings of a group that this scheduler ignores."""
        known = self._groups.source(group)
        if known is not None and isinstance(known[1], DescribedMap):
            # ``TopologyGroups`` reports faults of a ConfigMap, even if its group has no pods.
            return
        demand = self._groups.demand(group)
        if demand is None or group.member.share:
            return
        if demand.problem:
            self._write(group, EventReason.INVALID_GROUP, demand.problem)
        ignored = self._groups.not_honoured(group)
        if ignored:
            reason, about = EventReason.NOT_HONOURED, self._find_object(group) or self._first_pod(group)
            self._write(group, reason, ignored, (reason, ""), about)

    def forget(self, owner: str) -> None:
        """Forget the events of an object, or of a job without an object, that is gone."""
        self._written.pop(owner, None)

    def _write(
        self,
        group: Group,
        reason: EventReason,
        message: str,
        topic: tuple[str, str] | None = None,
        about: ObjectRef | None = None,
    ) -> None:
        """Write an event about a group, unless the last event about the same topic had the same text.

        Without ``topic``, the topic is the group's state.
        """
        about = about or self._find_object(group)
        if about is None:
            return
        # If the group has no object, its first pod gets the event. Remember by job on which object the event was
        # written, as the group's first pod may change.
        owner = group.job.id if about.kind == "Pod" else about.uid
        text = f"{group.member.name}: {message}" if group.member.part else message
        written = self._written.setdefault(owner, {})
        gist = f"{reason}: {reasons_of(message)}"
        topic = topic or group.member[1:3]
        if written.get(topic) == gist:
            return
        written[topic] = gist
        self._actions.append(AnnounceGroup(about, reason, text))

    def _find_object(self, group: Group) -> ObjectRef | None:
        """Return the object that states a group's requirements, None if no event can be written about it."""
        known, source = self._groups.source(group), group.member.source
        if known is None:
            return None
        uid, found = known
        if isinstance(found, DescribedMap):
            metadata = found.found.metadata
            return ObjectRef("v1", "ConfigMap", uid, metadata.namespace or "default", metadata.name)
        kind = POD_GROUP if isinstance(found, PodGroup) else source.kind
        if kind not in _VERSIONS:
            return None
        return ObjectRef(*_VERSIONS[kind], uid, source.namespace, source.name)

    def _first_pod(self, group: Group) -> ObjectRef | None:
        """Return a pod of the group, for events about a group that has no object; None if no pod is known."""
        known = [uid for uid in sorted(group.progress) if self._tasks.get(uid) is not None]
        if not known:
            return None
        return ObjectRef("v1", "Pod", known[0], *self._tasks.get_name(known[0]).split("/", 1))

    def _forget_state(self, group: Group) -> None:
        known = self._groups.source(group)
        if known is not None:
            self._written.get(known[0], {}).pop(group.member[1:3], None)

    def _explain_too_large(self, group: Group, needed: int, slots: int) -> str:
        """Return why a group could not be placed even if all nodes were empty, or ""."""
        if needed <= slots:
            return ""
        known, field = self._groups.source(group), "minCount"
        if known is not None and isinstance(known[1], DescribedMap):
            field = "data.size"
        elif known is not None and isinstance(known[1], PodGroup | SigsPodGroup | VolcanoPodGroup):
            field = "spec.minMember"
        elif group.member.source.kind in (SIGS_POD_GROUP, BUNDLE):
            field = "min-available"
        return (
            f"{field}: {format_count_with_verb(needed, 'pod')} more than the {slots:,} that all "
            f"{format_count(len(self._machines), 'node')} take together; "
            "add nodes or lower it"
        )
