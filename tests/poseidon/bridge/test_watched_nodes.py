"""Watched nodes: what a change of a node updates, and what goes with it."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import replace

from poseidon.app_network.spec.keys import Domain
from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.devices.options import DeviceOptions
from poseidon.devices.sharing import hami
from poseidon.kube.api import kinds
from poseidon.kube.api.other_projects.hyper_nodes import HyperNode
from poseidon.kube.api.other_projects.kueue_topology import KueueTopology
from poseidon.kube.api.resource import Change
from poseidon.queues.options import QueueOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.devices.test_extended_resources import GPU, asking, device_class
from tests.support.needs import words_of

REGION = "topology.kubernetes.io/region"


class Watched:
    """A state, and a solver's view of it."""

    def __init__(self, *needs: str, configuration: BridgeConfiguration | None = None) -> None:
        self.state = BridgeState(configuration or BridgeConfiguration(), words_of(*needs))
        self.view = SolverView()

    def nodes(self, *changes) -> list[str]:
        self.state.nodes_changed(changes)
        return self.tell()

    def tell(self) -> list[str]:
        events = list(self.state.take_events())
        self.view.apply(events)
        return [str(event.WhichOneof("body")) for event in events]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_nodes_come_change_and_go(watched):
    assert watched.nodes(present(node("n1")), present(node("n2"))) == ["machine", "machine"]
    assert watched.nodes(present(node("n1", cpu="4"))) == ["machine"]
    [cpu] = [each.amount for each in watched.view.machines["n1"].allocatable if each.resource == "cpu"]
    assert cpu == 4000
    assert watched.nodes(gone(node("n1"))) == ["machine_removed"]
    assert watched.nodes(gone(node("n1"))) == []
    assert watched.view.machines.keys() == {"n2"}
    assert watched.state.knows_node("n2")
    assert not watched.state.knows_node("n1")


def test_a_node_without_a_name_is_none(watched):
    assert watched.nodes(present(node(""))) == []


def test_defects_are_logged_when_a_node_changes(watched, caplog):
    broken = node("n1", cpu="lots")
    watched.nodes(present(broken))
    assert [each.message for each in caplog.records if "node has a defect node=n1" in each.message]
    caplog.clear()
    watched.nodes(present(broken))
    assert not [each for each in caplog.records if "node has a defect" in each.message]


class BrokenError(Exception):
    """A fault that a test puts in."""


def test_a_node_that_cannot_be_handled_is_not_used(watched, monkeypatch, may_set_aside):
    watched.nodes(present(node("n1")), present(node("n2")))
    note = watched.state.hyper_nodes.note_node

    def fail(name, labels):
        if name == "n1":
            raise BrokenError("no")
        note(name, labels)

    monkeypatch.setattr(watched.state.hyper_nodes, "note_node", fail)
    watched.nodes(present(node("n1", cpu="4")), present(node("n2", cpu="4")))
    assert watched.view.machines.keys() == {"n2"}
    assert watched.state.quarantine.reason("nodes", "node-n1")
    monkeypatch.setattr(watched.state.hyper_nodes, "note_node", note)
    watched.nodes(present(node("n1")))
    assert watched.view.machines.keys() == {"n1", "n2"}
    assert not watched.state.quarantine.reason("nodes", "node-n1")
    monkeypatch.setattr(watched.state.hyper_nodes, "note_node", fail)
    watched.nodes(present(node("n1", cpu="2")))
    watched.nodes(gone(node("n1")))
    assert not watched.state.quarantine.reason("nodes", "node-n1")


def test_a_store_that_fails_keeps_no_other_from_forgetting_a_node(watched, monkeypatch, may_set_aside):
    watched.nodes(present(node("n1")))
    watched.state.pods_changed([present(pod("a", node="n1"))])
    watched.tell()

    def fail(_):
        raise BrokenError("no")

    monkeypatch.setattr(watched.state.images, "forget", fail)
    assert "machine_removed" in watched.nodes(gone(node("n1")))
    assert len(watched.state.quarantine) == 0, "it is gone, so nothing of it is set aside"


def hyper_node(name: str, tier: int, *members: str, kind: str = "Node") -> HyperNode:
    listed = [{"type": kind, "selector": {"exactMatch": {"name": each}}} for each in members]
    spec = {"tier": tier, "members": listed}
    return msgspec.convert({"metadata": {"name": name, "uid": name}, "spec": spec}, HyperNode)


def tier_labels(view: SolverView, name: str) -> dict[str, str]:
    return {key: value for key, value in view.machines[name].labels.items() if "volcano" in key}


def test_hyper_nodes_label_their_nodes_whichever_comes_first(watched):
    take = watched.state.handlers[kinds.HYPER_NODE]
    watched.nodes(present(node("n1")))
    take([Change("leaf", hyper_node("leaf", 1, "n1", "n2"))])
    watched.tell()
    assert tier_labels(watched.view, "n1") == {"topology.volcano.sh/tier-1": "leaf"}
    watched.nodes(present(node("n2")), present(node("n3")))
    assert tier_labels(watched.view, "n2") == {"topology.volcano.sh/tier-1": "leaf"}
    assert tier_labels(watched.view, "n3") == {}
    take([Change("leaf", None)])
    watched.tell()
    assert tier_labels(watched.view, "n1") == {}
    take([Change("leaf", hyper_node("leaf", 1, "n1"))])
    watched.nodes(gone(node("n1")))
    watched.nodes(present(node("n1", uid="other")))
    assert tier_labels(watched.view, "n1") == {"topology.volcano.sh/tier-1": "leaf"}


def test_applications_know_the_regions_of_nodes():
    watched = Watched("network_overhead")
    watched.nodes(present(node("n1", labels={REGION: "west"})))
    assert watched.state.applications is not None
    members = watched.state.applications.members
    assert members.domains == {"n1": Domain("west", "")}
    watched.nodes(present(node("n1", labels={REGION: "east"})))
    assert members.domains == {"n1": Domain("east", "")}
    watched.nodes(gone(node("n1")))
    assert members.domains == {}


def test_topologies_of_queues_label_their_nodes():
    queues = QueueOptions(source=("kueue",), admission="poseidon")
    watched = Watched(configuration=BridgeConfiguration(queues=queues))
    take = watched.state.handlers[kinds.TOPOLOGY]
    watched.nodes(present(node("n1", labels={"rack": "a"})))
    racks = {"metadata": {"name": "racks", "uid": "t"}, "spec": {"levels": [{"nodeLabel": "rack"}]}}
    for change, label in ((msgspec.convert(racks, KueueTopology), "a"), (None, None)):
        take([Change("t", change)])
        watched.tell()
        assert watched.view.machines["n1"].labels.get("rack of Topology racks", None) == label


def test_nothing_is_kept_of_a_node_that_is_gone():
    """Neither its place in a tree, nor its devices, nor what it alone offers."""
    devices = DeviceOptions(sharing=("hami",))
    watched = Watched(configuration=BridgeConfiguration(devices=devices))
    state = watched.state
    made = node("n1", labels={"sakkara.topology.rack": "a"})
    gpus = {hami.INVENTORY: json.dumps([{"id": "g", "devmem": 8}])}
    made = replace(
        made,
        metadata=replace(made.metadata, annotations=gpus),
        status=replace(made.status, allocatable={**made.status.allocatable, GPU: "4"}),
    )
    state.handlers[kinds.DEVICE_CLASS]([present(device_class(resource=GPU))])
    state.pods_changed([present(asking("p"))])
    watched.nodes(present(made))
    assert state.gangs.topology.trees.tree().paths == {"n1": ("a", "n1")}
    assert [name for kind, name in watched.view.records if kind == "DeviceSlice"] == ["hami.io/n1"]
    assert not claims_of(watched.view, "pod-p"), "the node itself offers what the pod asks for"
    watched.nodes(gone(made))
    assert state.gangs.topology.trees.tree().paths == {}
    assert [name for kind, name in watched.view.records if kind == "DeviceSlice"] == []
    assert claims_of(watched.view, "pod-p"), "only devices provide it now"


def claims_of(view: SolverView, uid: str) -> list[str]:
    return [each.claim for each in pb.TaskClass.FromString(view.tasks[uid].task_class).claims]


def test_pods_count_again_when_their_node_changes(watched):
    watched.nodes(present(node("n1")))
    watched.state.pods_changed([present(pod("a", node="n1"))])
    watched.tell()
    watched.nodes(gone(node("n1")))
    watched.nodes(present(node("n1", uid="other")))
    assert watched.view.tasks["pod-a"].machine == "n1"
