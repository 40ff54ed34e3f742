"""After any history the solver knows what a new one would be told, and writes come to rest."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.api.resource import Change
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.groups.test_tree_groups import Scene
from tests.poseidon.bridge.objects import gone
from tests.poseidon.group_trees.objects import group_map, pod, tree_map
from tests.support.effort import examples

NAMES = ("red", "blue")
RULES = ('{"rack": {"type": "pack"}}', '{"node": {"factor": 2}}', '{"rack": {"min": 2, "max": 1}}', "{")

names = st.sampled_from(NAMES)
pods = st.tuples(names, st.integers(0, 4))
events = st.one_of(
    st.tuples(
        st.just("map"),
        names,
        st.integers(0, 4),
        st.sampled_from(RULES),
        st.sampled_from(["", "7", "-1", "x"]),
    ),
    st.tuples(st.just("unmap"), names),
    st.tuples(st.just("tree"), st.sampled_from(["{", '{"r": {"n1": {}}}', '{"r": {"n1": {}, "n2": {}}}'])),
    st.tuples(st.just("untree")),
    st.tuples(st.just("pod"), pods, st.sampled_from(["", "n1", "n2"]), st.booleans()),
    st.tuples(st.just("gone"), pods),
    st.tuples(st.just("says"), names, st.sampled_from(list(pb.GangState.State.values())[1:])),
    st.tuples(st.just("tick")),
)


class World:
    """The objects as they are, with what has been written into them."""

    def __init__(self):
        self.scene = Scene()
        self.maps = {}
        self.described = None
        self.pods = {}

    def happen(self, kind, *what):
        getattr(self, kind)(*what)
        self.scene.act()

    def map(self, name, size, rules, priority):
        written = {key: value for key, value in self.scene.maps.get(name, {}).items() if value is not None}
        self.maps[name] = group_map(name, size, **{**written, "constraints": rules, "priority": priority})
        self.scene.map(self.maps[name])

    def unmap(self, name):
        if self.maps.pop(name, None) is not None:
            self.scene.maps.pop(name, None)
            self.scene.state.gangs.group_maps_changed([Change(f"map-{name}", None)])

    def tree(self, text):
        self.described = tree_map(text)
        self.scene.tree(self.described)

    def untree(self):
        if self.described is not None:
            self.described = None
            self.scene.state.gangs.topology.tree_maps_changed([Change("map-tree", None)])

    def pod(self, which, node, leaving):
        name = f"{which[0]}-{which[1]}"
        before = self.pods.get(name)
        node = node or (before.spec.node_name if before is not None else "")
        labels = self.scene.labels.get(name, {}) if before is not None else {}
        found = pod(
            name,
            which[0],
            node=node,
            phase="Running" if node else "Pending",
            deleting=leaving,
            labels={key: value for key, value in labels.items() if value is not None},
        )
        self.pods[name] = found
        self.scene.pod(found)

    def gone(self, which):
        found = self.pods.pop(f"{which[0]}-{which[1]}", None)
        if found is not None:
            self.scene.labels.pop(found.metadata.name, None)
            self.scene.pods(gone(found))

    def says(self, name, phase):
        self.scene.says(phase, "no room", job=f"TopologyGroup/default/{name}")

    def tick(self):
        self.scene.tick()


@settings(max_examples=examples(60))
@given(st.lists(events, max_size=25))
def test_any_history(history):
    world = World()
    for kind, *what in history:
        world.happen(kind, *what)
    scene = world.scene
    scene.tick()
    scene.tick(100)
    assert scene.tick() == scene.tick(100) == [], "what comes to rest stays at rest"
    writes = len(scene.writes)
    for found in world.pods.values():
        scene.pod(found)
    scene.tick()
    assert len(scene.writes) == writes, "nothing is written because pods come again"
    told = topology(scene.view)
    scene.new_stream()
    assert topology(scene.view) == told, "a new solver knows what the former one knew"
    for name in NAMES:
        check(scene, name, [each for each in world.pods.values() if each.metadata.name.startswith(name)])


def topology(view):
    tasks = {uid: (task.group_priority, task.job, task.machine) for uid, task in view.tasks.items()}
    # A job whose pods are all held back may be known or not.
    jobs = {job: view.jobs[job].min_members for _, job, _ in tasks.values() if job}
    kinds = ("TopologyTree", "TopologyGroup")
    return tasks, jobs, {key: payload for key, payload in view.records.items() if key[0] in kinds}


def check(scene, name, pods):
    """What is written holds together."""
    data = {key: value for key, value in scene.maps.get(name, {}).items() if value is not None}
    states = {scene.labels.get(each.metadata.name, {}).get("sakkara.member.status") for each in pods}
    if data.get("status") == "Bound" and name in scene.maps and "rank" in data:
        ranked = [entry.strip("()") for entry in data["rank"].strip("[]").split()]
        assert [int(entry.split(",")[1]) for entry in ranked] == list(range(len(ranked)))
        for entry in ranked:
            assert f'"{entry.split(",")[0]}"' in data["placement"]
    assert states <= {
        None,
        "Waiting",
        "Ready",
        "Assigned",
        "Permitted",
        "Bound",
        "Preempting",
        "Preempted",
        "Failed",
    }
