"""Jobs of Volcano: their pods by task and partition, and the PodGroup that their controller makes."""

from __future__ import annotations

from typing import Any

from poseidon.api import read
from poseidon.kube.api.pod_groups import VolcanoPodGroup


def task(name: str, replicas: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [{"name": "c"}]}}, **more}


def job(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    metadata = {"name": "j", "namespace": "shop"}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"tasks": list(tasks), **spec},
    }


def group_of(*objects: Any) -> VolcanoPodGroup:
    [found] = [each for each in read(list(objects)).manifests.for_models if isinstance(each, VolcanoPodGroup)]
    return found


def test_pods_have_the_names_and_marks_of_their_tasks():
    found = read([job(task("ps"), task("worker", 2), queue="q", schedulerName="poseidon")]).manifests
    assert [each.metadata.name for each in found.pods] == ["j-ps-0", "j-worker-0", "j-worker-1"]
    last = found.pods[-1]
    assert last.spec.scheduler_name == "poseidon"
    labels = last.metadata.labels
    assert labels["volcano.sh/job-name"] == "j"
    assert labels["volcano.sh/task-spec"] == "worker"
    assert labels["volcano.sh/queue-name"] == "q"
    assert labels["volcano.sh/job-namespace"] == "shop"
    assert labels["volcano.sh/task-index"] == "1"
    [bare] = read([job(task("t"))]).manifests.pods
    assert bare.spec.scheduler_name == "volcano"
    assert bare.metadata.labels["volcano.sh/queue-name"] == "default"


def test_a_group_takes_all_pods_unless_said():
    assert group_of(job(task("ps"), task("worker", 2))).spec.min_member == 3
    found = group_of(job(task("ps"), task("worker", 4, minAvailable=2), minAvailable=3)).spec
    assert found.min_member == 3
    assert dict(found.min_task_member) == {"worker": 2}


def test_a_task_may_be_partitioned():
    policy = {"partitionSize": 2, "minPartitions": 1}
    objects = job(task("worker", 5, partitionPolicy=policy))
    pods = read([objects]).manifests.pods
    labels = [
        next(value for key, value in each.metadata.labels.items() if "partition" in key) for each in pods
    ]
    assert labels == ["0", "0", "1", "1", "2"]
    assert [each.metadata.labels["volcano.sh/task-index"] for each in pods] == ["0", "1", "2", "3", "4"]
    [made] = group_of(objects).spec.sub_group_policy
    assert (made.name, made.sub_group_size, made.min_sub_groups) == ("worker", 2, 1)
    alone = job(
        task("worker", 3, partitionPolicy={"networkTopology": {"mode": "hard", "highestTierAllowed": 1}})
    )
    [made] = group_of(alone).spec.sub_group_policy
    assert (made.sub_group_size, made.min_sub_groups) == (1, 0)
