"""``poseidon plan`` with a LeaderWorkerSet of many subgroups: all in one zone, each in a rack of its own."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.objects import node

LWS = "leaderworkerset.sigs.k8s.io"


def racked(zone, rack, number):
    made = node(f"{zone}-{rack}-{number}", cpu="4")
    made["metadata"]["labels"] |= {"zone": zone, "rack": f"{zone}-{rack}"}
    return made


def leader_worker_set(subgroups, size):
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "3"}}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "w",
            "namespace": "shop",
            "annotations": {
                f"{LWS}/exclusive-topology": "zone",
                f"{LWS}/subgroup-exclusive-topology": "rack",
            },
        },
        "spec": {
            "leaderWorkerTemplate": {
                "size": subgroups * size,
                "subGroupPolicy": {"subGroupSize": size},
                "workerTemplate": {"spec": {"containers": [container]}},
            }
        },
    }


@pytest.mark.parametrize("subgroups", [3, 24, 60])
def test_all_go_to_the_zone_that_has_room_for_them(run, write, subgroups):
    """Two thirds of them would find racks in the other zone."""
    racks = {"a": subgroups * 2 // 3, "b": subgroups}
    nodes = [
        racked(zone, f"r{rack}", number)
        for zone, count in racks.items()
        for rack in range(count)
        for number in range(2)
    ]
    found = run("plan", "-f", write(*nodes, leader_worker_set(subgroups, 2)), "-o", "json").json
    at = {each["pod"]: each["node"] for each in found["bindings"]}
    assert len(at) == 2 * subgroups
    assert {name.partition("-")[0] for name in at.values()} == {"b"}
    assert len({name.rpartition("-")[0] for name in at.values()}) == subgroups


@pytest.mark.parametrize("subgroups", [2, 5])
def test_a_group_without_room_for_all_its_subgroups_does_not_begin(run, write, subgroups):
    nodes = [racked("a", f"r{rack}", number) for rack in range(subgroups - 1) for number in range(2)]
    nodes.append(racked("a", "small", 0))
    found = run("plan", "-f", write(*nodes, leader_worker_set(subgroups, 2)), "-o", "json").json
    assert found["bindings"] == []
    assert len(found["pending"]) == 2 * subgroups
