"""The bridge follows NodeResourceTopology objects in either version, also if their definition comes later."""

from __future__ import annotations

import json
import time

import pytest

from poseidon.bridge.state import BridgeState
from poseidon.custom_records import CustomRecords, CustomResource, Reading
from poseidon.kube.api.collections import NODE_TOPOLOGIES, NODE_TOPOLOGIES_ALPHA1
from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology, TrackedMeta
from poseidon.kube.api.resource import Change
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from tests.poseidon.bridge.objects import node, pod, present
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.poseidon.bridge.test_bridge import Api, bridging
from tests.support.needs import words_of
from tests.support.waiting import until

GROUP = "topology.node.k8s.io"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(*versions):
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"noderesourcetopologies.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": "noderesourcetopologies", "kind": "NodeResourceTopology"},
            "versions": [{"name": each, "served": True, "storage": each == versions[0]} for each in versions],
        },
    }


def topology(name, version="v1alpha2", cpu="4"):
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "topologyPolicies": ["SingleNUMANodeContainerLevel"],
        "zones": [
            {
                "name": "node-0",
                "type": "Node",
                "resources": [{"name": "cpu", "capacity": cpu, "available": cpu}],
            }
        ],
    }


@pytest.fixture
async def cluster():
    cluster = SimulatedCluster()
    await cluster.start()
    yield cluster
    await cluster.stop()


@pytest.mark.parametrize("versions", [("v1alpha2",), ("v1alpha1",), ("v1alpha2", "v1alpha1")])
async def test_objects_become_records_once_their_definition_is_there(cluster, versions):
    solver = ScriptedSolver()
    seen = {}

    async with (
        running_solver(solver) as port,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        api = Api(cluster.url)
        api.transport = transport
        await api.node("n1")
        again = ReflectorOptions(absent_seconds=0.05)
        solver.needs = words_of("numa_fit")
        async with bridging(cluster, port, needs=solver.needs, reflector=again):
            await until(lambda: solver.synced)
            await api.create(CRDS, definition(*versions))
            path = f"/apis/{GROUP}/{versions[0]}/noderesourcetopologies"
            await api.create(path, topology("n1", versions[0]))
            await until(lambda: "n1" in records(solver))
            seen.update(json.loads(records(solver)["n1"]))
            await transport.delete(f"{path}/n1")
            await until(lambda: "n1" not in records(solver))
    assert seen["policy"] == "single-numa-node"
    assert seen["zones"][0]["resources"] == {"cpu": {"available": 4000, "capacity": 4000}}


def records(solver):
    return {
        name: payload
        for (kind, name), payload in solver.view.records.items()
        if kind == "NodeResourceTopology"
    }


def test_without_the_overlay_only_disruption_budgets_are_followed():
    assert [each.kind for each in BridgeState().custom_resources] == ["PodDisruptionBudget"]
    followed = BridgeState(needs=words_of("numa_fit")).custom_resources
    assert {each.kind for each in followed} == {"PodDisruptionBudget", "NodeResourceTopology"}


def test_a_record_follows_the_tasks_that_it_counts():
    state = BridgeState(needs=words_of("numa_fit"))
    state.nodes_changed([present(node("n1"))])
    state.pods_changed([present(pod("a", node="n1"))])
    (custom,) = (each for each in state.custom_resources if each.kind == "NodeResourceTopology")
    found = NodeResourceTopology(metadata=TrackedMeta(name="n1", uid="u"))
    state.custom_records.get_handler(custom, 0)([present(found)])
    kinds = [event.WhichOneof("body") for event in state.snapshot()]
    assert kinds.index("bound") < len(kinds) - 1 - kinds[::-1].index("record")
    assert all(event.WhichOneof("body") != "record" for event in state.take_events())
    assert "record" in [event.WhichOneof("body") for event in state.snapshot()]


class TestCustomRecords:
    """Two versions of a made-up kind."""

    @pytest.fixture
    def book(self):
        return CustomRecords()

    @pytest.fixture
    def handlers(self, book):
        def read(found):
            text = found.topology_policies[0]
            defects = (Defect("topologyPolicies", "odd"),) if text == "odd" else ()
            return Reading(found.metadata.name, text.encode(), defects)

        custom = CustomResource("Kind", (NODE_TOPOLOGIES, NODE_TOPOLOGIES_ALPHA1), read)
        return [book.get_handler(custom, version) for version in range(2)]

    def found(self, text, name="n", uid="u"):
        return Change(uid, NodeResourceTopology(TrackedMeta(name=name, uid=uid), topology_policies=(text,)))

    def told(self, book):
        events = []
        for event in book.take_events():
            if event.WhichOneof("body") == "record":
                events.append((event.record.key.name, event.record.payload.decode()))
            else:
                events.append((event.record_removed.name, None))
        return events

    def test_changes_are_told_once(self, book, handlers):
        handlers[0]([self.found("x")])
        handlers[0]([self.found("x")])
        assert self.told(book) == [("n", "x")]
        handlers[0]([self.found("x")])
        assert self.told(book) == []
        book.forget_sent()
        assert self.told(book) == [("n", "x")]

    def test_the_preferred_version_counts(self, book, handlers):
        handlers[1]([self.found("old")])
        handlers[0]([self.found("new")])
        handlers[1]([self.found("old again")])
        assert self.told(book) == [("n", "new")]
        handlers[0]([Change("u", None)])
        assert self.told(book) == [("n", "old again")]
        handlers[1]([Change("u", None)])
        assert self.told(book) == [("n", None)]

    def test_a_late_end_does_not_remove_a_namesake(self, book, handlers):
        handlers[0]([self.found("first", uid="u1")])
        handlers[0]([self.found("second", uid="u2"), Change("u1", None)])
        assert self.told(book) == [("n", "second")]

    def test_defects_are_logged_once(self, handlers, caplog):
        handlers[0]([self.found("odd"), self.found("odd")])
        handlers[0]([self.found("fine"), self.found("odd")])
        assert len(caplog.records) == 2
