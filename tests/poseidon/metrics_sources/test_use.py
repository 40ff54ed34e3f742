"""Measured use on its way through the bridge: with the first snapshot, with each new one, and in between."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.resource import Change
from poseidon.metrics_sources.intake import Intake, SourceMetrics
from poseidon.metrics_sources.readings import NodeReading, PodReading
from poseidon.testbed.api_server.measured_use import KoordletSimulation, ReportOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.controllers.true_use import TrueUse
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.objects.store import decode
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.bridge.test_bridge import api, bridging, cluster  # noqa: F401 - fixtures
from tests.support.waiting import until


def used(view: SolverView) -> dict[str, float]:
    return {name: sample.usage[0].amount for name, sample in view.samples.items()}


async def test_every_snapshot_has_the_latest_samples(cluster: SimulatedCluster, api):  # noqa: F811
    created = await api.pod("a", node="n1")
    operations = cluster.operations
    record = operations.get(PODS, "default", "a")
    operations.store.replace(
        operations.store.collection("pods"), record, {**decode(record), "status": {"phase": "Running"}}
    )
    koordlets = KoordletSimulation(operations, TrueUse(operations.store), ReportOptions(interval=60.0))
    koordlets.advance(1000.0)
    solver = ScriptedSolver()
    async with running_solver(solver) as port, bridging(cluster, port):
        await until(lambda: solver.synced)
        assert set(used(solver.view)) == {"n1"}, "before any round could look"
        assert list(solver.view.samples["n1"].tasks.tasks) == [created["metadata"]["uid"]]
        koordlets.advance(1059.0)
        await until(lambda: set(used(solver.view)) == {"n1", "n2"})
        solver.abort()
        await until(lambda: solver.streams == 2 and solver.synced)
        assert set(used(solver.view)) == {"n1", "n2"}
        operations.delete(NODES, "", "n2")
        await until(lambda: set(used(solver.view)) == {"n1"})


class Stores:
    """A state, a source that writes in it, and a solver that is told."""

    def __init__(self) -> None:
        self.state = BridgeState()
        self.view = SolverView()
        metrics = SourceMetrics(CollectorRegistry())
        self.intake = Intake(
            "nodeMetric", self.state.samples, self.state, metrics=metrics, changed=lambda: None
        )

    def tell(self) -> SolverView:
        self.view.apply(self.state.take_events())
        return self.view

    def report(self, name: str, *pods: str) -> None:
        readings = tuple(PodReading("default", each, {"cpu": 1}) for each in pods)
        self.intake.add_reading(NodeReading(name, 1000.0, 60.0, {"cpu": 7}, pods=readings))


def test_samples_follow_their_nodes():
    stores = Stores()
    stores.report("n1")
    assert stores.tell().samples == {}
    stores.state.nodes_changed([present(node("n1"))])
    assert used(stores.tell()) == {"n1": 7}
    stores.state.nodes_changed([gone(node("n1"))])
    assert stores.tell().samples == {}
    stores.state.nodes_changed([present(node("n1", uid="another"))])
    assert used(stores.tell()) == {"n1": 7}


def test_pods_are_known_by_name_and_place():
    stores = Stores()
    stores.state.nodes_changed([present(node("n1")), present(node("n2"))])
    here, there = pod("here", node="n1"), pod("there", node="n2")
    stores.state.pods_changed([present(here), present(there), present(pod("waiting"))])
    stores.report("n1", "here", "there", "waiting", "unknown")
    assert list(stores.tell().samples["n1"].tasks.tasks) == [here.metadata.uid]
    stores.state.pods_changed([gone(here), present(pod("here", uid="successor", node="n1"))])
    stores.report("n1", "here")
    assert list(stores.tell().samples["n1"].tasks.tasks) == ["successor"]
    late_end: Change = gone(here)
    stores.state.pods_changed([late_end])
    stores.report("n1", "here")
    assert list(stores.tell().samples["n1"].tasks.tasks) == ["successor"]
