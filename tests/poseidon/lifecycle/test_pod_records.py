"""Records of pods: by uid, and by the name that a pod has now."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from tests.poseidon.bridge.objects import gone, node, pod, present


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
