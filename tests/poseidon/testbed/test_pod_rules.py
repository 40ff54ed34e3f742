"""What the simulated API server sets, refuses and keeps of pods, as kube-apiserver does."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from poseidon.testbed.objects import pods
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.resources import PRIORITY_CLASSES, collection_spec
from poseidon.testbed.objects.store import Store


def make_pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main"}], **spec}}


def limited(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    return {"resources": {"requests": requests, "limits": limits}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        ({"containers": [{"name": "a"}, {}]}, "spec.containers[1].name: Required value"),
        (
            {"containers": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
            'spec.containers[2].name: Duplicate value: "a"',
        ),
    ],
)
def test_containers_need_names_of_their_own(spec, message):
    with pytest.raises(ApiError) as refused:
        pods.validate(make_pod(**spec))
    assert (refused.value.code, refused.value.message) == (422, f'Pod "p" is invalid: {message}')


def test_a_spec_of_wrong_types_is_not_understood():
    with pytest.raises(ApiError) as refused:
        pods.validate(make_pod(nodeName=5))
    assert refused.value.code == 400
    assert "cannot be handled as a Pod: spec: " in refused.value.message
    pods.validate(make_pod(containers=[{"name": "a"}, {"name": "b"}]))


def test_defaults_fill_only_what_is_not_stated():
    pod = make_pod(containers=[{"name": "a", **limited({"cpu": "1"}, {"cpu": "2", "memory": "3"})}])
    pod["spec"]["initContainers"] = [{"name": "i", "resources": {"limits": {"cpu": "4"}}}]
    pods.set_defaults(pod)
    assert pod["spec"] == {
        "containers": [
            {
                "name": "a",
                "resources": {"requests": {"cpu": "1", "memory": "3"}, "limits": {"cpu": "2", "memory": "3"}},
            }
        ],
        "initContainers": [{"name": "i", "resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "4"}}}],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
    }
    stated = {
        "restartPolicy": "Never",
        "schedulerName": "x",
        "terminationGracePeriodSeconds": 0,
        "dnsPolicy": "None",
    }
    other = make_pod(**stated)
    pods.set_defaults(other)
    assert {name: other["spec"][name] for name in stated} == stated


def store_with(*classes: dict[str, Any]) -> Store:
    store = Store(clock=lambda: 0.0, seed=1)
    collection = store.add_collection(collection_spec(PRIORITY_CLASSES))
    for each in classes:
        store.create(collection, each)
    return store


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "value": value, **more}


CLASSES = (
    priority_class("high", 100, preemptionPolicy="Never"),
    priority_class("usual", 7, globalDefault=True),
    priority_class("unusual", 8, globalDefault=True),
)


@pytest.mark.parametrize(
    ("classes", "stated", "name", "priority", "policy"),
    [
        ((), {}, None, 0, "PreemptLowerPriority"),
        (CLASSES[:1], {}, None, 0, "PreemptLowerPriority"),
        (CLASSES, {}, "usual", 7, "PreemptLowerPriority"),
        (CLASSES, {"priority": 7}, "usual", 7, "PreemptLowerPriority"),
        (CLASSES, {"priorityClassName": "high"}, "high", 100, "Never"),
        (
            CLASSES,
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            "high",
            100,
            "PreemptLowerPriority",
        ),
    ],
)
def test_a_pods_priority_is_that_of_its_class(classes, stated, name, priority, policy):
    pod = make_pod(**stated)
    pods.admit_priority(pod, store_with(*copy.deepcopy(classes)))
    spec = pod["spec"]
    assert (spec.get("priorityClassName"), spec["priority"], spec["preemptionPolicy"]) == (
        name,
        priority,
        policy,
    )


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 8}, "priority (8) must not be provided in pod spec"),
        ({"priorityClassName": "high", "priority": 0}, "computed 100 from the given PriorityClass name"),
    ],
)
def test_a_priority_of_no_class_is_forbidden(stated, why):
    with pytest.raises(ApiError) as refused:
        pods.admit_priority(make_pod(**stated), store_with(*copy.deepcopy(CLASSES)))
    assert refused.value.code == 403
    assert refused.value.message.startswith('pods "p" is forbidden: ')
    assert why in refused.value.message


BOTH = {"cpu": "1", "memory": "1"}


@pytest.mark.parametrize(
    ("containers", "init", "found"),
    [
        ([{}], [], "BestEffort"),
        ([limited({"ephemeral-storage": "1"})], [], "BestEffort"),
        ([limited({"cpu": "1"})], [], "Burstable"),
        ([limited(None, {"memory": "1"})], [], "Burstable"),
        ([limited({"cpu": "1"}, {"cpu": "1"})], [], "Burstable"),
        ([limited(BOTH, BOTH)], [], "Guaranteed"),
        ([limited(BOTH, BOTH), {}], [], "Burstable"),
        ([limited(BOTH, {"cpu": "2", "memory": "1"})], [], "Burstable"),
        ([limited(BOTH, BOTH)], [{}], "Burstable"),
        ([limited(BOTH, BOTH)], [limited(BOTH, BOTH)], "Guaranteed"),
    ],
)
def test_quality_of_service(containers, init, found):
    assert pods.quality_of_service({"containers": containers, "initContainers": init}) == found


def test_a_new_pod_is_pending_and_a_gated_one_says_so():
    assert pods.initial_status(make_pod()) == {"phase": "Pending", "qosClass": "BestEffort"}
    [said] = pods.initial_status(make_pod(schedulingGates=[{"name": "wait"}]))["conditions"]
    assert (said["type"], said["status"], said["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert said["message"] == "Scheduling is blocked due to non-empty scheduling gates"


def test_an_update_keeps_what_admission_has_set():
    admitted = {
        "priority": 5,
        "preemptionPolicy": "Never",
        "priorityClassName": "c",
        "nodeName": "n1",
        "dnsPolicy": "x",
    }
    pod = make_pod(priority=6)
    pods.keep_admitted(pod, make_pod(**admitted))
    kept = {name: value for name, value in admitted.items() if name != "dnsPolicy"}
    assert pod["spec"] == {"containers": [{"name": "main"}], **kept, "priority": 6}


GATES = [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ({}, {}, True),
        ({}, {"tolerations": [{"operator": "Exists"}]}, True),
        ({}, {"activeDeadlineSeconds": 5}, True),
        ({}, {"terminationGracePeriodSeconds": 5}, True),
        ({}, {"containers": [{"name": "main", "image": "new"}]}, True),
        ({}, {"containers": [{"name": "other"}]}, False),
        ({}, {"initContainers": [{"name": "i"}]}, False),
        (
            {"initContainers": [{"name": "i"}]},
            {"initContainers": [{"name": "i", "image": "new"}]},
            True,
        ),
        ({}, {"nodeSelector": {"a": "b"}}, False),
        ({}, {"schedulingGates": GATES[:1]}, False),
        ({"schedulingGates": GATES}, {"schedulingGates": GATES[1:]}, True),
        ({"schedulingGates": GATES}, {}, True),
        ({"schedulingGates": GATES[:1]}, {"schedulingGates": GATES}, False),
        ({"schedulingGates": GATES}, {"schedulingGates": GATES, "nodeSelector": {"a": "b"}}, True),
        ({"schedulingGates": GATES}, {"schedulingGates": GATES, "affinity": {"nodeAffinity": {}}}, True),
        ({"schedulingGates": GATES}, {"schedulingGates": GATES, "schedulerName": "x"}, False),
    ],
)
def test_what_of_a_pod_may_change(before, after, allowed):
    new, old = make_pod(**after), make_pod(**before)
    kept = copy.deepcopy((new, old))
    if allowed:
        pods.validate_update(new, old)
    else:
        with pytest.raises(ApiError) as refused:
            pods.validate_update(new, old)
        assert refused.value.code == 422
        assert refused.value.message.startswith(
            'Pod "p" is invalid: spec: Forbidden: pod updates may not change'
        )
    assert (new, old) == kept


def test_a_condition_replaces_that_of_its_type():
    status = {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}
    pods.set_conditions(status, A={"status": "False"}, C={"status": "Unknown"})
    assert [(each["type"], each["status"]) for each in status["conditions"]] == [
        ("B", "True"),
        ("A", "False"),
        ("C", "Unknown"),
    ]
    assert pods.condition_of({"status": status}, "A") == "False"
    assert pods.condition_of({"status": status}, "D") == ""
    assert pods.condition_of({}, "A") == ""


@pytest.mark.parametrize(
    ("node", "phase", "usual", "wanted", "seconds"),
    [
        ("", "Pending", 9, 5, 0),
        ("n", "Succeeded", 9, 5, 0),
        ("n", "Failed", 9, None, 0),
        ("n", "Running", 9, 5, 5),
        ("n", "Running", 9, 0, 0),
        ("n", "Pending", 9, None, 9),
        ("n", "Running", 0, None, 0),
        ("n", "Running", None, None, 30),
    ],
)
def test_how_long_a_deleted_pod_stays(node, phase, usual, wanted, seconds):
    pod = {"spec": {"nodeName": node, "terminationGracePeriodSeconds": usual}, "status": {"phase": phase}}
    assert pods.grace_period(pod, wanted) == seconds


def test_a_second_deletion_shortens_the_time_left_and_never_lengthens_it():
    obj: dict[str, Any] = {"metadata": {}}
    assert not pods.is_over(obj)
    found = []
    for seconds in (30, 30, 31, 29, 0, 0):
        changed = pods.begin_to_end(obj, seconds, 60.0)
        found.append((changed, obj["metadata"]["deletionTimestamp"], pods.is_over(obj)))
    assert found == [
        (True, "1970-01-01T00:01:30Z", False),
        (False, "1970-01-01T00:01:30Z", False),
        (False, "1970-01-01T00:01:30Z", False),
        (True, "1970-01-01T00:01:29Z", False),
        (True, "1970-01-01T00:01:00Z", True),
        (False, "1970-01-01T00:01:00Z", True),
    ]
    obj["metadata"]["finalizers"] = ["x"]
    assert not pods.is_over(obj)
