"""What is kept of nodes and pods, told change by change."""

from __future__ import annotations

import random
from typing import Any

from poseidon.kube.api.resource import Change
from poseidon.ui.cluster import store as module
from poseidon.ui.cluster.node_entry import CORDONED, NOT_READY, OVERCOMMITTED, RESERVED, TAINTED
from poseidon.ui.cluster.records import BOUND, ENDED, GATED, PENDING
from tests.poseidon.ui.objects import NOW, Wall, gone, make_node, make_pod, record, store, tell

GPU: dict[str, Any] = {"example.com/gpu": "4"}


def happenings(found, node):
    return [(each.what, each.pod) for each in found.nodes[node].history]


def test_phases_of_pods():
    found = store(
        make_pod("a/runs", node="n"),
        make_pod("a/waits"),
        make_pod("a/gated", schedulingGates=[{"name": "x"}]),
        make_pod("a/done", node="n", status={"phase": "Succeeded"}),
        make_pod("a/never", deleted=NOW),
    )
    phases = {each.own_name: each.phase for each in found.pods.values()}
    assert phases == {"runs": BOUND, "waits": PENDING, "gated": GATED, "done": ENDED, "never": ENDED}
    assert found.counts() == (1, 2, 2)
    assert record(found, "a/gated").reason == "Scheduling is blocked due to non-empty scheduling gates"


def test_sums_of_nodes_follow_their_pods():
    found = store(make_node("n"), make_pod("a/x", node="n", cpu="1500m"), make_pod("a/y", node="n"))
    assert found.nodes["n"].requested == {"cpu": 2500, "memory": 2 * 2**30}
    tell(found, make_pod("a/x", node="n", cpu="500m"))
    assert found.nodes["n"].requested["cpu"] == 1500
    tell(found, make_pod("a/y", node="n", status={"phase": "Failed"}))
    assert found.nodes["n"].requested == {"cpu": 500, "memory": 2**30}
    gone(found, "uid-a/x")
    assert found.nodes["n"].requested == {}
    assert found.nodes["n"].pods == set()


def test_nodes_are_grouped_by_the_labels_of_those_that_exist():
    zone = "topology.kubernetes.io/zone"
    found = store(make_node("n", {zone: "a"}), make_node("m", {zone: "b"}), make_pod("a/x", node="unknown"))
    assert "unknown" in found.nodes
    assert [each.name for each in found.iter_nodes()] == ["n", "m"]
    assert found.groupings() == [zone, ""]


def test_columns_by_hand():
    found = store(
        make_node("n", cpu="4", memory="8Gi", pods="10", **GPU),
        make_pod("a/x", node="n", cpu="1", memory="2Gi"),
        make_pod("a/y", node="n", cpu="2", memory="1Gi"),
    )
    # 3 of 4 cores, 3 of 8 GiB, 2 of 10 pods, and nothing of the devices is asked for
    row = found.nodes["n"].columns({})
    assert (row.cpu, row.memory, row.pods, row.cpu_used, row.hot, row.flags) == (750, 375, 200, None, None, 0)
    found.set_usage([("n", {"cpu": 3000, "memory": 4 * 2**30}, NOW)])
    row = found.nodes["n"].columns({"cpu": 80.0})
    assert (row.cpu_used, row.memory_used, row.flags) == (750, 500, 0)
    found.set_thresholds({"cpu": 70.0})
    assert found.nodes["n"].columns(found.thresholds).flags == 8


def test_flags():
    found = store(
        make_node("cordoned", unschedulable=True),
        make_node("tainted", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}]),
        make_node("away", ready="Unknown"),
        make_node("full", cpu="1"),
        make_node("reserved"),
        make_pod("a/x", node="full", cpu="2"),
        make_pod("a/y", status={"nominatedNodeName": "reserved"}),
    )
    flags = {name: entry.columns({}).flags for name, entry in found.nodes.items()}
    assert flags == {
        "cordoned": CORDONED,
        "tainted": TAINTED,
        "away": NOT_READY,
        "full": OVERCOMMITTED,
        "reserved": RESERVED,
    }
    facts = found.nodes["tainted"].facts
    assert facts is not None
    assert facts.taints == ("a=b:NoSchedule",)
    tell(found, make_pod("a/y", node="reserved"))
    assert found.nodes["reserved"].columns({}).flags == 0


def test_what_happens_to_a_node_is_noted_once_changes_are_news():
    wall = Wall()
    found = store(make_node("n"), make_pod("a/old", node="n"), wall=wall)
    assert happenings(found, "n") == []
    found.live = True
    tell(found, make_pod("a/new"))
    tell(found, make_pod("a/new", node="n"))
    tell(found, make_node("n", unschedulable=True))
    tell(found, make_node("n", ready="False"))
    gone(found, "uid-a/old")
    assert happenings(found, "n") == [
        ("bound", "a/new"),
        ("cordoned", None),
        ("uncordoned", None),
        ("not ready", None),
        ("gone", "a/old"),
    ]
    tell(found, make_node("later"))
    assert happenings(found, "later") == [("added", None)]


def test_pods_that_are_gone_are_kept_for_a_while_and_so_many(monkeypatch):
    wall = Wall()
    found = store(make_pod("a/x", node="n"), make_pod("a/y"), wall=wall)
    gone(found, "uid-a/x")
    assert record(found, "a/x").gone == NOW
    assert found.pod("a/nobody") is None
    wall.now += 901
    gone(found, "uid-a/y")
    assert found.pod("a/x") is None
    assert list(found.gone) == ["uid-a/y"]
    monkeypatch.setattr(module, "MOST_GONE", 3)
    names = [f"a/p{number}" for number in range(5)]
    tell(found, *map(make_pod, names))
    gone(found, *(f"uid-{name}" for name in names))
    assert list(found.gone) == ["uid-a/p2", "uid-a/p3", "uid-a/p4"]


def test_a_namesake_takes_over():
    found = store(make_pod("a/x", uid="1", node="n"))
    tell(found, make_pod("a/x", uid="2"))
    gone(found, "1")
    assert record(found, "a/x").uid == "2"
    assert [each.uid for each in found.list_pods()] == ["2"]


def test_pods_come_in_order_whatever_comes_and_goes():
    rng = random.Random(5)  # a fixed history
    found = store()
    names: set[str] = set()
    for _ in range(300):
        name = f"a/p{rng.randrange(60):02d}"
        if name in names and rng.random() < 0.5:
            gone(found, f"uid-{name}")
            names.discard(name)
        else:
            tell(found, make_pod(name, node=rng.choice(["", "n", "m"])))
            names.add(name)
        if rng.random() < 0.3:
            assert [each.name for each in found.list_pods()] == sorted(names)
    bound = [each for each in found.pods.values() if each.phase == BOUND]
    assert found.bound == len(bound)
    for entry in found.nodes.values():
        assert entry.requested.get("cpu", 0) == 1000 * len(entry.pods)


def test_a_node_that_is_gone_leaves_its_pods_and_then_no_trace():
    found = store(make_node("n"), make_pod("a/x", node="n"))
    found.nodes_changed([Change("node-n", None)])
    assert [each.name for each in found.iter_nodes()] == []
    assert found.nodes["n"].pods == {"uid-a/x"}
    gone(found, "uid-a/x")
    assert found.nodes == {}
    tell(found, make_node("m"))
    assert found.nodes["m"].slot == 0  # taken over, see the samples


def test_the_late_end_of_an_earlier_node_does_not_remove_its_namesake():
    found = store(make_node("n"))
    found.nodes_changed([Change("another", make_node("n"))])
    found.nodes_changed([Change("node-n", None)])
    assert [each.name for each in found.iter_nodes()] == ["n"]


def test_samples_of_what_is_requested():
    found = store(make_node("n"), make_pod("a/x", node="n"))
    found.sample(NOW)
    tell(found, make_node("m"))
    tell(found, make_pod("a/y", node="n"))
    found.sample(NOW + 10)
    entry = found.nodes["n"]
    assert found.requested.read_slot(entry.slot, entry.since) == {
        "at": [NOW, NOW + 10],
        "cpu": [250, 500],
        "memory": [125, 250],
    }
    late = found.nodes["m"]
    assert found.requested.read_slot(late.slot, late.since) == {"at": [NOW + 10], "cpu": [0], "memory": [0]}
    for step in range(200):
        found.sample(NOW + 20 + step)
    assert len(found.requested.read_slot(entry.slot, entry.since)["at"]) == 120


def target(reason, message=""):
    return [
        {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message},
    ]


def test_evictions_as_pods_tell_of_them():
    found = store(
        make_node("n"),
        make_node("m"),
        make_pod("a/beneficiary", status={"nominatedNodeName": "m"}),
        make_pod(
            "a/v", node="n", conditions=target("PreemptionByScheduler", "Preempted by pod a/high on node n")
        ),
        make_pod("a/w", node="m", conditions=target("EvictionByEvictionAPI")),
        make_pod(
            "a/moved",
            node="n",
            annotations={"firmament.io/move-to": "m"},
            conditions=target("EvictionByEvictionAPI"),
        ),
        make_pod("a/drained", node="n", conditions=target("EvictionByEvictionAPI")),
    )
    gone(found, "uid-a/v")
    told = {each.pod: (each.kind, each.beneficiary, each.gone) for each in found.evictions.newest_first()}
    assert told == {
        "a/v": ("preempted", "a/high", True),
        "a/w": ("preempted", "a/beneficiary", False),
        "a/moved": ("moved", "m", False),
        "a/drained": ("evicted", None, False),
    }


def test_what_was_said_of_a_pod_while_it_waited():
    wall = Wall()
    found = store(make_pod("a/x"), wall=wall, live=True)
    assert record(found, "a/x").said == ()
    for step in range(8):
        wall.now = NOW + step
        tell(found, make_pod("a/x", reason=f"reason {step}"))
        tell(found, make_pod("a/x", reason=f"reason {step}"))
    assert record(found, "a/x").said == tuple((NOW + step, f"reason {step}") for step in range(3, 8))
