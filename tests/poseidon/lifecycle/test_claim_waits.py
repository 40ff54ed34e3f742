"""Pods with claims of volumes or devices: they are told to the solver, and announced, when their claims change."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.kube.api import kinds
from poseidon.kube.api.pods import ClaimSource, PodVolume
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.actions import AnnounceUnschedulable
from tests.poseidon.bridge.objects import node, pod, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.devices.objects import claim, with_claims
from tests.poseidon.volumes.objects import claim as volume_claim
from tests.poseidon.volumes.objects import storage_class


class Scene:
    def __init__(self) -> None:
        self.now = 100.0
        self.state = BridgeState(clock=lambda: self.now, wall=lambda: 0.0)
        self.view = SolverView()
        self.state.nodes_changed([present(node("n1"))])
        self.view.apply(self.state.snapshot())

    def tell(self) -> None:
        self.view.apply(list(self.state.take_events()))

    def said(self) -> list[str]:
        """Return what is announced of pods, once it is due."""
        self.now += 60.0
        self.state.expire()
        return [each.message for each in self.state.take_actions() if isinstance(each, AnnounceUnschedulable)]


def test_a_pod_is_taken_back_when_its_claim_of_devices_goes_and_offered_when_it_comes():
    scene = Scene()
    scene.state.device_claims_changed([present(claim("gpu"))])
    scene.state.pods_changed([present(with_claims(pod("a"), "gpu"))])
    scene.tell()
    assert scene.view.tasks.keys() == {"pod-a"}
    scene.state.device_claims_changed([Change("claim-gpu", None)])
    scene.tell()
    assert scene.view.tasks == {}
    assert any("gpu" in each for each in scene.said())
    scene.state.device_claims_changed([present(claim("gpu"))])
    scene.tell()
    assert scene.view.tasks.keys() == {"pod-a"}


def test_a_pod_is_taken_back_when_its_claim_of_a_volume_goes_and_offered_when_it_comes():
    scene = Scene()
    scene.state.handlers[kinds.STORAGE_CLASS]([storage_class()])
    scene.state.handlers[kinds.CLAIM]([volume_claim("data")])
    made = pod("a")
    mounted = PodVolume(name="data", persistent_volume_claim=ClaimSource("data"))
    scene.state.pods_changed([present(replace(made, spec=replace(made.spec, volumes=(mounted,))))])
    scene.tell()
    assert scene.view.tasks.keys() == {"pod-a"}
    scene.state.handlers[kinds.CLAIM]([Change("data", None)])
    scene.tell()
    assert scene.view.tasks == {}
    assert any("data" in each for each in scene.said())
    scene.state.handlers[kinds.CLAIM]([volume_claim("data")])
    scene.tell()
    assert scene.view.tasks.keys() == {"pod-a"}
