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
    """The workload's name, as ``poseidon plan`` prints it."""
    pods: tuple[str, ...]
    """The uids of the workload's waiting pods, in order of their names."""
    priority: int
    """The priority of the workload's pods."""
    created: float
    """Creation time of the workload's first waiting pod, in seconds since the epoch."""


def list_members(cluster: OfflineCluster) -> dict[str, list[str]]:
    """Return, by workload, the uids of its pods that have not ended, in order of their names."""
    found: dict[str, list[str]] = {}
    for uid, pod in sorted(cluster.pods.items()):
        if not pod.terminal:
            found.setdefault(workload_of(pod), []).append(uid)
    return found


def order_queues(
    cluster: OfflineCluster, plan: Plan, members: Mapping[str, Sequence[str]]
) -> dict[str, list[QueuedWorkload]]:
    """Return, by quota, the workloads that wait for the quota, ordered by priority, then by age.

    ``members`` has the pods of each workload, as ``list_members`` returns them.
    """
    known_queues = cluster.state.queues
    if known_queues is None:
        return {}
    pending = {each.pod for each in plan.pending}
    found: dict[str, list[QueuedWorkload]] = {}
    for workload, pods in members.items():
        waiting = tuple(uid for uid in pods if uid in pending)
        record = cluster.state.tasks.get(waiting[0]) if waiting else None
        quota = known_queues.resolve(waiting[0]).quota if record is not None else ""
        if record is not None and quota:
            task = record.task
            found.setdefault(quota, []).append(QueuedWorkload(workload, waiting, task.priority, task.created))
    for each in found.values():
        each.sort(key=lambda one: (-one.priority, one.created, one.workload))
    return found
