"""The condition of PodGroups of Kubernetes itself that says whether a group is scheduled, in kube-scheduler's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from poseidon.kube.api.core import Condition
from poseidon.kube.api.pod_groups import NativePodGroup
from poseidon.kube.api.references import timestamp
from poseidon.kube.write.patch_writer import GroupConditionWrite
from poseidon.lifecycle.pending_reasons import reasons_of
from poseidon.pod_groups.demands import ignored_by_native
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.pod_groups.sources import Known

CONDITION = "PodGroupScheduled"
SCHEDULED, UNSCHEDULABLE = "Scheduled", "Unschedulable"

_WAITS = frozenset({pb.GangState.WAITING, pb.GangState.FAILED, pb.GangState.PREEMPTED})


class _Told(NamedTuple):
    """What the condition says; ``gist`` is its message without counts."""

    status: str
    gist: str
    since: str | None


class GroupConditions:
    """Decides what is written, and when: a new status, or other reasons; new counts alone are not worth a write.

    What the group asks for and does not get stands behind it. While members are being bound, or wait for others to
    leave, nothing changes. ``wall`` tells seconds since the epoch.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._told: dict[str, _Told] = {}

    def consider(
        self, uid: str, found: Known, state: pb.GangState.State.ValueType, message: str
    ) -> GroupConditionWrite | None:
        """Return what is to be written of a group that stands as ``state`` says, None if that is nothing new."""
        if not isinstance(found, NativePodGroup) or (state not in _WAITS and state != pb.GangState.BOUND):
            return None
        waits = state in _WAITS
        status, message = ("False", message) if waits else ("True", "")
        message = " ".join(filter(None, (message, ignored_by_native(found))))
        told = self._told.get(uid) or _as_found(found)
        if (told.status, told.gist) == (status, reasons_of(message)):
            self._told[uid] = told
            return None
        since = told.since if told.status == status and told.since else timestamp(self._wall())
        self._told[uid] = _Told(status, reasons_of(message), since)
        condition = Condition(CONDITION, status, UNSCHEDULABLE if waits else SCHEDULED, message, since)
        return GroupConditionWrite(uid, found.metadata.namespace or "default", found.metadata.name, condition)

    def forget(self, uid: str) -> None:
        """A PodGroup is gone."""
        self._told.pop(uid, None)


def _as_found(found: NativePodGroup) -> _Told:
    """What the object says already."""
    for each in found.status.conditions:
        if each.type == CONDITION:
            return _Told(each.status, reasons_of(each.message), each.last_transition_time)
    return _Told("", "", None)
