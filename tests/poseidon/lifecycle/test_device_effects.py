"""Pods with claims of devices: when they are bound, and what becomes of them if claims cannot be written."""

from __future__ import annotations

import json
from typing import Any

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.devices.options import DeviceOptions
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, WriteEnd
from poseidon.lifecycle.actions import Action, AnnounceUnschedulable, Bind
from poseidon.lifecycle.phases import Phase
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import node, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.devices.objects import allocation, claim, pod_of_template


class Scene:
    """A pod with a claim of devices, for which a round has found a node and a device."""

    def __init__(self, **given: Any) -> None:
        self.now = 100.0
        configuration = BridgeConfiguration(devices=DeviceOptions(bind_timeout=60.0))
        self.state = BridgeState(configuration, clock=lambda: self.now, wall=lambda: 0.0)
        self.state.nodes_changed([present(node("n1"))])
        self.state.device_claims_changed([present(claim("a-gpu", owner="a"))])
        self.state.pods_changed([present(pod_of_template("a"))])
        self.state.snapshot()
        self.actions = self.round(**given)

    def round(self, **given: Any) -> list[Action]:
        """Place the pod, with devices by the pod's names of its claims."""
        result = pb.RoundResult(round=1)
        delta = result.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1")
        for name, devices in (given or {"gpu": allocation("d0")}).items():
            if devices is not None:
                delta.allocations.add(name=name, allocation=json.dumps(devices))
        self.state.on_round(result)
        return self.state.take_actions()

    def phase(self) -> Phase:
        found = self.state.tasks.get("pod-a")
        assert found is not None
        return found.phase

    def reports(self) -> list[tuple[bool, str, bool]]:
        return [(each.bound, each.reason, each.retry) for each in self.state.take_reports()]

    def messages(self) -> list[str]:
        actions = self.state.take_actions()
        return [each.message for each in actions if isinstance(each, AnnounceUnschedulable)]

    def write(self) -> DeviceClaimWrite:
        [write] = [each for each in self.actions if isinstance(each, DeviceClaimWrite)]
        return write

    def done(self) -> WriteEnd:
        """The end of the write, once the claim has its device."""
        return WriteEnd(
            self.write(),
            claim=claim("a-gpu", given=allocation("d0"), reserved=("a",), owner="a", version="2"),
        )


def test_a_pod_is_bound_once_its_claims_are_written():
    scene = Scene()
    assert not [each for each in scene.actions if isinstance(each, Bind)]
    assert scene.phase() is Phase.BINDING_CLAIMS
    scene.state.device_claim_written(scene.done())
    [bind] = [each for each in scene.state.take_actions() if isinstance(each, Bind)]
    assert (bind.pod.name, bind.node) == ("a", "n1")
    assert scene.phase() is Phase.BINDING


def test_a_write_that_is_refused_gives_the_place_back_and_says_why():
    scene = Scene()
    scene.state.device_claim_written(WriteEnd(scene.write(), "forbidden"))
    assert scene.reports() == [(False, "forbidden", True)]
    assert scene.messages() == ["devices could not be reserved: forbidden"]
    assert scene.phase() is Phase.PENDING


def test_claims_that_are_not_written_in_time_are_given_up():
    scene = Scene()
    scene.now = 159.5
    scene.state.expire()
    assert scene.phase() is Phase.BINDING_CLAIMS
    scene.now = 160.0
    scene.state.expire()
    assert scene.phase() is Phase.HELD, "its claim may have its devices"
    assert scene.reports() == [(False, "claims were not written in time", True)]
    said = scene.messages()
    assert said[0] == "devices could not be reserved: claims were not written in time"


def test_a_round_that_gives_no_devices_is_not_carried_out():
    scene = Scene(gpu=None)
    assert scene.reports() == [(False, 'no devices were chosen for resourceclaim "a-gpu"', True)]
    assert not [each for each in scene.actions if isinstance(each, Bind | DeviceClaimWrite)]
    assert scene.phase() is Phase.PENDING


def test_a_binding_that_is_withheld_gives_written_claims_back():
    scene = Scene()
    scene.state.device_claim_written(scene.done())
    scene.state.take_actions()
    request = BindRequest("pod-a", "default", "a", "n1")
    scene.state.binding_ended(BindOutcome(request, BindResult.WITHHELD, "node n1 is unschedulable now"))
    [write] = [each for each in scene.state.take_actions() if isinstance(each, DeviceClaimWrite)]
    assert (write.join, write.leave) == ((), ("pod-a",))


def test_a_binding_that_may_have_been_made_keeps_its_claims():
    scene = Scene()
    scene.state.device_claim_written(scene.done())
    scene.state.take_actions()
    request = BindRequest("pod-a", "default", "a", "n1")
    scene.state.binding_ended(BindOutcome(request, BindResult.FAILED, "reset"))
    assert not [each for each in scene.state.take_actions() if isinstance(each, DeviceClaimWrite)]


def test_a_pod_whose_claim_is_not_there_waits_for_it_and_says_so():
    state = BridgeState(BridgeConfiguration(), clock=lambda: 0.0, wall=lambda: 0.0)
    state.nodes_changed([present(node("n1"))])
    state.pods_changed([present(pod_of_template("a"))])
    [said] = [each for each in state.take_actions() if isinstance(each, AnnounceUnschedulable)]
    assert said.message == 'resourceclaim "a-gpu" not found'
    state.device_claims_changed([present(claim("a-gpu", owner="a"))])
    found = state.tasks.get("pod-a")
    assert found is not None
    assert found.phase is Phase.PENDING


def test_the_solver_is_told_when_what_a_pod_needs_of_devices_changes():
    state, view = BridgeState(BridgeConfiguration(), clock=lambda: 0.0, wall=lambda: 0.0), SolverView()
    state.nodes_changed([present(node("n1"))])
    state.device_claims_changed([present(claim("a-gpu", owner="a"))])
    state.pods_changed([present(pod_of_template("a"))])
    view.apply(state.snapshot())

    def needs() -> list[str]:
        encoded = pb.TaskClass.FromString(view.tasks["pod-a"].task_class)
        return [each.claim for each in encoded.claims]

    assert needs() == [""], "any devices as the claim describes them"
    given = claim("a-gpu", owner="a", given=allocation("d0"), version="2")
    state.device_claims_changed([present(given)])
    view.apply(state.take_events())
    assert needs() == ["default/a-gpu"], "those that it has"
