"""Queues in the bridge: pods wait for the priority class of their workload, and follow their queue."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.queues.queue_names import KUEUE_PRIORITY
from tests.poseidon.queues.objects import cluster_queue, local_queue, quotas, workload_priority
from tests.poseidon.queues.test_known_queues import kueue, priority_of, queued


def test_pods_that_wait_for_a_priority_class_are_taken_once_it_is_there():
    stage = kueue()
    made = queued()
    labels = {**made.metadata.labels, KUEUE_PRIORITY: "high"}
    stage.add(replace(made, metadata=replace(made.metadata, labels=labels)))
    assert "WorkloadPriorityClass high does not exist" in stage.wait_of()
    stage.tell(workload_priority("high", 7))
    assert (stage.wait_of(), priority_of(stage)) == ("", 7)


def test_pods_that_wait_are_told_of_with_their_queue_of_now():
    stage = kueue().tell(cluster_queue("other", quotas(cpu=4)))
    stage.add(queued())
    list(stage.state.take_events())
    stage.tell(local_queue("users", "other"))
    told = [uid for event in stage.state.take_events() for uid in event.tasks.uids]
    assert told == ["pod-p"]
    record = stage.state.tasks.get("pod-p")
    assert record is not None
    assert stage.state.classes.message(record.task.task_class).queue == "ClusterQueue/other"
