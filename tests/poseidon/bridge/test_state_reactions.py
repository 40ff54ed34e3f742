"""What the bridge's state follows, says of pods, and does when rounds, classes or time pass: one fact at a time."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.nodes import ContainerImage, PriorityClass
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.actions import AnnounceUnschedulable
from poseidon.lifecycle.kept_places import MoveOptions
from poseidon.queues.options import QueueOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.app_network.test_state import group
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.devices.test_extended_resources import asking, device_class
from tests.poseidon.lifecycle.test_kept_places import Moving
from tests.support.needs import words_of


def state(*needs: str, **parts: Any) -> BridgeState:
    made = BridgeState(BridgeConfiguration(**parts), words_of(*needs), wall=lambda: 0.0)
    made.nodes_changed([present(node("n1"))])
    return made


# --- what is followed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "needs", "kind", "followed"),
    [
        ({}, (), kinds.CLUSTER_QUEUE, False),
        ({"queues": QueueOptions(source=("kueue",))}, (), kinds.CLUSTER_QUEUE, True),
        ({"queues": QueueOptions(source=("kueue",))}, (), kinds.VOLCANO_QUEUE, False),
        ({}, (), kinds.NODE_DEVICES, False),
        ({}, (), kinds.DAEMON_SET, False),
        ({}, ("load_threshold",), kinds.DAEMON_SET, True),
        ({}, (), kinds.NODE, True),
        ({}, (), kinds.PRIORITY_CLASS, True),
    ],
)
def test_kinds_are_followed_that_somebody_reads(parts, needs, kind, followed):
    assert state(*needs, **parts).follows(kind) is followed


@pytest.mark.parametrize(("kind", "spreads"), [("System", True), ("List", False)])
def test_services_are_followed_if_they_spread_pods(kind, spreads):
    assert state(podTopologySpread={"defaultingType": kind}).follows(kinds.SERVICE) is spreads


@pytest.mark.parametrize(("needs", "numa"), [((), False), (("numa_fit",), True)])
def test_numa_nodes_are_followed_if_a_model_reads_them(needs, numa):
    followed = [each.kind for each in state(*needs).custom_resources]
    assert len(followed) == 1 + numa
    assert any("NodeResourceTopology" in each for each in followed) is numa


# --- how things stand -------------------------------------------------------------------------------------------------


def test_pods_are_counted_and_found_by_name():
    found = state()
    assert found.pending_count() == 0
    found.pods_changed(
        [
            present(pod("waits")),
            present(pod("runs", node="n1")),
            present(pod("theirs", scheduler="other", node="n1")),
        ]
    )
    assert found.pending_count() == 1
    assert [found.is_pending(uid) for uid in ("pod-waits", "pod-runs", "unknown")] == [True, False, False]
    assert found.get_creation_time("pod-waits") == 1_767_225_600.0
    assert found.get_creation_time("unknown") == 0.0
    assert [found.node_of("default", name) for name in ("waits", "runs", "unknown")] == ["", "n1", ""]
    assert found.uid_of("default", "runs", "n1") == "pod-runs"
    assert found.uid_of("default", "runs", "n2") == found.uid_of("default", "gone", "n1") == ""
    assert (found.knows_node("n1"), found.knows_node("n2")) == (True, False)
    assert found.get_workload_creation_time("u") == 0.0
    assert found.list_held() == {}
    assert len(list(found.records())) == 3


def held_pod():
    made = pod("a")
    return replace(made, spec=replace(made.spec, priority=None, priority_class_name="high"))


def test_why_a_pod_is_held_back_is_said_once_that_is_due():
    now = [100.0]
    found = BridgeState(BridgeConfiguration(), clock=lambda: now[0])
    found.pods_changed([present(held_pod())])
    assert found.list_held().keys() == {"pod-a"}
    said = []
    for _ in range(3):
        now[0] += 60.0
        found.expire()
        said += [each for each in found.take_actions() if isinstance(each, AnnounceUnschedulable)]
    [announced] = said
    assert "high" in announced.message
    found.handlers[kinds.PRIORITY_CLASS]([Change("c", PriorityClass(ObjectMeta(name="high", uid="c"), 5))])
    assert found.list_held() == {}


# --- what follows from changes and rounds -----------------------------------------------------------------------------


def test_a_class_of_devices_that_provides_a_resource_changes_the_pods_that_ask_for_it():
    found = state()
    found.pods_changed([present(asking("a")), present(pod("b"))])
    before = [found.tasks.get(uid).task.task_class for uid in ("pod-a", "pod-b")]  # type: ignore[union-attr]
    found.handlers[kinds.DEVICE_CLASS]([present(device_class())])
    after = [found.tasks.get(uid).task.task_class for uid in ("pod-a", "pod-b")]  # type: ignore[union-attr]
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_a_pod_that_finds_no_room_at_its_kept_place_may_go_elsewhere():
    scene = Moving()
    scene.announce()
    scene.pods(gone(pod("old")), present(pod("new", owner="web")))
    assert scene.confined("pod-new")[0] == "n2"
    result = pb.RoundResult(round=2)
    result.unscheduled.add(tasks=["pod-new", "unknown"], message="no room")
    scene.state.on_round(result)
    scene.sync()
    assert scene.confined("pod-new")[0] != "n2"


def test_tasks_of_a_node_that_returns_are_told_again():
    found, view = state(), SolverView()
    found.pods_changed([present(pod("a", node="n1"))])
    view.apply(found.snapshot())
    found.nodes_changed([gone(node("n1"))])
    found.pods_changed([present(pod("b", node="n1"))])
    removed = [(event.machine_removed, event.task_removed) for event in found.take_events()]
    assert removed == [("n1", ""), ("", "pod-a")], "or nobody would tell of its end"
    found.nodes_changed([present(node("n1"))])
    told = [uid for event in found.take_events() for uid in event.bound.uids]
    assert sorted(told) == ["pod-a", "pod-b"]


def test_images_that_pods_name_and_nodes_have_are_told():
    found, view = state(), SolverView()
    image = ContainerImage(("app:1",), 900 * 2**20)
    found.nodes_changed([present(replace(node("n1"), status=replace(node("n1").status, images=(image,))))])
    found.pods_changed([present(pod("plain"))])
    view.apply(found.snapshot())
    assert not view.machines["n1"].images
    made = pod("a")
    container = replace(made.spec.containers[0], image="app:1")
    found.pods_changed([present(replace(made, spec=replace(made.spec, containers=(container,))))])
    view.apply(found.take_events())
    assert [list(each.names) for each in view.machines["n1"].images] == [["app:1"]]


@pytest.mark.parametrize(("needs", "told"), [(("network_overhead",), True), ((), False)])
def test_applications_are_told_if_a_model_reads_them(needs, told):
    found, view = state(*needs), SolverView()
    view.apply(found.snapshot())
    assert (found.applications is not None) is told
    if found.applications is not None:
        found.applications.app_groups_changed([present(group())])
    view.apply(found.take_events())
    assert (("AppGroup", "web/shop") in view.records) is told
    if found.applications is not None:
        found.applications.app_groups_changed([gone(group())])
        view.apply(found.take_events())
        assert ("AppGroup", "web/shop") not in view.records


def test_queues_that_owners_name_are_looked_for_only_if_configured():
    assert state().resumptions is None
    assert state(queues=QueueOptions(source=("volcano",))).resumptions is None
    assert state(queues=QueueOptions(source=("kueue",))).resumptions is None
    assert state(queues=QueueOptions(source=("kueue",), admission="poseidon")).resumptions is not None


@pytest.mark.parametrize("keeps", [True, False])
def test_places_are_kept_only_if_configured(keeps):
    assert (state(moves=MoveOptions(keep_places=keeps)).kept_places is not None) is keeps
