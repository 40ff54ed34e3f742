"""Decides when the condition of a PodGroup or CompositePodGroup is written, and what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from poseidon.kube.api.event_reasons import ConditionType
from poseidon.kube.api.metadata import Condition, format_time
from poseidon.kube.api.pod_groups import CompositePodGroup, NativePodGroup
from poseidon.kube.write.patch_writer import GroupConditionWrite
from poseidon.lifecycle.failed_scheduling_timing import reasons_of
from poseidon.pod_groups.demands import Known, list_ignored_by_native
from protos.firmament.v1 import scheduler_pb2 as pb

SCHEDULED, UNSCHEDULABLE = "Scheduled", "Unschedulable"
_WAITS = frozenset({pb.GangState.WAITING, pb.GangState.FAILED, pb.GangState.PREEMPTED})


class _WrittenCondition(NamedTuple):
    """A group's condition as last written; ``gist`` is the condition's message without counts."""

    status: str
    gist: str
    since: str | None


class GroupConditions:
    """The rule when a PodGroup's condition is written: if its status or reasons change, not if only counts change.

    The message ends with the group's fields that this scheduler ignores. No condition is written while members are
    being bound, or wait for victims to leave. ``wall`` returns seconds since the epoch.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._written: dict[str, _WrittenCondition] = {}

    def consider(
        self, uid: str, found: Known, state: pb.GangState.State.ValueType, message: str
    ) -> GroupConditionWrite | None:
        """Return the condition to write for a group in this ``state``, None if the object has it already."""
        composite = isinstance(found, CompositePodGroup)
        if not isinstance(found, NativePodGroup | CompositePodGroup):
            return None
        if state not in _WAITS and state != pb.GangState.BOUND:
            return None
        waits = state in _WAITS
        status, message = ("False", message) if waits else ("True", "")
        if isinstance(found, NativePodGroup):
            message = " ".join(filter(None, (message, list_ignored_by_native(found))))
        former = self._written.get(uid) or _as_found(found)
        if (former.status, former.gist) == (status, reasons_of(message)):
            self._written[uid] = former
            return None
        since = former.since if former.status == status and former.since else format_time(self._wall())
        self._written[uid] = _WrittenCondition(status, reasons_of(message), since)
        condition = Condition(_type_of(found), status, UNSCHEDULABLE if waits else SCHEDULED, message, since)
        namespace = found.metadata.namespace or "default"
        return GroupConditionWrite(uid, namespace, found.metadata.name, condition, composite)

    def forget(self, uid: str) -> None:
        """Remove a PodGroup that has been deleted."""
        self._written.pop(uid, None)


def _type_of(found: NativePodGroup | CompositePodGroup) -> ConditionType:
    composite = isinstance(found, CompositePodGroup)
    return ConditionType.COMPOSITE_POD_GROUP_SCHEDULED if composite else ConditionType.POD_GROUP_SCHEDULED


def _as_found(found: NativePodGroup | CompositePodGroup) -> _WrittenCondition:
    """Return the condition that is in the object's status."""
    for each in found.status.conditions:
        if each.type == _type_of(found):
            return _WrittenCondition(each.status, reasons_of(each.message), each.last_transition_time)
    return _WrittenCondition("", "", None)
