"""Decides what is written into the statuses of queues: numbers of workloads, used amounts, condition ``Active``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from poseidon.kube.api import kinds
from poseidon.kube.api.kinds import WatchedKind
from poseidon.kube.api.metadata import Condition, format_time
from poseidon.kube.api.other_projects.queues import ClusterQueue, LocalQueue
from poseidon.kube.write.patch_writer import QueueStatusWrite
from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.model import QuotaNode
from poseidon.queues.queue_names import QueueReference
from protos.firmament.v1 import scheduler_pb2 as pb

ACTIVE = "Active"
"""The type of the condition that says whether a queue admits pods."""

PAUSE_SECONDS = 5.0
"""The shortest time between two writes of a queue's counts and amounts, which change with each workload."""

_READY = ("Ready", "Can admit new workloads")
_LONGEST = 1024


class WorkloadOfPod(NamedTuple):
    """The workload with which a pod is admitted, and whether the pod has a node."""

    workload: str
    placed: bool


class WorkloadCounts(NamedTuple):
    """How many workloads of a queue wait, and how many have been admitted."""

    pending: int
    admitted: int


def amount_text(resource: str, amount: int) -> str:
    """Return an amount, given in the protocol's unit, as a Kubernetes quantity."""
    if resource != "cpu":
        return str(amount)
    return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"


class QueueStatuses:
    """The statuses of queues that have changed since ``take_status_writes`` was called last.

    ``find_workload`` returns a pod's workload and whether the pod has a node, None if the pod is not known. ``clock``
    is monotonic; ``wall`` returns seconds since the epoch.
    """

    def __init__(
        self,
        known_queues: KnownQueues,
        find_workload: Callable[[str], WorkloadOfPod | None],
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._known_queues = known_queues
        self._find_workload = find_workload
        self._clock = clock
        self._wall = wall
        self._quiet_until: dict[str, float] = {}
        self._quota_of: dict[QueueReference, str] = {}
        self.states: dict[str, pb.QueueState] = {}
        """The last state that the solver has sent for each quota."""
        self._due: dict[str, None] = {}
        self._written: dict[str, Mapping[str, Any]] = {}
        self._known: Mapping[str, QuotaNode] = {}

    def on_round(self, states: Sequence[pb.QueueState]) -> None:
        """Store the states of quotas that the solver has sent after a round."""
        for state in states:
            if state.name not in self.states:
                self._quiet_until.pop(state.name, None)  # The last write did not contain this quota's use.
            self.states[state.name] = state
            self._due[state.name] = None

    def count_workloads(self, references: Sequence[QueueReference]) -> WorkloadCounts:
        """Return how many workloads of these queues wait, and how many have been admitted."""
        placed: Counter[str] = Counter()
        for reference in references:
            for uid in self._known_queues.list_pods(reference):
                found = self._find_workload(uid)
                if found is not None:
                    placed[found.workload] += found.placed
        admitted = sum(count > 0 for count in placed.values())
        return WorkloadCounts(len(placed) - admitted, admitted)

    def take_status_writes(self) -> list[QueueStatusWrite]:
        """Return the statuses that have changed since the last call.

        Changes of a quota's use are left for a later call if the use was written less than ``PAUSE_SECONDS`` ago.
        Changes of a quota's settings are returned at once.
        """
        quotas, now = self._known_queues.quotas, self._clock()
        changed: set[str] = set()
        if quotas is not self._known:
            changed = {name for name, each in quotas.items() if self._known.get(name) != each}
            self._due.update(
                dict.fromkeys(quotas)
            )  # A LocalQueue that is new or names another ClusterQueue moves its pods to another quota.
            for name in self.states.keys() - quotas.keys():
                del self.states[name]
                self._quiet_until.pop(name, None)
            self._known = quotas
        self._due.update(dict.fromkeys(self._take_touched()))
        due = [name for name in self._due if name in changed or self._quiet_until.get(name, now) <= now]
        if not due:
            return []
        by_quota = self._known_queues.list_references()
        writes: list[QueueStatusWrite] = []
        for name in due:
            del self._due[name]
            found = [*self._make_writes(quotas[name], by_quota.get(name, []))] if name in quotas else []
            if found:
                self._quiet_until[name] = now + PAUSE_SECONDS
                writes += found
        return writes

    def _take_touched(self) -> list[str]:
        """Return the quotas to which pods were added or from which pods were removed since the last call."""
        touched, self._known_queues.touched = self._known_queues.touched, {}
        if not touched:
            return []
        former = self._quota_of
        self._quota_of = {
            reference: name
            for name, found in self._known_queues.list_references().items()
            for reference in found
        }
        return [name for each in touched if (name := self._quota_of.get(each) or former.get(each))]

    def _make_writes(
        self, quota: QuotaNode, references: Sequence[QueueReference]
    ) -> Iterator[QueueStatusWrite]:
        found = self._known_queues.find_object(quota.name)
        if found is None or found[0] is kinds.KAI_QUEUE:  # KAI's own controller writes this status.
            return
        kind, each = found
        status: dict[str, Any]
        if isinstance(each, ClusterQueue):
            counts = self.count_workloads(references)
            status = {**_counts_status(counts), **self._usage_status(quota.name)}
            status["conditions"] = self._conditions(each.status.conditions, quota)
            for local in self._known_queues.list_local_queues(each.metadata.name):
                own = [reference for reference in references if _names(reference, local)]
                yield from self._write(kinds.LOCAL_QUEUE, local, self._local_status(local, quota, own))
        else:
            used = self._sum_used(quota.name)
            status = {"allocated" if kind is kinds.VOLCANO_QUEUE else "used": used}
        yield from self._write(kind, each, status)

    def _local_status(
        self, local: LocalQueue, quota: QuotaNode, references: Sequence[QueueReference]
    ) -> dict[str, Any]:
        status = _counts_status(self.count_workloads(references))
        status["conditions"] = self._conditions(local.status.conditions, quota)
        return status

    def _write(self, kind: WatchedKind, found: Any, status: dict[str, Any]) -> Iterator[QueueStatusWrite]:
        """Yield a status if it differs from the status that was written last, by this bridge or an earlier one."""
        metadata = found.metadata
        uid = metadata.uid or f"{kind.name}/{metadata.namespace}/{metadata.name}"
        former = self._written.get(uid)
        if former is None:
            stated = msgspec.json.decode(msgspec.json.encode(found.status))
            former = {key: stated.get(key, _EMPTY.get(key)) for key in status}
        if former == status:
            self._written.setdefault(uid, status)
            return
        self._written[uid] = status
        yield QueueStatusWrite(metadata.uid, kind.resource.path, metadata.namespace, metadata.name, status)

    def _usage_status(self, name: str) -> dict[str, Any]:
        by_flavor: dict[str, list[dict[str, str]]] = {}
        state = self.states.get(name)
        for use in state.uses if state is not None else ():
            amounts = {"total": amount_text(use.resource, use.used)}
            if use.borrowed > 0:
                amounts["borrowed"] = amount_text(use.resource, use.borrowed)
            by_flavor.setdefault(use.flavor, []).append({"name": use.resource, **amounts})
        usage = [{"name": flavor, "resources": resources} for flavor, resources in by_flavor.items()]
        return {"flavorsReservation": usage, "flavorsUsage": usage}

    def _sum_used(self, name: str) -> dict[str, str]:
        used: Counter[str] = Counter()
        state = self.states.get(name)
        for use in state.uses if state is not None else ():
            used[use.resource] += use.used
        return {resource: amount_text(resource, amount) for resource, amount in sorted(used.items())}

    def _conditions(self, former: Sequence[Condition], quota: QuotaNode) -> list[dict[str, Any]]:
        """Return the conditions of a queue: ``Active``, and those that other programs wrote, unchanged."""
        status = "False" if quota.problem else "True"
        reason, message = (quota.reason, quota.problem[:_LONGEST]) if quota.problem else _READY
        since = next(
            (each.last_transition_time for each in former if each.type == ACTIVE and each.status == status),
            None,
        )
        kept = [msgspec.to_builtins(each) for each in former if each.type != ACTIVE]
        active = {
            "type": ACTIVE,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since or format_time(self._wall()),
        }
        return [*kept, active]


_EMPTY: Mapping[str, Any] = {
    "pendingWorkloads": 0,
    "reservingWorkloads": 0,
    "admittedWorkloads": 0,
    "flavorsReservation": [],
    "flavorsUsage": [],
    "conditions": [],
    "used": {},
    "allocated": {},
}
"""The values of a status that are treated like a missing field."""


def _counts_status(counts: WorkloadCounts) -> dict[str, Any]:
    return {
        "pendingWorkloads": counts.pending,
        "reservingWorkloads": counts.admitted,
        "admittedWorkloads": counts.admitted,
    }


def _names(reference: QueueReference, local: LocalQueue) -> bool:
    return (reference.namespace, reference.name) == (local.metadata.namespace, local.metadata.name)
