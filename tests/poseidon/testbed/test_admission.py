"""Kubelets refuse what does not fit, as real ones do after another scheduler was faster."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.api_server.operations import MERGE_PATCH, Operations
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.controllers.node_rules import amount, sum_requests
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.objects.store import decode
from tests.poseidon.testbed.conftest import new_operations
from tests.support.cluster import pod

Object = dict[str, Any]


def node(
    operations: Operations, name: str = "n1", *, labels: Object | None = None, **allocatable: str
) -> None:
    offered = {"cpu": "4", "memory": "16Gi", "pods": "110", **allocatable}
    operations.create(
        NODES, "", {"metadata": {"name": name, "labels": labels or {}}, "status": {"allocatable": offered}}
    )


def arrive(operations: Operations, name: str, node_name: str = "n1", **spec: Any) -> None:
    operations.create(PODS, "default", pod(name, **spec))
    body = b'{"target":{"name":"%b"}}' % node_name.encode()
    bind(operations.store, "default", name, decode_binding(body))


def status(operations: Operations, name: str) -> Object:
    found: Object = decode(operations.get(PODS, "default", name))["status"]
    return found


def phases(operations: Operations, *names: str) -> list[str]:
    return [status(operations, name)["phase"] for name in names]


def test_the_first_to_arrive_have_room_and_the_last_fail(operations: Operations) -> None:
    node(operations)
    kubelets = KubeletSimulation(operations.store)
    for name in ("a", "b", "c"):
        arrive(operations, name, cpu="1500m")
    kubelets.advance(0.0)
    assert phases(operations, "a", "b", "c") == ["Running", "Running", "Failed"]
    refused = status(operations, "c")
    assert refused["reason"] == "OutOfcpu"
    assert refused["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 1500, used: 3000, capacity: 4000"
    )
    assert "containerStatuses" not in refused


@pytest.mark.parametrize("end", ["delete", "fail"])
def test_room_comes_back_when_a_pod_ends(operations: Operations, end: str) -> None:
    node(operations)
    kubelets = KubeletSimulation(operations.store)
    arrive(operations, "a", cpu="4")
    kubelets.advance(0.0)
    if end == "delete":
        operations.delete(PODS, "default", "a")
    else:
        operations.patch(PODS, "default", "a", MERGE_PATCH, {"status": {"phase": "Failed"}}, status=True)
    arrive(operations, "b", cpu="4")
    kubelets.advance(1.0)
    assert phases(operations, "b") == ["Running"]


def test_every_resource_and_the_number_of_pods_count(operations: Operations) -> None:
    node(operations, pods="1")
    kubelets = KubeletSimulation(operations.store)
    arrive(operations, "a")
    arrive(operations, "b")
    kubelets.advance(0.0)
    assert status(operations, "b")["reason"] == "OutOfpods"
    node(operations, "n2")
    body = {"resources": {"requests": {"nvidia.com/gpu": "1"}}, "name": "main"}
    arrive(operations, "c", "n2", containers=[body])
    kubelets.advance(0.0)
    assert status(operations, "c")["reason"] == "OutOfnvidia.com/gpu"


def test_selectors_hold_at_arrival(operations: Operations) -> None:
    node(operations, labels={"zone": "a"})
    kubelets = KubeletSimulation(operations.store)

    def affinity(operator: str, *values: str) -> Object:
        expression = {"key": "zone", "operator": operator, "values": list(values)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    arrive(operations, "a", nodeSelector={"zone": "a"})
    arrive(operations, "b", nodeSelector={"zone": "b"})
    arrive(operations, "c", affinity=affinity("In", "a", "b"))
    arrive(operations, "d", affinity=affinity("NotIn", "a"))
    kubelets.advance(0.0)
    assert phases(operations, "a", "b", "c", "d") == ["Running", "Failed", "Running", "Failed"]
    assert status(operations, "b")["reason"] == "NodeAffinity"


def test_a_node_that_shrinks_keeps_its_pods_and_takes_no_more(operations: Operations) -> None:
    node(operations)
    kubelets = KubeletSimulation(operations.store)
    arrive(operations, "a", cpu="3")
    kubelets.advance(0.0)
    operations.patch(NODES, "", "n1", MERGE_PATCH, {"status": {"allocatable": {"cpu": "2"}}}, status=True)
    arrive(operations, "b", cpu="100m")
    kubelets.advance(0.0)
    assert phases(operations, "a", "b") == ["Running", "Failed"]


def test_the_books_survive_a_gap_in_the_history() -> None:
    operations = new_operations(history=3)
    node(operations)
    kubelets = KubeletSimulation(operations.store)
    arrive(operations, "old", cpu="4")
    kubelets.advance(0.0)
    operations.delete(PODS, "default", "old")
    for index in range(8):
        arrive(operations, f"p{index}", cpu="500m")
    kubelets.advance(0.0)
    assert set(phases(operations, *(f"p{index}" for index in range(8)))) == {"Running"}


def test_requests_follow_init_containers_sidecars_and_overhead() -> None:
    def container(cpu: str, **more: str) -> Object:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("100m"), container("200m")],
        "initContainers": [container("50m", restartPolicy="Always"), container("400m")],
        "overhead": {"cpu": "10m"},
    }
    assert sum_requests(spec) == {"cpu": 460, "pods": 1}
    spec["resources"] = {"requests": {"cpu": "1"}}
    assert sum_requests(spec) == {"cpu": 1010, "pods": 1}


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("cpu", "1", 1000),
        ("cpu", "1.5", 1500),
        ("cpu", "100u", 1),
        ("memory", "1Gi", 2**30),
        ("memory", "1e3", 1000),
        ("memory", "1500m", 2),
        ("pods", "110", 110),
        ("memory", "lots", 0),
    ],
)
def test_quantities(resource: str, text: str, expected: int) -> None:
    assert amount(resource, text) == expected
