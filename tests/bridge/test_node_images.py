"""Of the images on nodes the solver is told those that pods name, whatever comes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from poseidon.bridge.node_images import NodeImages
from poseidon.bridge.state import BridgeState
from poseidon.kube.decoding import convert_object
from poseidon.kube.following import Change
from poseidon.kube.objects import Node, Pod
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.bridge.solver_view import SolverView

NAMES = ["a:1", "a@sha256:0", "b:1", "c:1"]
IMAGES = st.lists(
    st.builds(
        lambda names, size: pb.Image(names=sorted(names), size=size),
        st.sets(st.sampled_from(NAMES), min_size=1, max_size=2),
        st.integers(1, 2),
    ),
    max_size=3,
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(["n1", "n2"]), IMAGES),
        st.tuples(st.just("want"), st.sets(st.sampled_from(NAMES), max_size=2)),
        st.tuples(st.just("forget"), st.sampled_from(["n1", "n2"])),
    ),
    max_size=12,
)


@given(steps=STEPS)
def test_what_was_told_is_what_is_wanted(steps):
    found, on, told, wanted = NodeImages(), {}, {}, set()
    for kind, *rest in steps:
        if kind == "put":
            node, images = rest
            on[node], told[node] = images, found.put(node, images)
        elif kind == "forget":
            found.forget(rest[0])
            on.pop(rest[0], None)
            told.pop(rest[0], None)
        else:
            wanted |= rest[0]
            for node in found.want(rest[0]):
                told[node] = found.wanted_on(node)
    assert told == {
        node: [each for each in images if wanted & set(each.names)] for node, images in on.items()
    }


def node(name, *images, uid="1"):
    value = {
        "metadata": {"name": name, "uid": uid},
        "status": {
            "allocatable": {"cpu": "1", "pods": "9"},
            "images": [{"names": [image], "sizeBytes": 5} for image in images],
        },
    }
    return Change(uid, convert_object(value, Node))


def pod(name, image):
    value = {
        "metadata": {"name": name, "uid": name},
        "spec": {"schedulerName": "poseidon", "containers": [{"image": image}]},
    }
    return Change(name, convert_object(value, Pod))


def test_machines_change_when_a_pod_names_what_they_have():
    state, view = BridgeState(["poseidon"]), SolverView()
    state.nodes_changed([node("n1", "a:latest", "b:1"), node("n2", "b:1", uid="2")])
    state.pods_changed([pod("p", "a")])
    view.apply(state.snapshot())
    assert {name: [each.names[0] for each in m.images] for name, m in view.machines.items()} == {
        "n1": ["a:latest"],
        "n2": [],
    }
    state.pods_changed([pod("q", "b:1")])
    events = state.take_events()
    assert sorted(event.machine.name for event in events if event.HasField("machine")) == ["n1", "n2"]
    view.apply(events)
    assert [each.names[0] for each in view.machines["n1"].images] == ["a:latest", "b:1"]
    state.nodes_changed([node("n1", "a:latest", "b:1", "unheard-of:1")])
    state.pods_changed([pod("r", "b:1")])
    assert not any(event.HasField("machine") for event in state.take_events())
    state.nodes_changed([Change("2", None), node("n1", "b:1")])
    view.apply(state.take_events())
    assert [each.names[0] for each in view.machines["n1"].images] == ["b:1"]
    assert "n2" not in view.machines
