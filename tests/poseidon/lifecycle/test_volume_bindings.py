"""Pods whose volumes are made for the node that they get: what is written, and when they are bound or given up."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.api.pods import ClaimSource, PodVolume
from poseidon.kube.write.patch_writer import NominatedNodeWrite
from poseidon.kube.write.volume_claim_writer import SelectNode
from poseidon.lifecycle.actions import AnnounceUnschedulable, Bind
from poseidon.lifecycle.phases import Phase
from poseidon.volumes.binding import VolumeOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import node, pod, present
from tests.poseidon.volumes.objects import claim, storage_class, volume


class Scene:
    """A pod with an unbound claim, for which a round has found a node."""

    def __init__(self) -> None:
        self.now = 100.0
        configuration = BridgeConfiguration(volumes=VolumeOptions(bind_timeout=60.0))
        self.state = BridgeState(configuration, clock=lambda: self.now, wall=lambda: 0.0)
        self.state.nodes_changed([present(node("n1"))])
        self.take(kinds.STORAGE_CLASS, storage_class())
        self.take(kinds.CLAIM, claim("data"))
        mounted = PodVolume(name="data", persistent_volume_claim=ClaimSource("data"))
        made = pod("a")
        self.state.pods_changed([present(replace(made, spec=replace(made.spec, volumes=(mounted,))))])
        self.state.snapshot()
        result = pb.RoundResult(round=1)
        result.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1")
        self.state.on_round(result)
        self.actions = self.state.take_actions()

    def take(self, kind: Any, *changes: Any) -> None:
        self.state.handlers[kind](changes)

    def phase(self) -> Phase:
        found = self.state.tasks.get("pod-a")
        assert found is not None
        return found.phase

    def select(self) -> SelectNode:
        [found] = [each for each in self.actions if isinstance(each, SelectNode)]
        return found

    def reports(self) -> list[tuple[bool, str, bool]]:
        return [(each.bound, each.reason, each.retry) for each in self.state.take_reports()]

    def messages(self) -> list[str]:
        actions = self.state.take_actions()
        return [each.message for each in actions if isinstance(each, AnnounceUnschedulable)]


def test_the_node_is_selected_before_the_pod_is_bound():
    scene = Scene()
    assert not [each for each in scene.actions if isinstance(each, Bind)]
    assert scene.phase() is Phase.BINDING_CLAIMS
    assert (scene.select().namespace, scene.select().claim, scene.select().node) == ("default", "data", "n1")
    scene.take(kinds.VOLUME, volume("v", to="default/data"))
    scene.take(kinds.CLAIM, claim("data", volume="v"))
    [bind] = [each for each in scene.state.take_actions() if isinstance(each, Bind)]
    assert (bind.pod.name, bind.node) == ("a", "n1")
    assert scene.reports() == []


def test_a_write_that_fails_for_good_gives_the_place_back_and_says_why():
    scene = Scene()
    scene.state.claim_refused(scene.select(), "forbidden")
    [(bound, reason, retry)] = scene.reports()
    assert (bound, retry) == (False, True)
    assert "forbidden" in reason
    assert any("volumes could not be bound: " in each for each in scene.messages())
    assert scene.phase() is not Phase.BINDING_CLAIMS


@pytest.mark.parametrize(("seconds", "given_up"), [(59.0, False), (61.0, True)])
def test_volumes_that_take_too_long_are_given_up(seconds, given_up):
    scene = Scene()
    scene.now += seconds
    scene.state.expire()
    assert bool(scene.reports()) is given_up
    assert (scene.phase() is Phase.BINDING_CLAIMS) is not given_up


@pytest.mark.parametrize("reason", ["", "too late"])
@pytest.mark.parametrize("settle", ["volumes_settled", "devices_settled"])
def test_claims_that_are_settled_late_concern_no_pod_that_does_not_wait_for_them(settle, reason):
    scene = Scene()
    scene.state.placements.recall(["pod-a"], "given up")
    scene.reports()
    scene.state.take_actions()
    found = scene.state.tasks.get("pod-a")
    assert found is not None
    getattr(scene.state.placements, settle)(found, reason)
    assert (found.phase, scene.reports(), scene.state.take_actions()) == (Phase.PENDING, [], [])


def test_a_pod_whose_volume_was_not_bound_in_time_keeps_the_room_on_its_node_for_the_next_try():
    scene = Scene()
    assert NominatedNodeWrite(PodRef("pod-a", "default", "a"), "n1") in scene.actions
    scene.now += 61.0
    scene.state.expire()
    assert not [each for each in scene.state.take_actions() if isinstance(each, NominatedNodeWrite)]
    found = scene.state.tasks.get("pod-a")
    assert found is not None
    assert found.nominated == "n1"
    assert scene.state.nominations.nominated == {"pod-a"}
    scene.state.placements.on_round(unscheduled("pod-a"))
    assert NominatedNodeWrite(PodRef("pod-a", "default", "a"), "") in scene.state.take_actions(), (
        "it has no place now"
    )
    assert scene.state.nominations.nominated == set()


def unscheduled(*uids: str) -> pb.RoundResult:
    result = pb.RoundResult(round=2)
    result.unscheduled.add(tasks=uids, message="0/1 nodes are available: 1 Insufficient cpu.")
    return result
