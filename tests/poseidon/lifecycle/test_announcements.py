"""What is said about pods that stay pending, and how often."""

from __future__ import annotations

import pytest

from poseidon.bridge.state import BridgeState
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.lifecycle.actions import AnnounceScheduled, AnnounceUnschedulable, Bind
from poseidon.lifecycle.failed_scheduling_timing import reasons_of
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.support.core import Clock

FIVE = "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable."
SIX = "0/6 nodes are available: 4 Insufficient cpu, 2 node(s) were unschedulable."
TURNED = "0/7 nodes are available: 4 node(s) were unschedulable, 3 Insufficient cpu."
OTHER = "0/5 nodes are available: 5 Insufficient memory."


class Scene:
    """Two pods that wait, and a clock."""

    def __init__(self, *, reason=""):
        self.clock = Clock()
        self.state = BridgeState(clock=self.clock)
        self.state.nodes_changed([present(node("n1"))])
        self.state.pods_changed([present(pod(name, reason=reason)) for name in ("a", "b")])
        self.state.snapshot()

    def round(self, message, *uids):
        result = pb.RoundResult(round=1)
        result.unscheduled.add(tasks=uids or ("pod-a",), message=message)
        self.state.on_round(result)
        return self.said()

    def said(self):
        actions = [each for each in self.state.take_actions() if not isinstance(each, AnnounceScheduled)]
        announced = [action for action in actions if isinstance(action, AnnounceUnschedulable)]
        assert len(announced) == len(actions)
        return [(action.pod.name, action.message) for action in announced]

    def later(self, seconds):
        self.clock.advance(seconds)
        self.state.expire()
        return self.said()


def test_new_reasons_are_told_at_once_and_counts_after_a_minute():
    scene = Scene()
    assert scene.round(FIVE) == [("a", FIVE)]
    assert scene.round(FIVE) == []
    assert scene.round(SIX) == []
    assert scene.later(30.0) == []
    assert scene.round(TURNED) == [], "the order of reasons follows their counts"
    assert scene.later(29.0) == []
    assert scene.later(1.0) == [("a", TURNED)], "the latest alone"
    assert scene.later(600.0) == []
    assert scene.round(SIX) == [("a", SIX)], "the last was long ago"
    assert scene.round(OTHER) == [("a", OTHER)]


def test_counts_that_return_to_what_was_said_need_no_correction():
    scene = Scene()
    scene.round(FIVE)
    scene.round(SIX)
    scene.round(FIVE)
    assert scene.later(120.0) == []


def test_every_pod_has_its_own_minute():
    scene = Scene()
    scene.round(FIVE, "pod-a")
    scene.later(40.0)
    scene.round(FIVE, "pod-b")
    assert scene.round(SIX, "pod-a", "pod-b") == []
    assert scene.later(20.0) == [("a", SIX)]
    assert scene.later(40.0) == [("b", SIX)]


@pytest.mark.parametrize("end", ["bound", "gone"])
def test_what_was_put_off_is_not_said_of_pods_that_wait_no_longer(end):
    scene = Scene()
    scene.round(FIVE)
    scene.round(SIX)
    change = gone(pod("a")) if end == "gone" else present(pod("a", node="n1"))
    scene.state.pods_changed([change])
    assert scene.later(61.0) == []


def test_after_a_failed_binding_whatever_is_said_is_new():
    scene = Scene()
    scene.round(FIVE)
    result = pb.RoundResult(round=2)
    result.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1")
    scene.state.on_round(result)
    [bind] = scene.state.take_actions()
    assert isinstance(bind, Bind)
    request = BindRequest(bind.pod.uid, bind.pod.namespace, bind.pod.name, bind.node)
    scene.state.binding_ended(BindOutcome(request, BindResult.FAILED, "503"))
    assert scene.round(SIX) == [("a", SIX)]


def test_a_restarted_bridge_does_not_correct_all_counts_at_once():
    scene = Scene(reason=FIVE)
    assert scene.round(SIX, "pod-a", "pod-b") == []
    assert sorted(scene.later(60.0)) == [("a", SIX), ("b", SIX)]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (FIVE, SIX, True),
        (FIVE, TURNED, True),
        (FIVE, OTHER, False),
        (FIVE, f"{SIX} n1 had room until default/x, default/y took it in the same round.", True),
        (FIVE, f"{OTHER} n1 had room until default/x took it in the same round.", False),
        (
            "0/5 nodes are available: 5 Insufficient gpu-1.",
            "0/5 nodes are available: 5 Insufficient gpu-2.",
            False,
        ),
        ("claim web-1 is not bound", "claim web-2 is not bound", False),
        ("0/0 nodes are available: no nodes available to schedule pods.", FIVE, False),
        (
            "0/5 nodes are available: 5 node(s) had untolerated taint(s).",
            "0/5 nodes are available: 5 node(s) were unschedulable.",
            False,
        ),
    ],
)
def test_which_messages_differ_in_counts_alone(one, other, equal):
    assert (reasons_of(one) == reasons_of(other)) is equal


def test_counts_are_told_again_of_a_pod_that_lost_the_place_it_had_got_meanwhile():
    scene = Scene()
    assert scene.round(FIVE) == [("a", FIVE)]
    assert scene.round(SIX) == []
    placed = pb.RoundResult(round=2)
    placed.deltas.add(kind=pb.Delta.PLACE, task="pod-a", machine="n1")
    scene.state.on_round(placed)
    [bind] = scene.state.take_actions()
    assert isinstance(bind, Bind)
    assert scene.later(60.0) == [], "it has got a place"
    request = BindRequest(bind.pod.uid, bind.pod.namespace, bind.pod.name, bind.node)
    scene.state.binding_ended(BindOutcome(request, BindResult.FAILED, "no"))
    scene.said()
    assert scene.round(FIVE) == [("a", FIVE)]
    assert scene.round(SIX) == []
    assert scene.later(60.0) == [("a", SIX)]


def test_counts_are_told_of_a_pod_that_comes_back_after_it_was_gone():
    scene = Scene()
    assert scene.round(FIVE) == [("a", FIVE)]
    assert scene.round(SIX) == []
    scene.state.pods_changed([gone(pod("a"))])
    assert scene.later(60.0) == []
    scene.state.pods_changed([present(pod("a", reason=FIVE))])
    scene.state.take_events()
    assert scene.round(SIX) == []
    assert scene.later(60.0) == [("a", SIX)]
