"""The tables that the simulated API server prints for kubectl: columns, cells, ages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poseidon.testbed.api_server.tables import table, wants_table
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.store import time_text

NOW = 100_000_000.0


def cells(collection: str, obj: dict[str, Any]) -> dict[str, Any]:
    obj = {"metadata": {"name": "x"}, **obj}
    record = Record("a/x", "a", "x", "uid", 1, json.dumps(obj).encode(), {}, ())
    found = json.loads(table(collection, [record], {"resourceVersion": "7"}, NOW))
    assert (found["kind"], found["metadata"]) == ("Table", {"resourceVersion": "7"})
    [row] = found["rows"]
    about = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
    assert row["object"] == about
    names = [each["name"] for each in found["columnDefinitions"]]
    return dict(zip(names, row["cells"], strict=True))


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("application/json;as=Table;v=v1;g=meta.k8s.io", True),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", False),
        ("application/json;v=v1;g=meta.k8s.io", False),
        ("application/json", False),
    ],
)
def test_clients_ask_for_tables(accept, wanted):
    assert wants_table(accept) is wanted


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        (-5, "0s"), (0, "0s"), (1, "1s"), (119, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"),
        (172_799, "47h"), (172_800, "2d"), (31_535_999, "364d"), (31_536_000, "1y"), (63_072_000, "2y"),
    ],
)  # fmt: skip
def test_ages(seconds, age):
    stamped = {"metadata": {"name": "x", "creationTimestamp": time_text(NOW - seconds)}}
    assert cells("configmaps", stamped) == {"Name": "x", "Age": age}


@pytest.mark.parametrize("timestamp", [None, "yesterday"])
def test_an_age_that_is_not_known(timestamp):
    assert (
        cells("configmaps", {"metadata": {"name": "x", "creationTimestamp": timestamp}})["Age"] == "<unknown>"
    )


@pytest.mark.parametrize(
    ("pod", "status"),
    [
        ({}, "Unknown"),
        ({"status": {"phase": "Pending"}}, "Pending"),
        ({"status": {"phase": "Succeeded", "reason": "Done"}}, "Completed"),
        ({"status": {"phase": "Failed", "reason": "Evicted"}}, "Evicted"),
        ({"status": {"phase": "Pending"}, "spec": {"schedulingGates": [{"name": "a"}]}}, "SchedulingGated"),
        (
            {
                "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {"schedulingGates": [{"name": "a"}]},
                "status": {"phase": "Running"},
            },
            "Terminating",
        ),
    ],
)
def test_status_of_pods(pod, status):
    assert cells("pods", pod)["Status"] == status


def test_pods():
    statuses = [{"ready": True}, {"ready": False}, {}]
    found = cells(
        "pods",
        {
            "spec": {"containers": [{}, {}, {}], "nodeName": "n1"},
            "status": {"phase": "Running", "containerStatuses": statuses, "podIP": "10.0.0.1"},
        },
    )
    assert found == {
        "Name": "x", "Ready": "1/3", "Status": "Running", "Restarts": "0", "Age": "<unknown>",
        "IP": "10.0.0.1", "Node": "n1", "Nominated Node": "<none>",
    }  # fmt: skip
    bare = cells("pods", {"status": {"nominatedNodeName": "n2"}})
    assert (bare["Ready"], bare["Node"], bare["Nominated Node"]) == ("0/0", "<none>", "n2")


@pytest.mark.parametrize(
    ("ready", "off", "status"),
    [
        ("True", False, "Ready"),
        ("False", False, "NotReady"),
        ("Unknown", False, "Unknown"),
        ("True", True, "Ready,SchedulingDisabled"),
    ],
)
def test_nodes(ready, off, status):
    node = {
        "metadata": {"name": "x", "labels": {"topology.kubernetes.io/zone": "z1"}},
        "spec": {"unschedulable": off},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "allocatable": {"cpu": "4", "memory": "8Gi"},
        },
    }
    found = cells("nodes", node)
    expected = {"Name": "x", "Status": status, "Age": "<unknown>", "CPU": "4", "Memory": "8Gi", "Zone": "z1"}
    assert found == expected


def test_events_were_last_seen_when_their_series_was():
    seen = []
    for times in (
        {"series": {"lastObservedTime": "1973-03-03T09:46:30Z"}, "lastTimestamp": "1973-03-03T09:46:20Z"},
        {"lastTimestamp": "1973-03-03T09:46:20Z", "eventTime": "1973-03-03T09:46:10Z"},
        {"eventTime": "1973-03-03T09:46:10Z"},
        {"metadata": {"name": "x", "creationTimestamp": "1973-03-03T09:46:00Z"}},
    ):
        event = {"type": "Normal", "reason": "Scheduled", "message": "to n1", **times}
        found = cells("events", {**event, "involvedObject": {"kind": "Pod", "name": "p"}})
        seen.append(found.pop("Last Seen"))
        expected = {
            "Type": "Normal",
            "Reason": "Scheduled",
            "Object": "pod/p",
            "Message": "to n1",
            "Name": "x",
        }
        assert found == expected
    assert seen == ["10s", "20s", "30s", "40s"]


def test_other_kinds():
    workload = {"spec": {"replicas": 3}, "status": {"readyReplicas": 2}}
    assert cells("deployments.apps", workload) == {"Name": "x", "Ready": "2/3", "Age": "<unknown>"}
    assert cells("statefulsets.apps", {})["Ready"] == "0/1"
    found = cells("priorityclasses.scheduling.k8s.io", {"value": 7, "globalDefault": True})
    assert (found["Value"], found["Global-Default"]) == (7, True)
    found = cells("priorityclasses.scheduling.k8s.io", {})
    assert (found["Value"], found["Global-Default"]) == (0, False)
    assert cells("namespaces", {"status": {"phase": "Active"}})["Status"] == "Active"


def test_wide_columns_and_names_are_marked():
    found = json.loads(table("pods", [], {}, NOW))
    definitions = {each["name"]: (each["priority"], each["format"]) for each in found["columnDefinitions"]}
    assert [name for name, (priority, _) in definitions.items() if priority] == [
        "IP",
        "Node",
        "Nominated Node",
    ]
    assert [name for name, (_, form) in definitions.items() if form] == ["Name"]
    assert {priority for priority, _ in definitions.values()} == {0, 1}
    assert found["rows"] == []
