"""Describes queues and the workloads that wait in them, as ``poseidon get queues`` and ``explain --workload`` do."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poseidon.offline.plan import schedule_pods
from poseidon.offline.queue_order import list_members, order_queues
from poseidon.offline.waiting_workloads import shorten_message
from poseidon.ui.work.inputs import ClusterInput, build_cluster, read
from poseidon.ui.work.planning import run_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from poseidon.offline.cluster import OfflineCluster
    from poseidon.offline.planned_queues import PlannedQueue, QueueUse
    from poseidon.offline.queue_order import QueuedWorkload

_UNREAD = "No queues are read: the configuration has to name their project (queues.source)."
_EMPTY = "There is no queue, and no quota from which pods could take."


def describe_queues(given: ClusterInput) -> dict[str, Any]:
    """Return the queues, the workloads that wait in them, and the time of the input.

    The keys are ``asOf``, ``queues``, ``waiting`` (workloads by queue), ``members`` and ``note``. ``members`` has the
    queue of each workload, also of workloads that do not wait. Raises ``UnreadableInputError`` if the input cannot be
    used.
    """
    found = read(given)
    if not found.configuration.queues.source:
        return {"asOf": found.now, "queues": [], "waiting": {}, "members": {}, "note": _UNREAD}
    cluster: OfflineCluster
    if given.paths:
        cluster, plan = run_plan(given)
    else:
        cluster = build_cluster(found)
        plan = schedule_pods(cluster, found.manifests)
    members = list_members(cluster)
    known_queues = cluster.state.queues
    of_workload = (
        {each: known_queues.resolve(pods[0]).quota for each, pods in members.items()} if known_queues else {}
    )
    reasons = {each.pod: each.reason for each in plan.pending}
    waiting = order_queues(cluster, plan, members)
    return {
        "asOf": found.now,
        "queues": [_describe_queue(each) for each in plan.queues],
        "waiting": {queue: _describe_waiting(ordered, reasons) for queue, ordered in waiting.items()},
        "members": {workload: queue for workload, queue in of_workload.items() if queue},
        "note": found.note or ("" if plan.queues else _EMPTY),
    }


def _describe_queue(queue: PlannedQueue) -> dict[str, Any]:
    return {**queue.as_json(), "depth": queue.depth, "uses": [_describe_use(each) for each in queue.uses]}


def _describe_use(use: QueueUse) -> dict[str, Any]:
    names = ("nominal", "used", "borrowed", "lent")
    return {**asdict(use), "text": dict(zip(names, use.format_amounts(), strict=True))}


def _describe_waiting(ordered: Sequence[QueuedWorkload], reasons: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "position": position,
            "workload": each.workload,
            "pods": len(each.pods),
            "priority": each.priority,
            "created": each.created,
            "reason": shorten_message(Counter(reasons[uid] for uid in each.pods).most_common(1)[0][0]),
        }
        for position, each in enumerate(ordered, 1)
    ]
