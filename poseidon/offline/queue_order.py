"""Lists the workloads that wait in queues after a plan, in the order in which each queue admits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from poseidon.offline.cluster import OfflineCluster
from poseidon.offline.plan import Plan
from poseidon.pods.tasks import workload_of


class QueuedWorkload(NamedTuple):
    """A workload that waits in a queue."""

    workload: str
    """Its name, as ``poseidon plan`` prints it."""
    pods: tuple[str, ...]
    """Its waiting pods (uids), in order of their names."""
    priority: int
    """The priority of its pods."""
    created: float
    """When its first waiting pod was created, in seconds since the epoch."""


def list_members(cluster: OfflineCluster) -> dict[str, list[str]]:
    """Return the pods (uids) of each workload that have not ended, in order of their names."""
    found: dict[str, list[str]] = {}
    for uid, pod in sorted(cluster.pods.items()):
        if not pod.terminal:
            found.setdefault(workload_of(pod), []).append(uid)
    return found


def order_queues(
    cluster: OfflineCluster, plan: Plan, members: Mapping[str, Sequence[str]]
) -> dict[str, list[QueuedWorkload]]:
    """Return, by quota, the workloads that wait in its queues, ordered by priority, then by age.

    ``members``: pods by workload, of ``list_members``.
    """
    book = cluster.state.queues
    if book is None:
        return {}
    pending = {each.pod for each in plan.pending}
    found: dict[str, list[QueuedWorkload]] = {}
    for workload, pods in members.items():
        waiting = tuple(uid for uid in pods if uid in pending)
        record = cluster.state.tasks.get(waiting[0]) if waiting else None
        quota = book.resolve(waiting[0]).quota if record is not None else ""
        if record is not None and quota:
            task = record.task
            found.setdefault(quota, []).append(QueuedWorkload(workload, waiting, task.priority, task.created))
    for each in found.values():
        each.sort(key=lambda one: (-one.priority, one.created, one.workload))
    return found
