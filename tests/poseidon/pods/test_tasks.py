"""Pods as tasks: what they have to do with a scheduler, their identity, priority and times."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pods import Pod
from poseidon.pods.classes import ClassTable
from poseidon.pods.priority_classes import PriorityResolver
from poseidon.pods.tasks import (
    LONGEST,
    Disposition,
    classify_pod,
    get_qualified_name,
    job,
    job_id,
    join_parts,
    parts_of,
    reduce_pod,
    scheduler_of,
    translate_pod,
    workload_of,
)
from tests.support.needs import visible


def pod(metadata: Any = None, status: Any = None, **spec: Any) -> Pod:
    spec.setdefault("containers", [{"name": "c", "resources": {"requests": {"cpu": "1"}}}])
    named = {"name": "p", "namespace": "ns", "uid": "u", **(metadata or {})}
    return convert_object({"metadata": named, "spec": spec, "status": status or {}}, Pod)


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod(), Disposition.PENDING),
        (pod(status={"phase": "Succeeded"}, nodeName="n"), Disposition.FINISHED),
        (pod(DELETED, status={"phase": "Failed"}), Disposition.FINISHED),
        (pod(nodeName="n"), Disposition.BOUND),
        (pod(DELETED, nodeName="n"), Disposition.BOUND),
        (pod(DELETED), Disposition.TERMINATING),
        (pod(DELETED, schedulingGates=[{"name": "g"}]), Disposition.TERMINATING),
        (pod(schedulingGates=[{"name": "g"}]), Disposition.GATED),
        (pod(nodeName="n", schedulingGates=[{"name": "g"}]), Disposition.BOUND),
    ],
)
def test_what_a_scheduler_has_to_do_with_a_pod(found, expected):
    assert classify_pod(found) is expected


def owned(kind: str = "Job", name: str = "j", uid: str = "o", *, controller: bool = True) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": kind, "name": name, "uid": uid, "controller": controller}]}


def test_the_job_of_a_pod_is_that_of_its_controller_within_its_namespace():
    assert job_id(pod().metadata) == ""
    assert job(pod().metadata) is None
    assert job_id(pod(owned(controller=False)).metadata) == ""
    assert job_id(pod(owned()).metadata) == "Owner/ns/Job/j/o"
    assert job_id(pod(owned(uid="")).metadata) == "Owner/ns/Job/j"
    assert job_id(pod({**owned(), "namespace": ""}).metadata) == "Owner/default/Job/j/o"
    found = job(pod(owned()).metadata)
    assert found is not None
    assert (found.id, found.name, found.namespace) == ("Owner/ns/Job/j/o", "ns/Job/j", "ns")


def test_names_say_the_namespace_and_the_workload():
    assert get_qualified_name(ObjectMeta(name="p")) == "default/p"
    assert get_qualified_name(ObjectMeta(name="p", namespace="ns")) == "ns/p"
    assert workload_of(pod()) == "ns/p"
    assert workload_of(pod(owned())) == "ns/Job/j"
    assert scheduler_of(pod()) == "default-scheduler"
    assert scheduler_of(pod(schedulerName="mine")) == "mine"


@pytest.mark.parametrize("parts", [("a", "b"), ("a/b", "c"), ("a", "b/c"), ("%2F", "/"), ("", ""), ("a%",)])
def test_identities_are_different_for_different_parts_and_can_be_read_again(parts):
    assert parts_of(join_parts(*parts)) == list(parts)


def test_long_identities_are_shortened_to_a_digest_and_stay_different():
    just = "x" * (LONGEST - 2)
    assert join_parts("a", just) == f"a/{just}"
    one, two = join_parts("a", f"{just}y"), join_parts("a", f"{just}z")
    assert one != two
    assert one.startswith("a/")
    assert len(one) == len("a/") + 64
    assert len(join_parts("b" * 2 * LONGEST, "c")) == LONGEST // 2 + 1 + 64


def test_a_resize_under_way_counts_with_the_larger_request():
    table = ClassTable()
    held = {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "1"}}
    found = translate_pod(pod(status={"containerStatuses": [held]}, nodeName="n"), table, PriorityResolver())
    [cpu] = table.message(found.task_class).requests
    assert cpu.amount == 3000


SINCE = [
    {"type": "PodScheduled", "status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z"},
    {"type": "Initialized", "status": "True", "lastTransitionTime": "1970-01-01T00:02:00Z"},
]


@pytest.mark.parametrize(
    ("status", "node", "timed", "times"),
    [
        ({}, "", True, (0.0, 0.0)),
        ({"conditions": SINCE}, "n", True, (60.0, 120.0)),
        ({"conditions": SINCE}, "n", False, (60.0, 0.0)),
        ({"conditions": SINCE}, "", False, (0.0, 0.0)),
        ({"conditions": SINCE, "startTime": "1970-01-01T00:00:30Z"}, "n", False, (30.0, 0.0)),
        ({"conditions": SINCE, "startTime": "1970-01-01T00:00:30Z"}, "n", True, (60.0, 120.0)),
        ({"startTime": "1960-01-01T00:00:00Z"}, "n", False, (0.0, 0.0)),
        ({"conditions": [{**each, "status": "False"} for each in SINCE]}, "n", True, (0.0, 0.0)),
        ({"conditions": [{**each, "lastTransitionTime": None} for each in SINCE]}, "n", True, (0.0, 0.0)),
    ],
)
def test_times_are_those_of_the_status(status, node, timed, times):
    table = ClassTable(visible("load_threshold") if timed else None)
    assert table.visibility.timed is timed
    found = translate_pod(pod(status=status, nodeName=node), table, PriorityResolver())
    assert (found.scheduled, found.initialized) == times


@pytest.mark.parametrize(
    ("created", "expected"), [("1970-01-01T00:01:00Z", 60.0), ("1960-01-01T00:00:00Z", 0.0), (None, 0.0)]
)
def test_a_pod_that_claims_to_be_older_than_time_counts_as_from_its_beginning(created, expected):
    assert (
        translate_pod(pod({"creationTimestamp": created}), ClassTable(), PriorityResolver()).created
        == expected
    )


def test_of_a_pod_that_is_not_placed_here_only_what_it_uses_counts():
    found = pod(
        {"labels": {"a": "b"}, **DELETED},
        status={"phase": "Running"},
        nodeName="n",
        schedulerName="other",
        priority=7,
        nodeSelector={"a": "b"},
        containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        initContainers=[{"name": "i", "image": "j", "restartPolicy": "Always"}],
        overhead={"cpu": "1"},
        resources={"requests": {"cpu": "3"}},
        priorityClassName="high",
        preemptionPolicy="Never",
        schedulingGates=[{"name": "g"}],
    )
    kept = reduce_pod(found)
    assert kept.metadata.labels == {}
    assert (kept.metadata.name, kept.metadata.uid, kept.metadata.namespace) == ("p", "u", "ns")
    assert kept.metadata.deletion_timestamp == found.metadata.deletion_timestamp
    assert (kept.spec.node_name, kept.spec.scheduler_name, kept.spec.priority) == ("n", "other", 7)
    assert kept.spec.node_selector == {}
    assert [(each.name, each.image) for each in kept.spec.containers] == [("c", "")]
    assert kept.spec.containers[0].resources == found.spec.containers[0].resources
    assert [each.restart_policy for each in kept.spec.init_containers] == ["Always"]
    assert (kept.spec.overhead, kept.spec.resources) == (found.spec.overhead, found.spec.resources)
    assert (kept.spec.priority_class_name, kept.spec.preemption_policy) == ("high", "Never")
    assert kept.spec.scheduling_gates == found.spec.scheduling_gates
    assert kept.status.phase == "Running"


GROWN = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        (
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            {"containerStatuses": [{"name": "c", **GROWN}]},
        ),
        (
            {
                "containers": [{"name": "c"}],
                "initContainers": [
                    {"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
                ],
            },
            {"initContainerStatuses": [{"name": "i", **GROWN}]},
        ),
        ({"containers": [{"name": "c"}], "resources": {"requests": {"cpu": "1"}}}, GROWN),
    ],
    ids=["container", "sidecar", "pod"],
)
def test_a_pod_that_is_resized_counts_with_what_it_still_uses(spec, status):
    table = ClassTable()
    found = translate_pod(
        pod(status={"phase": "Running", **status}, nodeName="n", **spec), table, PriorityResolver()
    )
    assert [(each.resource, each.amount) for each in table.message(found.task_class).requests] == [
        ("cpu", 2000)
    ]
