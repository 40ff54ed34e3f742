"""JobSets and LeaderWorkerSets whose groups get a rack each: followers are created once the first pod has a node.

Only one rack has room for all. A scheduler that looks at the first pod alone may put it into another one.
"""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.objects.resources import NODES
from tests.programs.end_to_end.scene import SECONDS, Scene, scene
from tests.support.cluster import pod
from tests.support.waiting import until

RACK = "example.com/rack"
JOB = "jobset.sigs.k8s.io/job-key"
LWS = "leaderworkerset.sigs.k8s.io"
SIZES = {"r0": 2, "r1": 3, "r2": 2}
"""Nodes of each rack; a pod takes one."""


def make_node(name: str, rack: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {RACK: rack}},
        "status": {
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def exclusive(label: str, key: str) -> dict[str, Any]:
    """The affinity that both controllers give the first pod of a group."""

    def term(*expressions: dict[str, Any]) -> list[dict[str, Any]]:
        selector = {"matchExpressions": list(expressions)}
        return [{"labelSelector": selector, "topologyKey": RACK, "namespaceSelector": {}}]

    own = {"key": label, "operator": "In", "values": [key]}
    others = ({"key": label, "operator": "Exists"}, {**own, "operator": "NotIn"})
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"podAffinity": {field: term(own)}, "podAntiAffinity": {field: term(*others)}}


def job_set_pod(group: int, index: int, rack: str = "") -> dict[str, Any]:
    made = pod(f"w-{group}-{index}", cpu="3")
    made["metadata"]["labels"] = {JOB: f"key-{group}"}
    made["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK}
    controller = {"apiVersion": "batch/v1", "kind": "Job", "name": f"w-{group}", "uid": f"job-{group}"}
    made["metadata"]["ownerReferences"] = [{**controller, "controller": True}]
    return follow(made, JOB, f"key-{group}", rack)


def leader_worker_pod(group: int, index: int, rack: str = "") -> dict[str, Any]:
    made = pod(f"w-{group}-{index}", cpu="3")
    labels = {"name": "w", "group-index": str(group), "worker-index": str(index), "group-key": f"key-{group}"}
    made["metadata"]["labels"] = {f"{LWS}/{key}": value for key, value in labels.items()}
    made["metadata"]["annotations"] = {f"{LWS}/size": "3", f"{LWS}/exclusive-topology": RACK}
    return follow(made, f"{LWS}/group-key", f"key-{group}", rack)


SET, SLICE = "disaggregatedset.x-k8s.io/name", "disaggregatedset.x-k8s.io/slice"


def slice_pod(role: str, index: int) -> dict[str, Any]:
    """A pod of a role's only group in slice 0 of set w, with the affinity that the set's controller gives it."""
    made = pod(f"w-0-{role}-0-{index}", cpu="3")
    labels = {"name": f"w-0-{role}", "group-index": "0", "worker-index": str(index)}
    made["metadata"]["labels"] = {
        SET: "w",
        SLICE: "0",
        **{f"{LWS}/{key}": each for key, each in labels.items()},
    }
    made["metadata"]["annotations"] = {f"{LWS}/size": "1" if role == "prefill" else "2"}
    own = [{"key": key, "operator": "In", "values": [value]} for key, value in ((SET, "w"), (SLICE, "0"))]
    term = {"labelSelector": {"matchExpressions": own}, "topologyKey": RACK}
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    made["spec"]["affinity"] = {"podAffinity": {field: [term]}}
    return made


def follow(made: dict[str, Any], label: str, key: str, rack: str) -> dict[str, Any]:
    """Give a pod the rack of the first one or, if it is the first one, its affinity."""
    made["spec"] |= {"nodeSelector": {RACK: rack}} if rack else {"affinity": exclusive(label, key)}
    return made


def create_racks(s: Scene) -> dict[str, str]:
    """Create the nodes of all racks; returns the rack of each."""
    rack_of = {}
    for rack, size in SIZES.items():
        for number in range(size):
            rack_of[f"{rack}-{number}"] = rack
            create_object(s.operations, make_node(f"{rack}-{number}", rack))
    assert len(s.listed(NODES)) == len(rack_of)
    return rack_of


@pytest.mark.parametrize("make", [job_set_pod, leader_worker_pod], ids=["JobSet", "LeaderWorkerSet"])
async def test_the_first_pod_goes_where_its_followers_have_room(tmp_path, make):
    async with scene(tmp_path) as s:
        rack_of = create_racks(s)
        await s.start()
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "w-0", "namespace": "default"},
            "spec": {"parallelism": 3, "completions": 3},
        }
        create_object(s.operations, job)
        create_object(s.operations, make(0, 0))
        await until(lambda: "w-0-0" in s.placed(), within=SECONDS, what="the first pod has a node")
        assert rack_of[s.placed()["w-0-0"]] == "r1"
        for index in (1, 2):
            create_object(s.operations, make(0, index, "r1"))
        await until(lambda: len(s.placed()) == 3, within=SECONDS, what="its followers have nodes")
        assert {rack_of[name] for name in s.placed().values()} == {"r1"}


async def test_the_leaders_of_a_slice_go_where_its_workers_have_room(tmp_path):
    """Leaders of both roles come first; the worker of one follows once they have nodes."""
    async with scene(tmp_path) as s:
        rack_of = create_racks(s)
        for role in ("prefill", "decode"):
            create_object(s.operations, slice_pod(role, 0))
        await s.start()
        await until(lambda: len(s.placed()) == 2, within=SECONDS, what="the leaders have nodes")
        assert {rack_of[name] for name in s.placed().values()} == {"r1"}
        create_object(s.operations, slice_pod("decode", 1))
        await until(lambda: len(s.placed()) == 3, within=SECONDS, what="the worker has a node")
        assert {rack_of[name] for name in s.placed().values()} == {"r1"}
