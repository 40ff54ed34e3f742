"""Trees of groups that change while they run: they grow, shrink, need more or fewer pods, and lose some."""

from __future__ import annotations

from typing import Any

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.custom_resources import definition
from poseidon.testbed.objects.resources import PODS
from tests.programs.end_to_end.scene import SECONDS, Scene, scene
from tests.programs.end_to_end.test_exclusive_topology import RACK, make_node
from tests.support.cluster import pod
from tests.support.waiting import until

ZONE = "example.com/zone"
SIZES = {"r0": 3, "r1": 3, "r2": 1}
"""Nodes of each rack; a pod takes one. The first two racks are a zone."""
GROUPS = {"left": 2, "right": 3}
"""How many pods each group needs at first."""


def make_group(name: str, least: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "parentCompositePodGroupName": "tree",
            "schedulingPolicy": {"gang": {"minCount": least}},
            "schedulingConstraints": {"topology": [{"key": RACK}]},
        },
    }


class Tree:
    """A tree of two groups in one zone, of which one is enough, each in a rack, and what a test does with it."""

    def __init__(self, s: Scene) -> None:
        self.scene = s
        self.rack_of: dict[str, str] = {}
        for version, plural, kind in (
            ("v1beta1", "podgroups", "PodGroup"),
            ("v1alpha3", "compositepodgroups", "CompositePodGroup"),
        ):
            create_object(s.operations, definition("scheduling.k8s.io", version, plural, kind))
        for rack, size in SIZES.items():
            for number in range(size):
                self.add_node(rack, number)
        root = {
            "schedulingPolicy": {"gang": {"minGroupCount": 1}},
            "schedulingConstraints": {"topology": [{"key": ZONE}]},
        }
        create_object(
            s.operations,
            {
                "apiVersion": "scheduling.k8s.io/v1alpha3",
                "kind": "CompositePodGroup",
                "metadata": {"name": "tree", "namespace": "default"},
                "spec": root,
            },
        )
        for name, least in GROUPS.items():
            create_object(s.operations, make_group(name, least))

    def add_node(self, rack: str, number: int) -> None:
        name = f"{rack}-{number}"
        made = make_node(name, rack)
        made["metadata"]["labels"][ZONE] = "z1" if rack == "r2" else "z0"
        self.rack_of[name] = rack
        create_object(self.scene.operations, made)

    def create(self, *names: str) -> None:
        """Create pods; the group is what their names begin with."""
        for name in names:
            made = pod(name, cpu="3", schedulingGroup={"podGroupName": name.partition("-")[0]})
            create_object(self.scene.operations, made)

    def delete(self, name: str) -> None:
        self.scene.operations.delete(PODS, "default", name)

    async def lose(self, name: str) -> None:
        self.delete(name)
        await until(lambda: name not in self.scene.placed(), within=SECONDS, what=f"{name} is gone")

    def need(self, group: str, least: int) -> None:
        """Change how many pods a group needs."""
        kind = self.scene.operations.registry.of_kind("scheduling.k8s.io/v1beta1", "PodGroup")
        assert kind is not None
        (found,) = (each for each in self.scene.listed(kind) if each["metadata"]["name"] == group)
        changed = {**found, "spec": make_group(group, least)["spec"]}
        self.scene.operations.update(kind, "default", group, changed)

    def racks(self, group: str) -> dict[str, str]:
        """The racks of a group's pods, by name."""
        at = self.scene.placed().items()
        return {name: self.rack_of[node] for name, node in at if name.startswith(group)}

    def message(self, name: str) -> str:
        """What a pod says that it waits for."""
        (found,) = (each for each in self.scene.listed(PODS) if each["metadata"]["name"] == name)
        return " ".join(each.get("message", "") for each in found.get("status", {}).get("conditions", []))

    async def until_placed(self, *names: str) -> None:
        await until(
            lambda: {*names} <= self.scene.placed().keys(), within=SECONDS, what=f"{names} have nodes"
        )

    async def until_told(self, name: str, words: str) -> None:
        await until(lambda: words in self.message(name), within=SECONDS, what=f"{name} says: {words}")


async def test_a_group_grows_and_shrinks_and_needs_more_and_fewer_pods_while_it_runs(tmp_path):
    async with scene(tmp_path) as s:
        tree = Tree(s)
        await s.start()
        tree.create("left-0", "left-1", "right-0")
        await tree.until_placed("left-0", "left-1")
        (home,) = set(tree.racks("left").values())
        await tree.until_told("right-0", "group right has 1 of 3 pods")

        # It grows in its rack until that is full; a pod more takes the place of one that goes.
        tree.create("left-2", "left-3")
        await until(lambda: len(tree.racks("left")) == 3, within=SECONDS, what="the rack is full")
        (late,) = {"left-2", "left-3"} - tree.racks("left").keys()
        await tree.until_told(late, "nodes are available")
        tree.delete("left-0")
        await tree.until_placed(late)
        assert set(tree.racks("left").values()) == {home}

        # It comes to need more than it has: the rest stays, and the others come together once there is room.
        tree.need("left", 5)
        tree.create("left-4")
        await tree.until_told("left-4", "group left has 4 of 5 pods")
        tree.create("left-5")
        await tree.until_told(
            "left-5", f"group left runs in {home}, and needs room there for its 2 pods, which takes 0"
        )
        assert len(tree.racks("left")) == 3
        tree.add_node(home, 3)
        await tree.until_told("left-5", "which takes 1")
        assert len(tree.racks("left")) == 3
        tree.add_node(home, 4)
        await tree.until_placed("left-4", "left-5")
        assert set(tree.racks("left").values()) == {home}

        # A group that waits comes to need no more than there are, and begins in the zone of the tree.
        tree.need("right", 1)
        await tree.until_placed("right-0")
        assert set(tree.racks("right").values()) == {"r0", "r1"} - {home}
        s.check_sound()


async def test_a_pod_that_replaces_another_comes_back_to_the_domains_of_its_group(tmp_path):
    async with scene(tmp_path) as s:
        tree = Tree(s)
        await s.start()
        tree.create("left-0", "left-1", "right-0", "right-1", "right-2")
        await until(lambda: len(s.placed()) == 5, within=SECONDS, what="the tree runs")
        racks = {group: set(tree.racks(group).values()) for group in GROUPS}
        assert racks["left"] | racks["right"] == {"r0", "r1"}, (
            "each in a rack of the only zone with room for both"
        )
        for group in GROUPS:
            await tree.lose(f"{group}-0")
            tree.create(f"{group}-9")
            await tree.until_placed(f"{group}-9")
            assert set(tree.racks(group).values()) == racks[group]
        s.check_sound()
