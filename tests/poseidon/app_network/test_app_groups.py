"""AppGroups without I/O: which demands and records follow from specs, and which statuses are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.app_network.app_groups import AppGroups
from poseidon.app_network.spec.keys import ObjectKey
from poseidon.app_network.used_bandwidth import Demand, Members
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.app_network import AppGroup
from poseidon.kube.api.pods import Pod, PodSpec, PodStatus

KEY = ObjectKey("AppGroup", "web", "shop")


def workload(name: str, *needs: str, **dependency: Any) -> dict[str, Any]:
    """Return a workload whose selector is its name in reverse, and that needs others."""
    return {
        "workload": {"name": name, "selector": name[::-1], "kind": "Deployment"},
        "dependencies": [{"workload": {"name": each}, **dependency} for each in needs],
    }


def group(*workloads: Any, algorithm: str = "KahnSort", **parts: Any) -> AppGroup:
    spec = {"topologySortingAlgorithm": algorithm, "workloads": list(workloads)}
    return AppGroup(ObjectMeta(name="shop", namespace="web", uid="1"), **{"spec": spec, **parts})


@pytest.fixture
def groups() -> Any:
    made: Any = AppGroups()
    made.put(group(workload("ab", "cd", minBandwidth="100"), workload("cd", "ab1"), workload("ab1")))
    return made


def run(members: Members, phase: str, name: str = "p", app_group: str = "shop") -> None:
    labels = {"appgroup.diktyo.x-k8s.io": app_group}
    metadata = ObjectMeta(name=name, namespace="web", uid=name, labels=labels)
    members.pod_changed(name, Pod(metadata=metadata, spec=PodSpec(), status=PodStatus(phase=phase)))


def conditions(groups: Any) -> dict[str, tuple[str, str, str]]:
    """Return status, reason and message of each condition."""
    proposal, _ = groups.reconcile(KEY, Members(), "now")
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in proposal.status["conditions"]
    }


def test_demands_are_those_with_a_bandwidth_by_selector(groups):
    assert groups.demands(KEY) == (Demand("ba", "dc", 100),)
    assert groups.demands(ObjectKey("AppGroup", "web", "other")) is None
    groups.put(group(workload("ab"), workload("cd", "ab")))
    assert groups.demands(KEY) == ()


def test_a_record_says_in_which_order_workloads_come(groups):
    found = json.loads(groups.payload(KEY, Members()))
    assert found["algorithm"] == "KahnSort"
    assert [each["order"] for each in found["workloads"]] == [1, 2, 3]
    assert groups.payload(ObjectKey("AppGroup", "web", "other"), Members()) is None


def test_the_status_lists_workloads_by_selector(groups):
    proposal, notices = groups.reconcile(KEY, Members(), "now")
    assert proposal.status["topologyOrder"] == [
        {"workload": {"kind": "Deployment", "name": "ab1", "selector": "1ba"}, "index": 3},
        {"workload": {"kind": "Deployment", "name": "ab", "selector": "ba"}, "index": 1},
        {"workload": {"kind": "Deployment", "name": "cd", "selector": "dc"}, "index": 2},
    ]
    assert proposal.status["topologyCalculationTime"] == "now"
    assert proposal.status["runningWorkloads"] == 0
    assert "scheduleStartTime" not in proposal.status
    assert notices == []
    assert groups.reconcile(ObjectKey("AppGroup", "web", "other"), Members(), "now") is None


def test_times_stay_until_what_they_are_of_changes(groups):
    members = Members()
    run(members, "Pending")
    first, _ = groups.reconcile(KEY, members, "then")
    assert first.status["scheduleStartTime"] == "then"
    assert first.status["runningWorkloads"] == 0
    stored = dict(first.status)
    spec = groups.get(KEY).object.spec
    groups.put(group(spec=spec, status=stored))
    assert groups.reconcile(KEY, members, "now")[0].is_empty
    run(members, "Running")
    second, _ = groups.reconcile(KEY, members, "now")
    assert second.status == {"runningWorkloads": 1}
    members.pod_gone("p")
    assert groups.reconcile(KEY, members, "now")[0].is_empty, "the time of the first pod stays"
    groups.put(group(workload("ab"), status=stored))
    third, _ = groups.reconcile(KEY, members, "now")
    assert third.status["topologyCalculationTime"] == "now"
    assert "scheduleStartTime" not in third.status
    groups.put(group(spec=spec, status={**stored, "topologyCalculationTime": None}))
    assert groups.reconcile(KEY, members, "now")[0].status == {"topologyCalculationTime": "now"}


@pytest.mark.parametrize(
    ("workloads", "algorithm", "ordered"),
    [
        (
            [workload("ab", "cd"), workload("cd")],
            "ReverseKahn",
            ("True", "Sorted", "the workloads are ordered by ReverseKahn"),
        ),
        ([workload("ab", "ab1"), workload("ab1", "ab")], "KahnSort", ("False", "DependencyCycle", "ab")),
        ([workload("ab")], "Quick", ("True", "UnknownAlgorithm", "Quick")),
    ],
)
def test_whether_workloads_have_an_order_is_a_condition(groups, workloads, algorithm, ordered):
    groups.put(group(*workloads, algorithm=algorithm))
    _, notices = groups.reconcile(KEY, Members(), "now")
    status, reason, message = ordered
    found = conditions(groups)["Ordered"]
    assert found[:2] == (status, reason)
    assert message in found[2]
    assert [each.reason for each in notices] == [] if reason == "Sorted" else [reason]


def test_without_a_good_spec_there_is_no_order():
    groups: Any = AppGroups()
    groups.put(group(spec="x"))
    found = conditions(groups)
    assert found.keys() == {"Valid"}
    assert found["Valid"][:2] == ("False", "InvalidSpec")
    assert "nothing is in force" in found["Valid"][2]
    assert groups.demands(KEY) is None
    assert groups.payload(KEY, Members()) is None
    assert "topologyOrder" not in groups.reconcile(KEY, Members(), "now")[0].status
