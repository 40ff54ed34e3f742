"""Records of pods: by uid, and by the name that a pod has now."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import ASSUMED, BOUND
from tests.poseidon.bridge.test_state import Harness


def test_a_name_is_that_of_the_pod_that_has_it_now():
    state = BridgeState()
    old = pod("a")
    new = replace(old, metadata=replace(old.metadata, uid="pod-a-again"))
    state.pods_changed([present(old)])
    found = state.tasks.find_by_name("default/a")
    assert found is not None
    assert found.task.uid == "pod-a"
    # Its successor is seen before its end is.
    state.pods_changed([present(new)])
    state.pods_changed([gone(old)])
    found = state.tasks.find_by_name("default/a")
    assert found is not None
    assert found.task.uid == "pod-a-again"
    state.pods_changed([gone(new)])
    assert state.tasks.find_by_name("default/a") is None
    state.pods_changed([present(old)])
    assert state.tasks.find_by_name("default/a") is not None


def test_a_new_stream_is_told_nothing_of_pods_that_are_gone():
    state = BridgeState()
    state.nodes_changed([present(node("n1"))])
    state.pods_changed([present(pod("a")), present(pod("b", node="n1"))])
    list(state.take_events())
    state.pods_changed([gone(pod("a"))])
    state.snapshot()
    assert [each.WhichOneof("body") for each in state.take_events()] == []


def test_a_pod_that_is_gone_is_on_no_node_any_more():
    state = BridgeState()
    state.nodes_changed([present(node("n1"))])
    state.pods_changed([present(pod("a", node="n1")), present(pod("b", node="n1"))])
    assert [each.task.uid for each in state.tasks.on_node("n1")] == ["pod-a", "pod-b"]
    state.pods_changed([gone(pod("a", node="n1"))])
    assert [each.task.uid for each in state.tasks.on_node("n1")] == ["pod-b"]
    list(state.take_events())
    state.nodes_changed([gone(node("n1"))])
    list(state.take_events())
    state.nodes_changed([present(node("n1", uid="again"))])
    told = [event.WhichOneof("body") for event in state.take_events()]
    assert told.count("bound") == 1


@pytest.fixture
def harness():
    return Harness()


@pytest.mark.parametrize("confirmed", [False, True])
def test_bindings_under_way_stand_in_a_snapshot_as_assumed_and_those_just_done_as_bound(harness, confirmed):
    harness.pods(present(pod("a")))
    [bind] = harness.place("pod-a", "n1")
    if confirmed:
        harness.outcome(bind)
    harness.new_stream()
    assert harness.states() == {"pod-a": (BOUND if confirmed else ASSUMED, "n1")}
    reports, events = harness.pods(present(pod("a")))
    assert (reports, events) == ([], []), "an event older than the binding takes nothing back"
    if not confirmed:
        harness.outcome(bind)
        reports, _ = harness.sync()
        assert (reports, harness.states()) == ([], {"pod-a": (BOUND, "n1")}), (
            "the event that it is bound will do"
        )


def test_pods_on_an_unknown_node_count_once_it_is_known(harness):
    harness.pods(present(pod("a", node="n3")))
    assert harness.states() == {}
    harness.state.nodes_changed([present(node("n3"))])
    harness.sync()
    assert harness.states() == {"pod-a": (BOUND, "n3")}
    harness.state.nodes_changed([gone(node("n3"))])
    harness.sync()
    assert harness.states() == {}
    harness.state.nodes_changed([present(node("n3", uid="another"))])
    harness.sync()
    assert harness.states() == {"pod-a": (BOUND, "n3")}


def test_a_pod_that_ends_while_its_node_is_gone_is_not_there_when_that_returns(harness):
    harness.pods(present(pod("a", node="n1")), present(pod("b", node="n1")))
    former = node("n1")
    harness.state.nodes_changed([gone(former)])
    harness.sync()
    harness.pods(gone(pod("a")))
    harness.state.nodes_changed([present(node("n1", uid="another"))])
    harness.sync()
    assert {uid: (task.state, task.machine) for uid, task in harness.view.tasks.items()} == {
        "pod-b": (BOUND, "n1")
    }


def test_a_pod_that_leaves_before_it_is_placed_is_removed(harness):
    harness.pods(present(pod("a")))
    harness.pods(present(pod("a", deleting=True)))
    assert harness.states() == {}
    assert harness.delta("pod-a", "n1") == []


def test_finished_pods_free_their_node(harness):
    harness.pods(present(pod("a", node="n1", phase="Running")))
    harness.pods(present(pod("a", node="n1", phase="Failed")))
    assert harness.states() == {}


def test_most_of_what_happens_to_a_pod_is_no_news_to_the_solver(harness):
    assert not harness.state.has_news
    harness.state.pods_changed([present(pod("a"))])
    assert harness.state.has_news
    harness.sync()
    [bind] = harness.place("pod-a", "n1")
    assert not harness.state.has_news, "the solver has decided it"
    harness.outcome(bind)
    assert harness.state.has_news, "a report waits"
    harness.sync()
    harness.state.pods_changed([present(pod("a", node="n1"))])
    assert not harness.state.has_news, "the report has said it already"


def test_pods_of_a_suspended_owner_are_asked_to_leave_until_it_is_resumed(harness):
    harness.pods(present(pod("a", node="n1")), present(pod("b", node="n1")))
    tasks = harness.state.tasks
    tasks.ask_to_leave(["pod-a", "unknown"])
    assert [each.asked_to_leave for each in tasks] == [True, False]
    tasks.ask_to_leave(["pod-a", "pod-b"], leave=False)
    assert [each.asked_to_leave for each in tasks] == [False, False]
