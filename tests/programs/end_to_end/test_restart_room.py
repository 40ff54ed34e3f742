"""A JobSet's Job and a LeaderWorkerSet's group restart while others wait for nodes: they come back into their rack.

A played controller deletes all pods of the group, and creates new ones once these are gone.
"""

from __future__ import annotations

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import NODES, PODS
from tests.programs.end_to_end.books import overcommitted
from tests.programs.end_to_end.scene import SECONDS, scene
from tests.programs.end_to_end.test_exclusive_topology import (
    create_racks,
    job_set_pod,
    leader_worker_pod,
)
from tests.support.cluster import pod
from tests.support.waiting import until

KEEP = "firmament.io/keep-room-seconds"
RIVALS = [f"rival-{index}" for index in range(3)]


def configure(folder):
    """Write a configuration that lets pods ask for room to be kept."""
    path = folder / "configuration.yaml"
    head = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
    path.write_text(f"{head}gangs: {{keepRoomAtMost: 5m}}\n")
    return path


class Group:
    """A group of three pods, which fits only into rack r1."""

    def __init__(self, s, make, stated):
        self.scene, self.make, self.stated = s, make, stated
        self.rack_of = create_racks(s)
        owner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "w-0", "namespace": "default"}}
        create_object(s.operations, {**owner, "spec": {"parallelism": 3, "completions": 3}})

    def create(self, index, rack=""):
        made = self.make(0, index, rack)
        made["metadata"]["annotations"] |= {KEEP: self.stated}
        made["spec"]["terminationGracePeriodSeconds"] = 0
        create_object(self.scene.operations, made)

    async def begin(self):
        """Create the first pod, and the others in its rack once it has a node, as both controllers do."""
        self.create(0)
        await until(lambda: "w-0-0" in self.scene.placed(), within=SECONDS, what="the first pod has a node")
        for index in (1, 2):
            self.create(index, self.rack_of[self.scene.placed()["w-0-0"]])
        await until(lambda: len(self.find_racks()) == 3, within=SECONDS, what="its followers have nodes")
        assert set(self.find_racks()) == {"r1"}

    def find_racks(self):
        return [self.rack_of[at] for name, at in self.scene.placed().items() if name.startswith("w-0-")]

    def delete(self):
        for index in range(3):
            self.scene.operations.delete(PODS, "default", f"w-0-{index}")


async def wait_for_nodes(s):
    """Let three rivals wait, which want any node for themselves; two racks are full."""
    fill = [
        pod(f"fill-{rack}-{at}", cpu="3", nodeName=f"{rack}-{at}") for rack in ("r0", "r2") for at in (0, 1)
    ]
    for each in fill:
        each["status"] = {"phase": "Running"}
        create_object(s.operations, each)
    await s.pods(RIVALS, cpu="3")
    await until(lambda: list_messages(s).keys() == set(RIVALS), within=SECONDS, what="the rivals wait")
    assert not set(RIVALS) & s.placed().keys()


def list_messages(s):
    """Why pods wait, by name."""
    return {
        each["metadata"]["name"]: condition["message"]
        for each in s.listed(PODS)
        for condition in each.get("status", {}).get("conditions", [])
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    }


@pytest.mark.parametrize("make", [job_set_pod, leader_worker_pod], ids=["JobSet", "LeaderWorkerSet"])
async def test_a_group_comes_back_into_its_rack_although_others_wait(tmp_path, make):
    async with scene(tmp_path, config=configure(tmp_path)) as s:
        group = Group(s, make, "300")
        await s.start()
        await group.begin()
        await wait_for_nodes(s)
        group.delete()
        await s.pods(["late"], cpu="3")
        words = "3 node(s) kept room for restarting gang default/w-0 until"
        await until(
            lambda: words in list_messages(s).get("late", ""), within=SECONDS, what="they are told why"
        )
        await group.begin()
        assert not {*RIVALS, "late"} & s.placed().keys()
        assert overcommitted(s.listed(NODES), s.listed(PODS)) == []


async def test_without_the_setting_others_take_its_rack(tmp_path):
    async with scene(tmp_path, config=configure(tmp_path)) as s:
        group = Group(s, job_set_pod, "0")
        await s.start()
        await group.begin()
        await wait_for_nodes(s)
        group.delete()
        await until(
            lambda: set(RIVALS) <= s.placed().keys(), within=SECONDS, what="the rivals take the nodes"
        )
        assert {group.rack_of[s.placed()[name]] for name in RIVALS} == {"r1"}
        assert overcommitted(s.listed(NODES), s.listed(PODS)) == []
