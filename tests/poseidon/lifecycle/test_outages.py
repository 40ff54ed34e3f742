"""Pods that wait while no solver answers are told so."""

from __future__ import annotations

import pytest

from poseidon.bridge.state import BridgeState
from poseidon.lifecycle.actions import AnnounceUnschedulable
from poseidon.lifecycle.failed_scheduling_timing import MESSAGE
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import node, pod, present
from tests.support.core import Clock

FULL = "0/1 nodes are available: 1 Insufficient cpu."


class Scene:
    """A bound pod, a gated one, and two that wait: of one the solver has said why."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.state = BridgeState(clock=self.clock)
        self.state.nodes_changed([present(node("n1"))])
        pods = [pod("bound", node="n1"), pod("gated", gated=True), pod("known"), pod("new")]
        self.state.pods_changed([present(each) for each in pods])
        self.state.snapshot()
        result = pb.RoundResult(round=1)
        result.unscheduled.add(tasks=("pod-known",), message=FULL)
        self.state.on_round(result)
        self.state.take_actions()

    def after(self, seconds: float, *, answers: bool) -> dict[str, tuple[str, bool]]:
        """Let time pass second by second; return what is said by pod: the message, and whether it is undecided."""
        said = {}
        for _ in range(int(seconds)):
            self.clock.advance(1.0)
            self.state.pending_reasons.note_solver(solver_answers=answers)
            for action in self.state.take_actions():
                assert isinstance(action, AnnounceUnschedulable)
                assert action.pod.name not in said, "once"
                said[action.pod.name] = (action.message, action.undecided)
        return said


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_solver_that_is_away_for_a_moment_is_no_news(scene: Scene) -> None:
    for _ in range(10):
        assert scene.after(25, answers=False) == {}
        assert scene.after(1, answers=True) == {}


def test_waiting_pods_are_told_once(scene: Scene) -> None:
    """One that was found unschedulable keeps that reason for autoscalers; one that nobody has looked at has none."""
    assert scene.after(40, answers=False) == {"known": (MESSAGE, False), "new": (MESSAGE, True)}
    assert scene.after(600, answers=False) == {}
    scene.after(1, answers=True)
    assert scene.after(40, answers=False) == {}, "nothing else has been said meanwhile"


def test_pods_that_come_during_an_outage_are_told_too(scene: Scene) -> None:
    scene.after(40, answers=False)
    scene.state.pods_changed([present(pod("late"))])
    assert scene.after(10, answers=False) == {"late": (MESSAGE, True)}


def test_what_the_solver_finds_afterwards_is_told_at_once(scene: Scene) -> None:
    scene.after(40, answers=False)
    scene.after(1, answers=True)
    result = pb.RoundResult(round=1)
    result.unscheduled.add(tasks=("pod-known", "pod-new"), message=FULL)
    scene.state.on_round(result)
    said = [action for action in scene.state.take_actions() if isinstance(action, AnnounceUnschedulable)]
    assert {(action.pod.name, action.message, action.undecided) for action in said} == {
        ("known", FULL, False),
        ("new", FULL, False),
    }
