"""Jobs of Volcano with partitions, PodGroups of KAI with subgroups, and PodGangs of Grove, with their controllers
played: each group finds one rack, and what replaces a pod comes back to it.

Some racks have room for one pod only: a scheduler that looks at pods one by one puts some of them there.
"""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.custom_resources import definition
from poseidon.testbed.objects.resources import PODS
from tests.programs.end_to_end.scene import SECONDS, Scene, scene
from tests.programs.end_to_end.test_exclusive_topology import RACK, make_node
from tests.support.cluster import pod
from tests.support.waiting import until

SIZES = {"r0": 1, "r1": 2, "r2": 1, "r3": 2}
"""Nodes of each rack; a pod takes one. Two racks are a zone, and only in two of them a group of two finds a place."""


def play_volcano(s: Scene) -> None:
    """Define what Volcano's controllers do, and create what they make of racks and of a Job with two partitions."""
    for group, version, plural, kind, scope in (
        ("topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", "Cluster"),
        ("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", "Namespaced"),
    ):
        create_object(s.operations, definition(group, version, plural, kind, scope=scope))
    inside: dict[str, list[dict[str, Any]]] = {rack: [] for rack in SIZES}
    for rack, size in SIZES.items():
        inside[rack] += [{"exactMatch": {"name": f"{rack}-{number}"}} for number in range(size)]
    for name, tier, member, selectors in (
        *((rack, 1, "Node", selectors) for rack, selectors in inside.items()),
        ("all", 2, "HyperNode", [{"exactMatch": {"name": rack}} for rack in SIZES]),
    ):
        members = [{"type": member, "selector": each} for each in selectors]
        hyper_node = {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
        }
        create_object(s.operations, {**hyper_node, "spec": {"tier": tier, "members": members}})
    policy = {
        "name": "worker",
        "subGroupSize": 2,
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
        "matchLabelKeys": ["volcano.sh/partition-id"],
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    spec = {"minMember": 4, "minTaskMember": {"worker": 4}, "subGroupPolicy": [policy]}
    spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": 2}
    about = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    create_object(s.operations, {**about, "metadata": {"name": "job", "namespace": "default"}, "spec": spec})


def volcano_pod(index: int) -> dict[str, Any]:
    made = pod(f"job-worker-{index}", cpu="3")
    labels = {"volcano.sh/task-spec": "worker", "volcano.sh/partition-id": str(index // 2)}
    made["metadata"]["labels"] = labels
    made["metadata"]["annotations"] = {
        "scheduling.k8s.io/group-name": "job",
        "volcano.sh/task-spec": "worker",
    }
    return made


def play_kai(s: Scene) -> None:
    """Create what KAI's pod-grouper makes of a workload with two segments."""
    create_object(s.operations, definition("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup"))
    rack = {"topology": "cluster", "requiredTopologyLevel": RACK}
    segments = [
        {"name": f"segment-{number}", "minMember": 2, "parent": "worker", "topologyConstraint": rack}
        for number in range(2)
    ]
    spec = {"minMember": 4, "subGroups": [{"name": "worker", "minSubGroup": 2}, *segments]}
    version = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"}
    create_object(
        s.operations, {**version, "metadata": {"name": "job", "namespace": "default"}, "spec": spec}
    )


def kai_pod(index: int) -> dict[str, Any]:
    made = pod(f"job-worker-{index}", cpu="3")
    made["metadata"]["labels"] = {"kai.scheduler/subgroup-name": f"segment-{index // 2}"}
    made["metadata"]["annotations"] = {"pod-group-name": "job"}
    return made


def play_grove(s: Scene) -> None:
    """Create what Grove's operator makes of a PodCliqueSet with two cliques."""
    create_object(s.operations, definition("scheduler.grove.io", "v1alpha1", "podgangs", "PodGang"))
    rack = {"packConstraint": {"required": RACK}}
    cliques = [
        {"name": f"job-{number}", "minReplicas": 2, "topologyConstraint": rack, "podReferences": []}
        for number in range(2)
    ]
    version = {"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang"}
    metadata = {"name": "job", "namespace": "default"}
    create_object(s.operations, {**version, "metadata": metadata, "spec": {"podgroups": cliques}})


def grove_pod(index: int) -> dict[str, Any]:
    made = pod(f"job-worker-{index}", cpu="3")
    made["metadata"]["labels"] = {"grove.io/podgang": "job", "grove.io/podclique": f"job-{index // 2}"}
    return made


@pytest.mark.parametrize(
    ("play", "make"),
    [(play_volcano, volcano_pod), (play_kai, kai_pod), (play_grove, grove_pod)],
    ids=["Volcano", "KAI", "Grove"],
)
async def test_each_subgroup_has_a_rack_and_keeps_it(tmp_path, play, make):
    async with scene(tmp_path) as s:
        rack_of = {f"{rack}-{number}": rack for rack, size in SIZES.items() for number in range(size)}
        for name, rack in rack_of.items():
            create_object(s.operations, make_node(name, rack))
        play(s)
        await s.start()
        for index in range(3):
            create_object(s.operations, make(index))
        await until(
            lambda: sum("message" in str(each.get("status")) for each in s.listed(PODS)) == 3,
            within=SECONDS,
            what="the pods say what they wait for",
        )
        assert not s.placed(), "a pod is still missing"
        create_object(s.operations, make(3))
        await until(lambda: len(s.placed()) == 4, within=SECONDS, what="all have nodes")
        at = {name: rack_of[node] for name, node in s.placed().items()}
        assert at["job-worker-0"] == at["job-worker-1"] != at["job-worker-2"] == at["job-worker-3"]
        s.operations.delete(PODS, "default", "job-worker-1")
        await until(lambda: len(s.placed()) == 3, within=SECONDS, what="a pod is gone")
        again = make(1)
        again["metadata"]["name"] += "-again"
        create_object(s.operations, again)
        await until(lambda: len(s.placed()) == 4, within=SECONDS, what="the pod that replaces it has a node")
        assert rack_of[s.placed()["job-worker-1-again"]] == at["job-worker-0"]
        s.check_sound()
