"""Waiting workloads by queue: by priority, then by age, then by name."""

from __future__ import annotations

from poseidon.api import read
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.plan import schedule_pods
from poseidon.offline.queue_order import QueuedWorkload, list_members, order_queues
from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import LABEL, cluster_queue, flavor, local_queue, quotas

QUOTA = "ClusterQueue/team"
QUEUES = [flavor(), cluster_queue("team", quotas(cpu=1, memory="64Gi")), local_queue("users", "team")]


def queued(name: str, *, hour: int = 1, labels: bool = True, job: str = "", **spec) -> dict:
    metadata: dict = {"creationTimestamp": f"2026-01-01T{hour:02}:00:00Z"}
    if labels:
        metadata["labels"] = {LABEL: "users"}
    if job:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": True}
        metadata["ownerReferences"] = [owner]
    return pod(name, metadata=metadata, **{"cpu": "1", **spec})


def ordered(*objects, config=None):
    found = read([node("n1"), *QUEUES, *objects], config=config or {"queues": {"source": "kueue"}})
    cluster = build_offline_cluster(found.manifests, found.configuration, 1.8e9)
    members = list_members(cluster)
    return order_queues(cluster, schedule_pods(cluster, found.manifests), members), members


def test_members_are_pods_that_have_not_ended_by_workload():
    _, members = ordered(
        queued("b", job="j"),
        queued("a", job="j"),
        queued("done", phase="Succeeded"),
        queued("own", labels=False),
    )
    assert members == {"shop/Job/j": ["shop/a", "shop/b"], "shop/own": ["shop/own"]}


def test_workloads_wait_by_priority_then_age_then_name():
    first = queued("first", hour=0, priority=100)
    found, _ = ordered(
        first,
        queued("old", hour=2, priority=5),
        queued("new", hour=3, priority=5),
        queued("twin", hour=3, priority=5),
        queued("least", hour=1, priority=4),
        queued("free", hour=1, labels=False),
    )
    assert {quota: [each.workload for each in listed] for quota, listed in found.items()} == {
        QUOTA: ["shop/old", "shop/new", "shop/twin", "shop/least"]
    }
    assert found[QUOTA][0] == QueuedWorkload("shop/old", ("shop/old",), 5, 1_767_232_800.0)


def test_only_pods_that_wait_count_of_a_workload():
    found, _ = ordered(
        queued("a", job="j", hour=1), queued("b", job="j", hour=2), queued("c", job="j", hour=3)
    )
    [waiting] = found[QUOTA]
    assert waiting.workload == "shop/Job/j"
    assert len(waiting.pods) == 2
    assert "shop/a" not in waiting.pods


def test_without_queues_there_is_no_order():
    assert ordered(queued("a", cpu="99"), config={"queues": {"source": []}})[0] == {}
