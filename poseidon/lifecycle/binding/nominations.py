"""The pods that wait for room on a node, as records for the solver: ours, for which others leave, so that a new solver
knows whose that room is; and those of other schedulers, so that it is left to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from poseidon.pods.resources import effective_requests
from poseidon.pods.tasks import Disposition, UnknownPriorityClassError, disposition

if TYPE_CHECKING:
    from poseidon.custom_records import CustomRecords
    from poseidon.kube.api.core import Pod
    from poseidon.lifecycle.records import PodRecord
    from poseidon.pods.tasks import PriorityResolver

NOMINATION_RECORD = "NominatedTask"
"""Records of this kind have a pod's uid for a name, and the name of its node for a payload."""


FOREIGN_NOMINATION_RECORD = "ForeignNomination"
"""Records of this kind have the uid of another scheduler's pod for a name, and for a payload its node, priority and
requests."""


class Nominations:
    """Tells ``records`` of the pods that are nominated for a node, until they are bound, or have no place after all.

    One that gets its place elsewhere in the end is still one for which others had to leave.
    """

    def __init__(self, records: CustomRecords) -> None:
        self._records = records
        self._told: set[str] = set()
        self._foreign: dict[str, bytes] = {}

    def put(self, record: PodRecord) -> None:
        """A pod is nominated for a node now."""
        self._told.add(record.task.uid)
        self._records.tell(NOMINATION_RECORD, record.task.uid, record.nominated.encode())

    def end(self, uid: str) -> None:
        """A pod is bound, or gone, or has no place: no room is kept for it."""
        if uid in self._told:
            self._told.discard(uid)
            self._records.tell(NOMINATION_RECORD, uid, None)

    def foreign(self, uid: str, payload: bytes | None) -> None:
        """Another scheduler's pod waits for room on a node (see ``foreign_nomination``), or no longer (None)."""
        if self._foreign.get(uid) == payload:
            return
        if payload is None:
            del self._foreign[uid]
        else:
            self._foreign[uid] = payload
        self._records.tell(FOREIGN_NOMINATION_RECORD, uid, payload)


def foreign_nomination(pod: Pod, priorities: PriorityResolver) -> bytes | None:
    """Return what is told of another scheduler's pod that is nominated for a node, None for one that is not.

    Of its requests as the kubelet will count them; what is wrong with them is not looked at here.
    """
    node = pod.status.nominated_node_name
    if not node or disposition(pod) is not Disposition.PENDING:
        return None
    try:
        priority = priorities.priority(pod.spec)
    except UnknownPriorityClassError:
        priority = 0
    return room_record(pod, node, priority)


def room_record(pod: Pod, node: str, priority: int) -> bytes:
    """Return what is told of room on a node for all that a pod requests, kept from pods of its priority or less."""
    requests = {**effective_requests(pod.spec, []), "pods": 1}
    return msgspec.json.encode({"machine": node, "priority": priority, "requests": requests})
