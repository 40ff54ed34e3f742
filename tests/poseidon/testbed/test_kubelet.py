from __future__ import annotations

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.controllers.kubelet import RUN_SECONDS, KubeletSimulation
from poseidon.testbed.objects.binding import Binding, bind, decode_binding
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import decode
from tests.poseidon.testbed.conftest import fill, new_operations
from tests.support.cluster import pod


def to(node: str) -> Binding:
    return decode_binding(b'{"target":{"name":"%b"}}' % node.encode())


def phase(operations: Operations, name: str) -> str:
    return decode(operations.get(PODS, "default", name))["status"]["phase"]


def finishing(name: str, seconds: str) -> dict:
    body = pod(name)
    body["metadata"]["annotations"] = {RUN_SECONDS: seconds}
    return body


def test_only_bound_pods_run(operations: Operations) -> None:
    kubelets = KubeletSimulation(operations.store)
    fill(operations, 2)
    bind(operations.store, "default", "p000", to("n1"))
    kubelets.advance(0.0)
    running = decode(operations.get(PODS, "default", "p000"))["status"]
    assert running["phase"] == "Running"
    assert running["podIP"].startswith("10.")
    conditions = {c["type"]: c["status"] for c in running["conditions"]}
    assert conditions == {
        "PodScheduled": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
    }
    assert phase(operations, "p001") == "Pending"


def test_starting_and_finishing_take_their_time(operations: Operations) -> None:
    kubelets = KubeletSimulation(operations.store, start_delay=2.0)
    operations.create(PODS, "default", finishing("a", "30"))
    assert kubelets.advance(0.0) is None
    bind(operations.store, "default", "a", to("n1"))
    assert kubelets.advance(10.0) == 12.0
    assert phase(operations, "a") == "Pending"
    assert kubelets.advance(12.0) == 42.0
    assert phase(operations, "a") == "Running"
    assert kubelets.advance(42.0) is None
    assert phase(operations, "a") == "Succeeded"
    status = decode(operations.get(PODS, "default", "a"))["status"]
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert ended["startedAt"] == status["startTime"]
    assert ended["finishedAt"] >= ended["startedAt"]
    before = operations.store.revision
    kubelets.advance(100.0)
    assert operations.store.revision == before


def test_a_nonsensical_duration_means_forever(operations: Operations) -> None:
    kubelets = KubeletSimulation(operations.store)
    for name, text in (("a", "soon"), ("b", "-1"), ("c", "inf"), ("d", "nan")):
        operations.create(PODS, "default", finishing(name, text))
        bind(operations.store, "default", name, to("n1"))
    kubelets.advance(0.0)
    assert kubelets.advance(1e9) is None
    assert {phase(operations, name) for name in "abcd"} == {"Running"}


def test_a_successor_of_the_same_name_is_another_pod(operations: Operations) -> None:
    kubelets = KubeletSimulation(operations.store)
    operations.create(PODS, "default", finishing("a", "30"))
    bind(operations.store, "default", "a", to("n1"))
    kubelets.advance(0.0)
    operations.delete(PODS, "default", "a")
    operations.create(PODS, "default", pod("a"))
    kubelets.advance(30.0)
    assert phase(operations, "a") == "Pending"


def test_pods_seeded_as_running_finish_too(operations: Operations) -> None:
    kubelets = KubeletSimulation(operations.store)
    body = finishing("a", "5")
    body["spec"]["nodeName"] = "n1"
    operations.create(PODS, "default", {**body, "status": {"phase": "Running"}}, keep_status=True)
    assert kubelets.advance(0.0) == 5.0
    kubelets.advance(5.0)
    assert phase(operations, "a") == "Succeeded"


def test_changes_beyond_the_history_are_found_by_looking() -> None:
    operations = new_operations(history=3)
    kubelets = KubeletSimulation(operations.store)
    fill(operations, 10)
    for index in range(10):
        bind(operations.store, "default", f"p{index:03d}", to("n1"))
    kubelets.advance(0.0)
    kubelets.advance(0.0)
    assert {phase(operations, f"p{index:03d}") for index in range(10)} == {"Running"}
