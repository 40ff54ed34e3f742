"""Shared GPUs without a bridge: the records of nodes, the claims of pods, and turns on a node."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.custom_records import CustomRecords
from poseidon.devices.options import DeviceOptions
from poseidon.devices.shared_gpus import TURN_SECONDS, SharedGpus, without_devices
from poseidon.devices.sharing import hami
from poseidon.devices.sharing.systems import SYSTEMS
from poseidon.devices.state import DeviceState
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.devices import NodeDeviceList
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change


def inventory(*memories: int, name: str = "g") -> dict[str, str]:
    gpus = [{"id": f"{name}{at}", "devmem": each} for at, each in enumerate(memories)]
    return {hami.INVENTORY: json.dumps(gpus)}


def pod(name: str = "p", node: str = "", phase: str = "", limits: Any = None, **annotations: str) -> Pod:
    told = {f"hami.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    if phase:
        told[hami.BIND_PHASE] = phase
    resources = {"limits": {"nvidia.com/gpu": "1", "cpu": "1"} if limits is None else limits}
    value = {
        "metadata": {"name": name, "namespace": "ns", "annotations": told},
        "spec": {
            "containers": [{"name": "c", "resources": resources}],
            "initContainers": [{"name": "i", "resources": resources}],
            "nodeName": node,
        },
    }
    return convert_object(value, Pod)


class Scene:
    def __init__(self, system: str = "hami") -> None:
        self.now = 1000.0
        self.records = CustomRecords()
        self.devices = DeviceState(DeviceOptions(), lambda: self.now, lambda: self.now)
        self.gpus = SharedGpus(SYSTEMS[system], self.records, self.devices, lambda: self.now)
        self.told: dict[str, Any] = {}
        self.retried = 0
        self.devices.try_blocked = self._retry  # type: ignore[method-assign]

    def _retry(self) -> None:
        self.retried += 1

    def slices(self) -> dict[str, list[str]]:
        """The devices of each slice that the solver knows."""
        for event in self.records.take_events():
            if event.HasField("record"):
                self.told[event.record.key.name] = json.loads(event.record.payload)
            else:
                del self.told[event.record_removed.name]
        return {
            name: [device["name"] for device in each["devices"]]
            for name, each in self.told.items()
            if "devices" in each
        }

    def sizes(self, uid: str) -> list[str]:
        """The alternatives of a pod's claim."""
        spec = self.gpus._describe(uid, self.gpus._pods[uid]).spec
        return [each["name"] for each in spec["devices"]["requests"][0]["firstAvailable"]]

    def holds_back(self, pod_name: str, node: str = "n") -> bool:
        return self.gpus.holds_back(f"ns/{pod_name}:hami", {"devices": {"results": [{"pool": node}]}})


def test_the_solver_knows_the_class_and_the_devices_of_nodes():
    scene = Scene()
    assert not scene.gpus.reads_objects
    scene.gpus.put_node("n", inventory(8, 9))
    assert scene.slices() == {"hami.io/n": ["g0", "g1"]}
    assert scene.told["hami.io"] == {"selectors": [{"cel": {"expression": hami.SELECTOR}}]}
    scene.gpus.put_node("m", inventory(8, name="h"))
    assert scene.slices()["hami.io/m"] == ["h0"]
    scene.gpus.put_node("n", inventory(8))
    assert scene.slices()["hami.io/n"] == ["g0"]
    scene.gpus.put_node("n", {})
    assert scene.slices() == {"hami.io/m": ["h0"]}
    scene.gpus.forget_node("m")
    assert scene.slices() == {}
    scene.gpus.put_node("m", inventory(8, name="h"))
    assert scene.slices() == {"hami.io/m": ["h0"]}, "it is told again although it says the same"


def test_devices_that_cannot_be_read_are_none(caplog):
    scene = Scene()
    scene.gpus.put_node("n", inventory(8))
    scene.gpus.put_node("n", {hami.INVENTORY: "[1"})
    assert scene.slices() == {}
    assert "devices cannot be read node=n" in caplog.text


def test_a_claim_has_an_alternative_for_each_size_of_gpus():
    scene = Scene()
    assert [each.name for each in scene.gpus.put_pod("u", pod())] == ["hami.io"]
    scene.gpus.put_node("n", inventory(8, 8, 16))
    assert scene.sizes("u") == ["m8", "m16"]
    scene.gpus.put_node("n", inventory(8))
    assert scene.sizes("u") == ["m8"]
    scene.gpus.put_node("m", inventory(32))
    scene.gpus.forget_node("n")
    assert scene.sizes("u") == ["m32"]


def test_pods_that_ask_for_no_gpus_have_no_claim():
    scene = Scene()
    assert scene.gpus.put_pod("u", pod(limits={"cpu": "1"})) == ()
    scene.gpus.release_gpus("u")
    assert scene.retried == 0


def test_the_claim_of_a_pod_says_what_the_pod_has():
    scene = Scene()
    part = {"vgpu_devices_allocated": "g0,NVIDIA,5,0:;"}
    for found, has in (
        (pod(), False),
        (pod(**part), False),
        (pod(node="n"), False),
        (pod(node="n", **part), True),
        (pod(vgpu_node="n", **part), True),
        (pod(node="n", vgpu_devices_allocated="g0;"), False),
    ):
        claim = scene.gpus._describe("u", found)
        assert (claim.metadata.namespace, claim.metadata.name, claim.metadata.uid) == (
            "ns",
            "p:hami",
            "u:hami",
        )
        assert claim.metadata.annotations == {"containers": "1"}
        [owner] = claim.metadata.owner_references
        assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "p", "u", True)
        assert (claim.status.allocation is not None) is has
        assert [each.uid for each in claim.status.reserved_for] == (["u"] if has else [])


def test_pods_take_turns_on_a_node():
    scene = Scene()
    assert not scene.holds_back("a")
    assert not scene.holds_back("a"), "it has its turn"
    assert scene.holds_back("b")
    assert not scene.holds_back("b", "m"), "each node has turns of its own"
    scene.now += TURN_SECONDS - 1
    assert scene.holds_back("b")
    scene.now += 1
    assert not scene.holds_back("b")
    assert scene.holds_back("a")
    scene.gpus.end_turn("ns/b:hami")
    assert scene.retried == 1
    assert not scene.holds_back("a")
    scene.gpus.end_turn("ns/b:hami")
    assert scene.retried == 1, "it had none"
    scene.gpus.forget_node("n")
    assert not scene.holds_back("b")


@pytest.mark.parametrize(("system", "waits"), [("hami", True), ("koordinator", False)])
def test_placements_wait_for_their_turn_where_a_device_plugin_finds_its_pod_by_order(system, waits):
    scene = Scene(system)
    given = {"devices": {"results": [{"pool": "n"}]}}
    scene.devices.holds_back(f"ns/a:{system}", given)
    assert scene.devices.holds_back(f"ns/b:{system}", given) is waits


def test_nobody_uses_the_gpus_of_a_pod_that_is_gone():
    scene = Scene()
    scene.gpus.put_pod("u", pod())
    assert [each.metadata.name for each in scene.devices.list_claims()] == ["p:hami"]
    scene.gpus.release_gpus("u")
    assert scene.devices.list_claims() == ()
    scene.gpus.release_gpus("u")  # once more changes nothing


def test_real_claims_wait_for_no_turn():
    scene = Scene()
    scene.holds_back("a")
    assert not scene.gpus.holds_back("ns/real", {"devices": {"results": [{"pool": "n"}]}})


@pytest.mark.parametrize(
    ("node", "phase", "since", "waits"),
    [
        ("n", "allocating", "900", True),
        ("n", "allocating", "700", False),
        ("n", "allocating", "soon", True),
        ("", "allocating", "900", False),
        ("n", "success", "900", False),
        ("n", "", "900", False),
    ],
)
def test_a_pod_that_is_being_given_its_gpus_has_its_turn(node, phase, since, waits):
    scene = Scene()
    scene.gpus.put_pod("u", pod(node=node, phase=phase, bind_time=since))
    assert scene.holds_back("other") is waits


@pytest.mark.parametrize("phase", ["success", "failed"])
def test_a_turn_ends_when_the_plugin_says_so_or_the_pod_is_gone(phase):
    scene = Scene()
    scene.gpus.put_pod("u", pod(node="n", phase="allocating", bind_time="990"))
    scene.gpus.put_pod("u", pod(node="n", phase=""))
    assert scene.holds_back("other"), "nothing is said of it"
    scene.gpus.put_pod("u", pod(node="n", phase=phase))
    assert not scene.holds_back("other")
    scene.gpus.end_turn("ns/other:hami")
    scene.gpus.put_pod("u", pod(node="n", phase="allocating", bind_time="990"))
    scene.gpus.release_gpus("u")
    assert not scene.holds_back("other")


def test_objects_list_the_devices_of_koordinators_nodes():
    scene = Scene("koordinator")
    assert scene.gpus.reads_objects
    device = {"type": "gpu", "minor": 0, "health": True, "resources": {"koordinator.sh/gpu-memory": "8"}}
    value = {"metadata": {"name": "n"}, "spec": {"devices": [device]}}
    found = convert_object(value, NodeDeviceList)
    scene.gpus.put_node("n", {hami.INVENTORY: inventory(8)[hami.INVENTORY]})
    assert scene.slices() == {}
    scene.gpus.take_objects([Change("1", found)])
    assert scene.slices() == {"gpu.koordinator.sh/n": ["0"]}
    scene.gpus.forget_node("n")
    assert scene.slices() == {"gpu.koordinator.sh/n": ["0"]}, "the object is still there"
    scene.gpus.take_objects([Change("2", found), Change("1", None)])
    assert scene.slices() == {"gpu.koordinator.sh/n": ["0"]}, "another object lists the node's devices now"
    scene.gpus.take_objects([Change("2", None)])
    assert scene.slices() == {}


def test_a_request_that_makes_no_sense_is_told():
    scene = Scene("koordinator")
    [claim] = scene.gpus.put_pod("u", pod(limits={"koordinator.sh/gpu": "150"}))
    assert "give up to 100, or a multiple of 100" in claim.problem
    [claim] = scene.gpus.put_pod("u", pod(limits={"koordinator.sh/gpu": "200"}))
    assert claim.problem == ""
    assert claim.made


@pytest.mark.parametrize(
    ("system", "initial"), [("hami", {"nvidia.com/gpu", "cpu"}), ("koordinator", {"cpu"})]
)
def test_requests_that_are_claims_are_taken_out(system, initial):
    found = without_devices(pod(), SYSTEMS[system])
    assert found.spec.containers[0].resources.limits.keys() == {"cpu"}
    assert found.spec.init_containers[0].resources.limits.keys() == initial
    plain = pod(limits={"cpu": "1"})
    assert without_devices(plain, SYSTEMS[system]) is plain
    assert replace(found, spec=plain.spec).metadata == plain.metadata
