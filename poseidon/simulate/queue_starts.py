"""Computes when workloads that wait in queues are expected to start; the dashboard's worker process calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poseidon.pods.tasks import workload_of
from poseidon.ui.work.inputs import ClusterInput, read

if TYPE_CHECKING:
    from poseidon.simulate.expected_starts import QueueStarts


def expect_queue_starts(given: ClusterInput) -> dict[str, Any]:
    """Return when waiting pods are expected to get nodes, by queue and workload, and the input's time (``asOf``).

    Raises ``UnreadableInputError`` if the input cannot be used.
    """
    from poseidon.simulate.expected_starts import expect_starts, group_by_queue, group_starts

    found = read(given)
    starts = expect_starts(found.manifests, found.configuration, found.now)
    pods = (*found.manifests.pods, *found.manifests.suspended)
    workloads = {each.metadata.uid: workload_of(each) for each in pods}
    by_workload = group_starts(starts, lambda each: workloads.get(each.pod, each.pod) if each.queue else "")
    return {
        "asOf": found.now,
        "queues": {name: _describe_starts(each) for name, each in group_by_queue(starts).items()},
        "workloads": {name: _describe_starts(each) for name, each in by_workload.items()},
    }


def _describe_starts(starts: QueueStarts) -> dict[str, Any]:
    return {**starts.as_json(), "text": list(starts.format_times())}
