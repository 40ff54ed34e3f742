"""Decides which node ``status.nominatedNodeName`` of a pod names, and tells the solver which pods are nominated."""

from __future__ import annotations

import msgspec

from poseidon.custom_records import CustomRecords
from poseidon.kube.api.pods import Pod
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.phases import UNDER_WAY, UNPLACED, PodRecord
from poseidon.pods.priority_classes import PriorityResolver, UnknownPriorityClassError
from poseidon.pods.requests_and_limits import effective_requests
from poseidon.pods.tasks import Disposition, classify_pod

NOMINATION_RECORD = "NominatedTask"
"""Kind of records whose name is a pod's uid, and whose payload is the name of the pod's nominated node."""

FOREIGN_NOMINATION_RECORD = "ForeignNomination"
"""Kind of records whose name is the uid of another scheduler's pod.

The payload is the pod's nominated node, its priority and its requests.
"""


class Nominations:
    """The nominated pods: ``actions`` write their nodes into their statuses, and ``records`` tell the solver.

    A record is kept until its pod is bound or loses its place.

    ``nominated`` are the uids of nominated pods of this scheduler. The reservation stays on that node until ``end``,
    even if the pod gets another node, because victims have left for it.
    """

    def __init__(self, records: CustomRecords, actions: list[Action]) -> None:
        self._records = records
        self._actions = actions
        self.nominated: set[str] = set()

    def nominate(self, record: PodRecord, node: str) -> None:
        """Write a node into ``status.nominatedNodeName`` of a pod; "" removes it.

        On this node, victims are evicted for the pod, or its claims are bound. The API server itself clears the
        nomination of a pod that is bound.
        """
        if record.phase not in UNPLACED | UNDER_WAY:
            record.nominated = ""
            return
        if record.nominated != node:
            record.nominated = node
            if node:
                self.put(record)
            self._actions.append(NominatedNodeWrite(record.ref, node))

    def put(self, record: PodRecord) -> None:
        """Record that a pod is nominated for a node."""
        self.nominated.add(record.task.uid)
        self._records.set_record(NOMINATION_RECORD, record.task.uid, record.nominated.encode())

    def end(self, uid: str) -> None:
        """Record that a pod is bound, deleted or without a place, so that no capacity is reserved for it."""
        if uid in self.nominated:
            self.nominated.discard(uid)
            self._records.set_record(NOMINATION_RECORD, uid, None)

    def foreign(self, uid: str, payload: bytes | None) -> None:
        """Record that another scheduler's pod is nominated (see ``make_foreign_nomination``), or no longer (None)."""
        self._records.set_record(FOREIGN_NOMINATION_RECORD, uid, payload)


def make_foreign_nomination(pod: Pod, priorities: PriorityResolver) -> bytes | None:
    """Return the record of another scheduler's pod that is nominated for a node, None if it is not.

    The record has the pod's requests as the kubelet will count them; they are not validated.
    """
    node = pod.status.nominated_node_name
    if not node or classify_pod(pod) is not Disposition.PENDING:
        return None
    try:
        priority = priorities.priority(pod.spec)
    except UnknownPriorityClassError:
        priority = 0
    return reservation_record(pod, node, priority)


def reservation_record(pod: Pod, node: str, priority: int) -> bytes:
    """Return the record that reserves a pod's requests on a node against pods of at most its priority."""
    requests = {**effective_requests(pod.spec, []), "pods": 1}
    return msgspec.json.encode({"machine": node, "priority": priority, "requests": requests})
