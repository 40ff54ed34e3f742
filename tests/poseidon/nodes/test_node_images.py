"""Images travel where they can make a difference to the score of kube-scheduler's ImageLocality, and only there."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.nodes.images import LEAST_SUM, MOST_CONTAINERS, NodeImages
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.solver_view import SolverView

NAMES = ["a:1", "a@sha256:0", "b:1", "c:1"]
MB = 2**20
IMAGES = st.lists(
    st.builds(
        lambda names, size: pb.Image(names=sorted(names), size=size),
        st.sets(st.sampled_from(NAMES), min_size=1, max_size=2),
        st.sampled_from([0, 1, MB, 10 * MB, 23 * MB, 46 * MB, 1000 * MB]),
    ),
    max_size=3,
)
NODES = st.sampled_from(["n1", "n2", "n3", "n4", "n5"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NODES, IMAGES),
        st.tuples(st.just("want"), st.sets(st.sampled_from(NAMES), max_size=2)),
        st.tuples(st.just("forget"), NODES),
        st.tuples(st.just("take")),
    ),
    max_size=20,
)


def weight(name, on):
    """What an image adds to the sum of a node that has it, were all its copies as large as the largest."""
    held = [each for images in on.values() for each in images if name in each.names]
    size = max((each.size for each in held), default=0)
    return Fraction(size * len(held), max(len(on), 1))


@given(steps=STEPS)
def test_whatever_may_score_is_told(steps):
    images, on, told, wanted = NodeImages(), {}, {}, set()
    least: dict[str, int] = {}
    for kind, *rest in [*steps, ("take",)]:
        if kind == "put":
            node, found = rest
            images.put(node, found)
            on[node], told[node] = found, images.list_heavy_images(node)
        elif kind == "forget":
            images.forget(rest[0])
            on.pop(rest[0], None)
            told.pop(rest[0], None)
        elif kind == "want":
            wanted |= rest[0]
            images.want(rest[0])
        else:
            heavier, nodes = images.take_heavy()
            for name, containers in heavier.items():
                assert name in wanted
                assert 2 * containers * weight(name, on) >= LEAST_SUM, "told without need"
            least |= heavier
            told |= {node: images.list_heavy_images(node) for node in nodes}
            for name in wanted:
                for containers in range(1, MOST_CONTAINERS + 1):
                    if containers * weight(name, on) >= LEAST_SUM:
                        assert least[name] <= containers
            assert told == {
                node: [each for each in found if not least.keys().isdisjoint(each.names)]
                for node, found in on.items()
            }


def node(name: str, *images: tuple[str, int]) -> Change[Node]:
    value = {
        "metadata": {"name": name, "uid": name},
        "status": {
            "allocatable": {"cpu": "1", "pods": "9"},
            "images": [{"names": [image], "sizeBytes": size} for image, size in images],
        },
    }
    return Change(name, convert_object(value, Node))


def pod(name: str, *images: str) -> Change[Pod]:
    value: dict[str, Any] = {
        "metadata": {"name": name, "uid": name},
        "spec": {"schedulerName": "poseidon", "containers": [{"image": image} for image in images]},
    }
    return Change(name, convert_object(value, Pod))


def shown(view: SolverView) -> dict[str, list[str]]:
    return {uid: list(pb.TaskClass.FromString(task.task_class).images) for uid, task in view.tasks.items()}


def on_machines(view: SolverView) -> dict[str, list[str]]:
    return {name: [each.names[0] for each in machine.images] for name, machine in view.machines.items()}


def test_images_that_cannot_score_split_no_class():
    state, view = BridgeState(), SolverView()
    state.nodes_changed(
        [node("n1", ("small:1", MB // 5), ("alone:1", 20 * MB), ("unheard-of:1", 900 * MB)), node("n2")]
    )
    state.pods_changed([pod("p", "small:1"), pod("q", "nowhere:1"), pod("r", "alone:1")])
    view.apply(state.snapshot())
    assert shown(view) == {"p": [], "q": [], "r": []}
    assert len({task.task_class for task in view.tasks.values()}) == 1
    assert on_machines(view) == {"n1": ["alone:1"], "n2": []}, "it might do with others"


def test_they_count_from_when_they_are_common_enough():
    state, view = BridgeState(), SolverView()
    size = 30 * MB
    state.nodes_changed([node("n1", ("app:latest", size)), node("n2")])
    state.pods_changed([pod("one", "app"), pod("two", "app", "other:2")])
    view.apply(state.snapshot())
    # Half of 30 MiB each could do for two containers together, not for one.
    assert shown(view) == {"one": [], "two": ["app:latest", "other:2"]}
    assert on_machines(view) == {"n1": ["app:latest"], "n2": []}
    state.nodes_changed([node("n2", ("app:latest", size))])
    view.apply(state.take_events())
    assert shown(view)["one"] == ["app:latest"]
    assert on_machines(view) == {"n1": ["app:latest"], "n2": ["app:latest"]}
    assert state.take_events() == []


def test_what_no_pod_names_changes_no_machine():
    state, view = BridgeState(), SolverView()
    state.nodes_changed([node("n1", ("app:1", 900 * MB))])
    state.pods_changed([pod("p", "app:1")])
    view.apply(state.snapshot())
    state.nodes_changed([node("n1", ("app:1", 900 * MB), ("unheard-of:1", 900 * MB))])
    assert state.take_events() == []
    state.nodes_changed([Change("n1", None), node("n2", ("app:1", 900 * MB))])
    view.apply(state.take_events())
    assert on_machines(view) == {"n2": ["app:1"]}


def test_an_image_that_pods_name_weighs_more_when_nodes_go():
    images = NodeImages()
    images.put("n1", [pb.Image(names=["a:1"], size=LEAST_SUM)])
    images.put("n2", [])
    images.want(["a:1"])
    assert images.take_heavy() == ({"a:1": 2}, ["n1"])
    images.forget("n2")
    assert images.changed
    assert images.take_heavy() == ({"a:1": 1}, []), "its node has told of it"
    assert images.take_heavy() == ({}, [])
    assert not images.changed
