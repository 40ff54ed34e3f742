"""Tracker, verification and summary, by figures worked out by hand."""

from __future__ import annotations

import msgspec
import pytest

from poseidon.demo.binding_latency import PodName, PodTracker, percentile
from poseidon.demo.report import Summary, summarise
from poseidon.demo.verification import occupancy
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pod(name: str, node: str = "", message: str = "", phase: str = "Pending", **requests: str) -> Pod:
    conditions = [{"type": "PodScheduled", "status": "False", "message": message}] if message else []
    body = {
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": requests}}]},
        "status": {"phase": phase, "conditions": conditions},
    }
    return msgspec.convert(body, Pod)


def node(name: str, **allocatable: str) -> Node:
    return msgspec.convert({"metadata": {"name": name}, "status": {"allocatable": allocatable}}, Node)


def changes(*pods: Pod) -> list[Change[Pod]]:
    return [Change(each.metadata.uid, each) for each in pods]


# Its events belong to a loop, so these tests run in one.


async def test_latencies_count_from_the_announcement():
    clock = Clock()
    tracker = PodTracker(clock)
    tracker.about_to_create([PodName("ns", "a"), PodName("ns", "b")])
    clock.now += 1
    tracker.about_to_create([PodName("ns", "c")])
    tracker.take_changes(changes(pod("a", "n"), pod("b"), pod("foreign", "n")))
    clock.now += 2
    tracker.take_changes(changes(pod("a", "n"), pod("b", "m")))
    assert (tracker.expected, tracker.bound) == (3, 2)
    assert tracker.latencies() == [1.0, 3.0]
    assert tracker.seconds() == 3.0
    assert tracker.bound_twice == 0


async def test_a_changed_node_is_noticed():
    tracker = PodTracker(Clock())
    tracker.about_to_create([PodName("ns", "a")])
    tracker.take_changes(changes(pod("a", "n")))
    tracker.take_changes(changes(pod("a", "m")))
    assert (tracker.bound, tracker.bound_twice) == (1, 1)


async def test_reasons_are_those_of_pods_that_still_wait():
    tracker = PodTracker(Clock())
    tracker.about_to_create(PodName("ns", name) for name in "abc")
    tracker.take_changes(
        changes(pod("a", message="full"), pod("b", message="full"), pod("c", message="tainted"))
    )
    assert tracker.waiting == 3
    tracker.take_changes(changes(pod("a", "n")))
    assert tracker.reasons() == {"full": 1, "tainted": 1}
    assert tracker.seconds() == 0.0


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 50, None),
        ([7.0], 99, 7.0),
        ([1.0, 2.0, 3.0, 4.0], 50, 2.0),
        ([float(n) for n in range(1, 201)], 99, 198.0),
    ],
)
def test_percentiles_are_nearest_ranks(values, percent, expected):
    assert percentile(values, percent) == expected


def test_occupancy_adds_up_what_holds_a_node():
    nodes = [node("n", cpu="1", memory="1Gi", pods="3"), node("m", cpu="1", pods="1"), node("idle", cpu="1")]
    pods = [
        pod("a", "n", cpu="500m"),
        pod("b", "n", cpu="500m"),
        pod("done", "n", cpu="10", phase="Succeeded"),
        pod("waits", cpu="10"),
        pod("c", "m"),
    ]
    found = occupancy(nodes, pods)
    assert (found.nodes, found.bound, found.nodes_used, found.overcommitted_nodes) == (3, 3, 2, 0)


def test_occupancy_finds_every_excess():
    nodes = [node("n", cpu="1", pods="1"), node("m", cpu="1", pods="9")]
    pods = [
        pod("a", "n", cpu="501m"),
        pod("b", "n", cpu="500m"),
        pod("c", "m", **{"example.com/gpu": "1"}),
        pod("d", "gone"),
    ]
    found = occupancy(nodes, pods)
    assert found.overcommitted_nodes == 2
    assert found.overcommitted == (
        "m: example.com/gpu: 1 requested, 0 offered",
        "n: cpu: 1001 requested, 1000 offered",
        "n: pods: 2 requested, 1 offered",
    )
    assert found.unknown_nodes == ("gone",)


async def test_the_summary_is_sound_only_without_faults():
    clock = Clock()
    tracker = PodTracker(clock)
    tracker.about_to_create([PodName("ns", "a"), PodName("ns", "b")])
    clock.now += 0.5
    tracker.take_changes(changes(pod("a", "n"), pod("b", message="full")))
    good = summarise(tracker, occupancy([node("n", cpu="1", pods="9")], [pod("a", "n")]), rounds=2)
    assert good.sound
    assert good.as_json() == {
        "nodes": 1,
        "pods": 2,
        "bound": 1,
        "boundTwice": 0,
        "pending": [{"reason": "full", "pods": 1}],
        "rounds": 2,
        "seconds": 0.5,
        "podsPerSecond": 2.0,
        "latencySeconds": {"p50": 0.5, "p99": 0.5},
        "nodesUsed": 1,
        "overcommittedNodes": 0,
    }
    bad = summarise(tracker, occupancy([node("n", cpu="1", pods="0")], [pod("a", "n")]), rounds=2)
    assert not bad.sound
    lost = summarise(tracker, occupancy([], [pod("a", "n")]), rounds=2)
    assert not lost.sound
    assert not Summary(1, 1, 1, 1, 1.0, None, None, occupancy([], [])).sound
