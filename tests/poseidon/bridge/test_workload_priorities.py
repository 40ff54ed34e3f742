"""Priority classes of workloads in the bridge: pods wait for theirs, and have its value from then on."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.queues.queue_names import KUEUE_PRIORITY
from tests.poseidon.queues.objects import workload_priority
from tests.poseidon.queues.test_book import kueue, priority_of, queued


def test_pods_that_wait_for_a_priority_class_are_taken_once_it_is_there():
    stage = kueue()
    made = queued()
    labels = {**made.metadata.labels, KUEUE_PRIORITY: "high"}
    stage.add(replace(made, metadata=replace(made.metadata, labels=labels)))
    assert "WorkloadPriorityClass high does not exist" in stage.wait_of()
    stage.tell(workload_priority("high", 7))
    assert (stage.wait_of(), priority_of(stage)) == ("", 7)
