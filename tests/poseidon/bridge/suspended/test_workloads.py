"""Objects that own pods: whether they are suspended, and the pods that they would have."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from poseidon.bridge.queues.queued_owners import read_scale
from poseidon.bridge.suspended.workloads import (
    Workload,
    api_version_of,
    expand,
    read_workload,
    reduce_spec,
)
from poseidon.kube.api.collections import QUEUED_JOBS, QUEUED_OWNERS
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.queues import QueuedOwner
from poseidon.kube.api.pods import Pod, PodSpec
from tests.poseidon.bridge.suspended.job_cluster import job

VERSION = "batch/v1"


def read(value: dict[str, Any], kind: str = "Job") -> Workload | None:
    """The workload of an object as the watch shows it."""
    resource = QUEUED_JOBS if kind == "Job" else QUEUED_OWNERS[kind]
    found = convert_object(copy.deepcopy(value), QueuedOwner)
    scale = read_scale(kind, api_version_of(resource), found)
    return read_workload(kind, resource, found, scale)


def known(value: dict[str, Any], kind: str = "Job") -> Workload:
    found = read(value, kind)
    assert found is not None
    return found


def changed(**parts: Any) -> dict[str, Any]:
    """A Job with other fields in parts such as ``spec`` and ``status``."""
    made = job("a", 3)
    for name, fields in parts.items():
        made[name] = {**made[name], **fields}
    return made


def test_all_that_is_read_of_a_job():
    found = known(job("a", 3))
    assert str(found.ref.api_version) == VERSION
    assert (found.ref.kind, found.ref.uid, found.ref.namespace, found.ref.name) == (
        "Job",
        "job-a",
        "shop",
        "a",
    )
    assert (found.collection, found.generation, found.queue) == ("/apis/batch/v1/jobs", 1, "users")
    assert (found.suspended, found.ended, found.active, found.size) == (True, False, 0, 3)
    assert found.controller is None
    assert found.field == ("spec", "suspend")
    assert found.value["metadata"]["created"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (changed(spec={"suspend": False}), (False, False, 0, 3)),
        (changed(status={"active": 2}), (True, False, 2, 3)),
        (changed(status={"active": "many"}), (True, False, 0, 3)),
        (changed(status={"conditions": [{"type": "Complete", "status": "True"}]}), (True, True, 0, 3)),
        (changed(status={"conditions": [{"type": "Complete", "status": "False"}]}), (True, False, 0, 3)),
        (changed(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), (True, True, 0, 3)),
        (changed(spec={"completions": 2}), (True, False, 0, 2)),
        (changed(status={"succeeded": 1}), (True, False, 0, 2)),
        (changed(spec={"completions": None}), (True, False, 0, 3)),
        (changed(spec={"completions": None}, status={"succeeded": 1}), (True, False, 0, 0)),
    ],
)
def test_how_far_a_job_is(value, expected):
    found = known(value)
    assert (found.suspended, found.ended, found.active, found.size) == expected


def test_an_object_in_no_queue_or_of_another_kind_is_left_alone():
    assert read(job("a", queue="")) is None
    assert read(job("a"), "LeaderWorkerSet") is None
    assert read(changed(spec={"runPolicy": 5})) is None


def test_a_training_job_says_so_in_its_policy():
    value = {
        "metadata": {"name": "t", "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "users"}},
        "spec": {
            "runPolicy": {"suspend": True},
            "pytorchReplicaSpecs": {
                "Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "main"}]}}}
            },
        },
        "status": {"active": 4},
    }
    found = known(value, "PyTorchJob")
    assert found.field == ("spec", "runPolicy", "suspend")
    assert (found.suspended, found.size, found.active) == (True, 2, 0)
    assert found.ref.namespace == "default"
    assert len(expand(found, 1)) == 2


def test_pods_stand_for_those_that_a_job_would_have():
    value = job("a", 2, priority=7)
    value["spec"]["template"]["metadata"] = {"labels": {"app": "x"}, "annotations": {"note": "y"}}
    pods = expand(known(value), 5)
    assert [(each.metadata.name, each.metadata.uid) for each in pods] == [
        ("a[0]", "job-a[5.0]"),
        ("a[1]", "job-a[5.1]"),
    ]
    [first, _] = pods
    assert first.metadata.namespace == "shop"
    assert first.metadata.labels == {
        "app": "x",
        "job-name": "a",
        "batch.kubernetes.io/job-name": "a",
        "controller-uid": "job-a",
        "batch.kubernetes.io/controller-uid": "job-a",
    }
    assert first.metadata.annotations == {"note": "y"}
    assert first.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    owner = first.metadata.controller()
    assert owner is not None
    assert (owner.api_version, owner.kind, owner.name, owner.uid) == (VERSION, "Job", "a", "job-a")
    assert first.spec.priority == 7


def test_what_a_pod_gets_only_once_it_is_there_is_left_out():
    value = job(
        "a",
        1,
        nodeName="n1",
        schedulingGates=[{"name": "g"}],
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}],
        volumes=[
            {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
        ],
    )
    [pod] = expand(known(value), 1)
    assert (pod.spec.node_name, pod.spec.scheduling_gates, pod.spec.resource_claims) == ("", (), ())
    assert [each.name for each in pod.spec.volumes] == ["data"]


def test_a_limit_stands_for_a_request_that_a_container_does_not_state():
    stated = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    containers = [{"name": "c", "resources": stated}]
    [pod] = expand(
        known(job("a", 1, containers=containers, initContainers=[{**containers[0], "name": "i"}])), 1
    )
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        assert container.resources.requests == {"cpu": "1", "memory": "1Gi"}
        assert container.resources.limits == stated["limits"]


def test_pods_of_a_job_set_say_of_which_job_they_are_and_which_domain_they_want():
    topology = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    template = {"metadata": {"annotations": {"note": "y"}}, "spec": {"containers": [{"name": "c"}]}}
    value = {
        "metadata": {"name": "js", "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "users"}},
        "spec": {
            "suspend": True,
            "replicatedJobs": [
                {
                    "name": name,
                    "template": {
                        "metadata": {"annotations": {topology: "rack"}},
                        "spec": {"parallelism": count, "completions": count, "template": template},
                    },
                }
                for name, count in (("leader", 1), ("worker", 2))
            ],
        },
    }
    pods = expand(known(value, "JobSet"), 1)
    assert [each.metadata.name for each in pods] == ["js[0]", "js[1]", "js[2]"]
    roles = [each.metadata.labels["jobset.sigs.k8s.io/replicatedjob-name"] for each in pods]
    assert roles == ["leader", "worker", "worker"]
    assert {(each.metadata.annotations[topology], each.metadata.annotations["note"]) for each in pods} == {
        ("rack", "y")
    }


def spec(**fields: Any) -> PodSpec:
    given = {"containers": [{"name": "c"}], **fields}
    return convert_object({"metadata": {"name": "p"}, "spec": given}, Pod).spec


NOT_READY = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize(
    "fields",
    [
        {"nodeName": "n1"},
        {"schedulerName": "x"},
        {"priority": 5, "priorityClassName": "high", "preemptionPolicy": "Never"},
        {"restartPolicy": "Never"},
        {"activeDeadlineSeconds": 5},
        {"runtimeClassName": "r"},
        {"workloadRef": {"name": "w", "podGroup": "g"}},
        {"schedulingGroup": {"podGroupName": "g"}},
        {"schedulingGates": [{"name": "g"}]},
        {"tolerations": [NOT_READY]},
        {"tolerations": [{**NOT_READY, "key": "node.kubernetes.io/unreachable"}]},
        {"volumes": [{"name": "kube-api-access", "projected": {"sources": []}}]},
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
        {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]},
    ],
)
def test_what_does_not_decide_where_a_pod_may_go_makes_no_difference(fields):
    assert reduce_spec(spec(**fields)) == reduce_spec(spec())


@pytest.mark.parametrize(
    "fields",
    [
        {"nodeSelector": {"a": "b"}},
        {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        {"tolerations": [{"key": "a", "operator": "Exists"}]},
        {"tolerations": [{**NOT_READY, "effect": "NoSchedule"}]},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        {
            "hostNetwork": True,
            "containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}],
        },
    ],
)
def test_what_decides_where_a_pod_may_go_makes_one(fields):
    assert reduce_spec(spec(**fields)) != reduce_spec(spec())


def test_claims_are_told_by_what_they_name_not_by_the_name_of_the_volume():
    def with_claim(volume: str, claim: str) -> PodSpec:
        return reduce_spec(spec(volumes=[{"name": volume, "persistentVolumeClaim": {"claimName": claim}}]))

    assert with_claim("a", "c") == with_claim("b", "c")
    assert with_claim("a", "c") != with_claim("a", "d")
