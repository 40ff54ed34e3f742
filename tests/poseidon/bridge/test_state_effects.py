"""What one change brings about in other stores of the bridge: for claims, devices, kept room and reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.devices.options import DeviceOptions
from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.devices import NodeDeviceList
from poseidon.kube.api.pods import ClaimSource, PodVolume, ResourceRequirements
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindResult
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.kube.write.volume_claim_writer import SelectNode
from poseidon.lifecycle.actions import AnnounceUnschedulable, Bind
from poseidon.lifecycle.restart_room import RESTART_ROOM_RECORD
from poseidon.pod_groups.group_names import POD_GROUP
from protos.configuration.shared_sections import GangSection
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.devices.objects import allocation, pod_of_template
from tests.poseidon.devices.objects import claim as device_claim
from tests.poseidon.lifecycle.test_kept_places import Moving
from tests.poseidon.lifecycle.test_restart_room import member
from tests.poseidon.pod_groups.objects import pod_group
from tests.poseidon.volumes.objects import claim, storage_class, volume

START = 1_800_000_000.0


def node_devices(name: str) -> NodeDeviceList:
    """Koordinator's object of a node with one GPU."""
    device = {"type": "gpu", "minor": 0, "health": True, "resources": {"koordinator.sh/gpu-memory": "8"}}
    value = {"metadata": {"name": name, "uid": f"devices-{name}"}, "spec": {"devices": [device]}}
    return convert_object(value, NodeDeviceList)


class Scene(Harness):
    """Two nodes, clocks of the test's own, and any configuration."""

    def __init__(self, **parts: Any) -> None:
        self.now = START
        self.state = BridgeState(BridgeConfiguration(**parts), clock=lambda: self.now, wall=lambda: self.now)
        self.view = SolverView()
        self.state.nodes_changed([present(node("n1")), present(node("n2"))])
        self.new_stream()

    def take(self, kind: Any, *changes: Any) -> None:
        self.state.handlers[kind](changes)
        self.sync()

    def rules(self, uid: str) -> list[pb.VolumeRule]:
        """What the solver knows of the volumes of a pod."""
        return list(pb.TaskClass.FromString(self.view.tasks[uid].task_class).volumes)

    def says(self) -> list[str]:
        """Messages that are written about pods."""
        return [each.message for each in self.state.take_actions() if isinstance(each, AnnounceUnschedulable)]


def mounting(name: str, **more: Any) -> Any:
    made = pod(name, **more)
    mounted = PodVolume(name="data", persistent_volume_claim=ClaimSource("data"))
    return replace(made, spec=replace(made.spec, volumes=(mounted,)))


# --- claims -----------------------------------------------------------------------------------------------------------


def test_a_round_begins_the_writes_to_claims_of_the_pods_that_it_places():
    scene = Scene()
    scene.take(kinds.STORAGE_CLASS, storage_class())
    scene.take(kinds.CLAIM, claim("data"))
    scene.state.device_claims_changed([present(device_claim("gpu-gpu", owner="gpu"))])
    scene.pods(present(mounting("disk")), present(pod_of_template("gpu")))
    result = pb.RoundResult(round=1)
    placed = result.deltas.add(kind=pb.Delta.PLACE, task="pod-gpu", machine="n1")
    placed.allocations.add(name="gpu", allocation=json.dumps(allocation("d0")))
    scene.state.on_round(result)
    assert [
        type(each) for each in scene.state.take_actions() if not isinstance(each, NominatedNodeWrite)
    ] == [DeviceClaimWrite]
    assert [
        type(each) for each in scene.place("pod-disk", "n2") if not isinstance(each, NominatedNodeWrite)
    ] == [SelectNode]


def test_a_binding_that_fails_frees_the_volume_for_the_pods_that_want_it_too():
    scene = Scene()
    scene.take(kinds.STORAGE_CLASS, storage_class())
    scene.take(kinds.VOLUME, volume("v", to="default/data", modes=("ReadWriteOncePod",)))
    scene.take(kinds.CLAIM, claim("data", volume="v", modes=("ReadWriteOncePod",)))
    scene.pods(present(mounting("a")))
    [bind] = scene.place("pod-a", "n1")
    scene.pods(present(mounting("urgent", priority=10)))

    def taken() -> bool:
        return any(rule.in_use for rule in scene.rules("pod-urgent"))

    assert taken()
    scene.outcome(bind, BindResult.FAILED, "no")
    scene.sync()
    assert not taken()


# --- time -------------------------------------------------------------------------------------------------------------


def test_counts_that_have_changed_are_said_once_they_are_a_minute_old():
    scene = Scene()
    scene.pods(present(pod("a")))
    few, many = "0/2 nodes are available: 2 Insufficient cpu.", "0/3 nodes are available: 3 Insufficient cpu."
    assert [
        each.message for each in scene.unscheduled(few, "pod-a") if isinstance(each, AnnounceUnschedulable)
    ] == [few]
    scene.now += 10.0
    assert scene.unscheduled(many, "pod-a") == []
    scene.now += 49.0
    scene.state.expire()
    assert scene.says() == []
    scene.now += 1.0
    scene.state.expire()
    assert scene.says() == [many]


def test_a_place_that_nobody_takes_is_kept_no_longer_than_was_said():
    scene = Moving()
    scene.announce(seconds=60.0)
    scene.pods(gone(pod("old")))
    scene.now += 59.0
    scene.state.expire()
    scene.sync()
    assert (scene.kept(), scene.outcomes()) == (["n2"], {})
    scene.now += 1.0
    scene.state.expire()
    scene.sync()
    assert (scene.kept(), scene.outcomes()) == ([], {"expired": 1})


class Rooms(Scene):
    """A gang of which room is kept for a minute."""

    def __init__(self) -> None:
        super().__init__(gangs=GangSection(keep_room=60.0, keep_room_at_most=60.0))
        self.state.gangs.get_handler(POD_GROUP)([Change("group-train", pod_group("train", 2))])
        self.pods(present(member("a", node="n1", phase="Running")), present(member("b")))

    def bind(self, uid: str, node: str) -> Bind:
        """Place a pod; return the binding that follows."""
        [found] = [each for each in self.place(uid, node) if isinstance(each, Bind)]
        return found

    def rooms(self) -> list[str]:
        return [name for kind, name in self.view.records if kind == RESTART_ROOM_RECORD]


def test_room_ends_when_a_pod_of_the_gang_is_bound_before_the_watch_shows_it():
    scene = Rooms()
    scene.pods(gone(member("a")))
    assert scene.rooms() == ["pod-a"]
    bind = scene.bind("pod-b", "n1")
    scene.sync()
    assert scene.rooms() == ["pod-a"], "it may fail"
    scene.outcome(bind)
    scene.sync()
    assert scene.rooms() == []


def test_room_stays_when_a_binding_fails():
    scene = Rooms()
    scene.pods(gone(member("a")))
    bind = scene.bind("pod-b", "n1")
    scene.outcome(bind, BindResult.FAILED, "no")
    scene.sync()
    assert scene.rooms() == ["pod-a"]


def test_the_outcome_for_a_pod_that_is_gone_ends_no_room():
    scene = Rooms()
    scene.pods(gone(member("a")))
    bind = scene.bind("pod-b", "n1")
    scene.pods(gone(member("b")))
    scene.outcome(bind)
    scene.sync()
    assert scene.rooms() == ["pod-a"]


def test_room_ends_with_its_time():
    scene = Rooms()
    scene.pods(gone(member("a")))
    scene.now += 59.0
    scene.state.expire()
    scene.sync()
    assert scene.rooms() == ["pod-a"]
    scene.now += 1.0
    scene.state.expire()
    scene.sync()
    assert scene.rooms() == []


# --- devices that objects list ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sharing", "followed"), [((), False), (("koordinator",), True), (("hami",), False)])
def test_objects_that_list_the_devices_of_nodes_are_read_if_a_project_has_them(sharing, followed):
    scene = Scene(devices=DeviceOptions(sharing=sharing))
    assert scene.state.follows(kinds.NODE_DEVICES) is followed
    before = {*scene.view.records}
    scene.take(kinds.NODE_DEVICES, present(node_devices("n1")))
    assert bool({*scene.view.records} - before) is followed


def test_sizes_of_devices_that_objects_list_are_told_with_the_claims_that_ask_for_a_share():
    """Half of a GPU is another amount of memory for each size of GPUs."""
    scene = Scene(devices=DeviceOptions(sharing=("koordinator",)))
    wants = pod("a")
    limits: dict[str, str | int | float] = {"cpu": "1", "koordinator.sh/gpu": "50"}
    container = replace(wants.spec.containers[0], resources=ResourceRequirements(limits=limits))
    scene.pods(present(replace(wants, spec=replace(wants.spec, containers=(container,)))))
    before = dict(scene.view.records)
    scene.take(kinds.NODE_DEVICES, present(node_devices("n1")))
    changed = {key for key, payload in scene.view.records.items() if before.get(key, payload) != payload}
    assert len(changed) == 1
    [(_, name)] = changed
    assert "a" in name
