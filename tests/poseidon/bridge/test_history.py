"""What finished pods teach reaches the solver, on this stream and on the next."""

from __future__ import annotations

import json

from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import ContainerState, ContainerStatus, Pod, Terminated
from poseidon.testbed.controllers.kubelet import RUN_SECONDS, KubeletSimulation
from poseidon.testbed.objects.binding import bind, decode_binding
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import decode
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.testbed.conftest import new_operations
from tests.support.cluster import pod as simulated_pod
from tests.support.needs import words_of


def completed(name: str, *, minutes: int):
    """A pod of the program "etl" that ran for so long."""
    found = pod(name, node="n1", phase="Succeeded")
    times = Terminated("2026-01-01T00:00:00Z", f"2026-01-01T00:{minutes:02d}:00Z")
    return replace(
        found,
        metadata=replace(found.metadata, annotations={"firmament.io/program": "etl"}),
        status=replace(found.status, container_statuses=(ContainerStatus("main", ContainerState(times)),)),
    )


def known(view: SolverView) -> dict[str, dict]:
    return {name: json.loads(payload) for (_, name), payload in view.records.items()}


def test_finished_pods_become_records():
    state, view = BridgeState(), SolverView()
    state.nodes_changed([present(node("n1"))])
    state.pods_changed([present(completed("a", minutes=1))])
    view.apply(state.snapshot())
    assert known(view) == {"etl": {"count": 1, "meanSeconds": 60.0, "runs": [[64.0, 1]]}}

    running = pod("b", node="n1", phase="Running")
    state.pods_changed([present(running)])
    state.pods_changed([present(completed("b", minutes=3)), present(completed("b", minutes=3))])
    view.apply(state.take_events())
    assert known(view) == {"etl": {"count": 2, "meanSeconds": 120.0, "runs": [[64.0, 1], [181.0, 1]]}}

    state.pods_changed([gone(running), gone(completed("a", minutes=1))])
    view = SolverView()
    view.apply(state.snapshot())
    assert known(view) == {"etl": {"count": 2, "meanSeconds": 120.0, "runs": [[64.0, 1], [181.0, 1]]}}
    assert view.tasks == {}


def test_a_solver_that_tells_programs_apart_is_told_them():
    job = replace(pod("a"), metadata=replace(pod("a", owner="x").metadata, namespace="ns"))
    owner = replace(job.metadata.owner_references[0], kind="Job", name="sort")
    job = replace(job, metadata=replace(job.metadata, owner_references=(owner,)))
    state = BridgeState(needs=words_of("sjf"))
    state.pods_changed([present(job)])
    described = [event.task_class for event in state.snapshot() if event.HasField("task_class")]
    assert [dict(each.annotations) for each in described] == [{"firmament.io/program": "ns/sort"}]


def test_run_times_are_found_in_what_a_kubelet_reports():
    operations = new_operations()
    kubelets = KubeletSimulation(operations.store)
    body = simulated_pod("a")
    body["metadata"]["annotations"] = {RUN_SECONDS: "30", "firmament.io/program": "etl"}
    operations.create(PODS, "default", body)
    bind(operations.store, "default", "a", decode_binding(b'{"target":{"name":"n1"}}'))
    kubelets.advance(0.0)
    kubelets.advance(30.0)
    finished = convert_object(decode(operations.get(PODS, "default", "a")), Pod)
    state, view = BridgeState(), SolverView()
    state.pods_changed([present(finished)])
    view.apply(state.snapshot())
    # The simulated clock leaps; the times are those of the real one, to the second.
    assert known(view)["etl"]["count"] == 1
