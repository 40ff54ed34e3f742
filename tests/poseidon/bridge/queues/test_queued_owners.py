"""Objects that own pods in queues: how many pods each is to have, and that its end is passed on."""

from __future__ import annotations

from typing import Any

from poseidon.bridge.queues.queued_owners import owner_changes, read_scale
from poseidon.kube.api.collections import QUEUED_OWNERS
from poseidon.kube.api.metadata import GenerationMeta
from poseidon.kube.api.other_projects.queues import QueuedOwner
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.resource import Change
from poseidon.kube.quarantine import Quarantine

JOB_SET = "jobset.x-k8s.io/v1alpha2"


def job_set(parallelism: Any) -> QueuedOwner:
    template = {
        "spec": {"parallelism": parallelism, "template": {"spec": {"containers": [{"name": "main"}]}}}
    }
    spec = {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": template}]}
    return QueuedOwner(GenerationMeta(name="train", namespace="shop", uid="uid-train"), spec)


def test_the_number_of_pods_is_stated_where_the_object_tells_it():
    assert read_scale("JobSet", JOB_SET, job_set(3)).spec.replicas == 6


def test_no_number_is_stated_where_the_object_does_not_make_sense():
    assert read_scale("JobSet", JOB_SET, job_set("many")).spec.replicas == 0


def test_objects_and_their_end_are_passed_on():
    taken: list[Change[ScaledOwner]] = []
    take = owner_changes("JobSet", QUEUED_OWNERS["JobSet"], taken.extend, None, Quarantine())
    take([Change("uid-train", job_set(3)), Change("uid-gone", None)])
    (train, end) = taken
    assert train.object is not None
    assert train.object.spec.replicas == 6
    assert end == Change("uid-gone", None)
