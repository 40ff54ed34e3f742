from __future__ import annotations

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.objects.store import decode
from tests.support.cluster import pod
from tests.support.foreign_scheduler import ForeignScheduler


def cluster(operations: Operations, nodes: int = 2) -> None:
    for index in range(nodes):
        status = {"allocatable": {"cpu": "4", "pods": "10"}}
        operations.create(NODES, "", {"metadata": {"name": f"n{index}"}, "status": status})


def create(operations: Operations, *names: str, scheduler: str = "other") -> None:
    for name in names:
        operations.create(PODS, "default", pod(name, cpu="1", schedulerName=scheduler))


def nodes_of(operations: Operations) -> dict[str, str]:
    store = operations.store
    view = store.collection("pods").view(store.revision)
    found = [decode(record) for key in view.keys if (record := view.get(key)) is not None]
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in found}


def test_it_binds_its_own_pods_where_there_is_room(operations: Operations) -> None:
    cluster(operations)
    create(operations, *(f"p{index}" for index in range(10)))
    create(operations, "ours", scheduler="poseidon")
    scheduler = ForeignScheduler(operations.store, "other")
    scheduler.advance(0.0)
    placed = list(nodes_of(operations).values())
    assert (placed.count("n0"), placed.count("n1"), placed.count("")) == (4, 4, 3)
    assert nodes_of(operations)["ours"] == ""
    assert scheduler.bound == 8
    operations.delete(PODS, "default", next(name for name, node in nodes_of(operations).items() if node))
    scheduler.advance(1.0)
    assert scheduler.bound == 9


def test_between_two_looks_it_is_blind(operations: Operations) -> None:
    cluster(operations, nodes=1)
    scheduler = ForeignScheduler(operations.store, "other", interval=5.0)
    assert scheduler.advance(0.0) == 5.0
    create(operations, "a")
    assert scheduler.advance(4.0) == 5.0
    assert nodes_of(operations) == {"a": ""}
    scheduler.advance(5.0)
    assert nodes_of(operations) == {"a": "n0"}


def test_two_that_do_not_know_of_each_other_leave_it_to_the_kubelets(operations: Operations) -> None:
    cluster(operations, nodes=1)
    create(operations, "a", "b", "c", "d", scheduler="one")
    create(operations, "e", "f", "g", "h", scheduler="two")
    one, two = ForeignScheduler(operations.store, "one"), ForeignScheduler(operations.store, "two")
    two._look()
    one.advance(0.0)
    two._schedule()
    kubelets = KubeletSimulation(operations.store)
    kubelets.advance(0.0)
    assert set(nodes_of(operations).values()) == {"n0"}
    phases = [
        decode(operations.get(PODS, "default", name))["status"]["phase"] for name in nodes_of(operations)
    ]
    assert phases == ["Running"] * 4 + ["Failed"] * 4
