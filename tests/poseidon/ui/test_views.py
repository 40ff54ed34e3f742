"""Every view of small clusters, by figures worked out by hand."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from poseidon.explanations import Charge, Verdict
from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
from poseidon.live.figures import Figures, Quantiles
from poseidon.ui.history import FigureHistory
from poseidon.ui.views.amounts import amount_text, requests_text
from poseidon.ui.views.blocking_pods import PodInTheWay, fewest
from poseidon.ui.views.cluster import show_cluster
from poseidon.ui.views.nodes import show_node
from poseidon.ui.views.overview import show_overview, utilisation
from poseidon.ui.views.pending import reason_key, show_pending
from poseidon.ui.views.pods import PodQuery, show_pod, show_pods
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.ui.objects import GI, NOW, gone, known, make_node, make_pod, record, store

ZONE = "topology.kubernetes.io/zone"
FULL = (
    "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s) {a: b}. preemption: 0/2"
)
FULL_ELSEWHERE = "0/9 nodes are available: 5 Insufficient cpu, 4 node(s) had untolerated taint(s) {a: b}."


@pytest.fixture
def small():
    return store(
        make_node("n1", {ZONE: "z1"}),
        make_node("n2", {ZONE: "z2"}, taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}]),
        make_node("n3", {ZONE: "z1"}),
        make_pod("a/r1", node="n1", owner="web", since=NOW - 50),
        make_pod("a/r2", node="n1", owner="web", since=NOW - 40, cpu="500m"),
        make_pod("b/r3", node="n2", owner="db"),
        make_pod("a/w1", reason=FULL, owner="web", created=NOW - 100),
        make_pod("a/w2", reason=FULL_ELSEWHERE, owner="web", created=NOW - 40),
        make_pod("b/w3", reason=FULL, owner="db", created=NOW - 10),
        make_pod("b/w4", owner="db", created=NOW - 4),
    )


@pytest.mark.parametrize(
    ("message", "key"),
    [
        (FULL, "Insufficient cpu, node(s) had untolerated taint(s) {a: b}"),
        (FULL_ELSEWHERE, "Insufficient cpu, node(s) had untolerated taint(s) {a: b}"),
        ("0/3 nodes are available: 3 Insufficient cpu.", "Insufficient cpu"),
        (
            "0/0 nodes are available: no nodes available to schedule pods.",
            "no nodes available to schedule pods",
        ),
        ("waits for PodGroup a/b, which does not exist", "waits for PodGroup a/b, which does not exist"),
        ("", ""),
    ],
)
def test_reasons_without_figures(message, key):
    assert reason_key(message) == key


def test_pending_by_reason(small):
    found = show_pending(small, "reason", 0, 50, NOW)
    assert (found["total"], found["groupsTotal"]) == (4, 2)
    first, second = found["groups"]
    assert first == {
        "key": "Insufficient cpu, node(s) had untolerated taint(s) {a: b}",
        "reason": "Insufficient cpu, node(s) had untolerated taint(s) {a: b}",
        "class": "",
        "pods": 3,
        "oldest": 100.0,
        "median": 40.0,
        "oldestSince": NOW - 100,
        "medianSince": NOW - 40,
        "examples": ["a/w1", "a/w2", "b/w3"],
        "kinds": 2,
    }
    assert (second["key"], second["pods"], second["class"]) == (
        "waits for the next round",
        1,
        "b/ReplicaSet/db",
    )
    assert show_pending(small, "reason", 1, 1, NOW)["groups"] == [second]


def test_pending_by_class(small):
    web, db = show_pending(small, "class", 0, 50, NOW)["groups"]
    assert (web["key"], web["pods"], web["median"], web["kinds"]) == ("a/ReplicaSet/web", 2, 70.0, 1)
    assert (db["class"], db["pods"], db["oldest"]) == ("b/ReplicaSet/db", 2, 10.0)


def test_overview(small):
    everything = known(small)
    everything.history.add(NOW, None, 4)
    figures = Figures(
        nodes=3, leads=True, connected=True, refused=False, queues={"active": 4}, in_flight=0, bound=2.5,
        bound_in_all=3, scheduling=Quantiles(0.5, 2.0), answer=Quantiles(math.nan, math.nan),
        binding=Quantiles(0.1, 0.2), rounds=0.5, stages={}, arcs=7, failures=0,
    )  # fmt: skip
    everything.history.add(NOW + 2, figures, 4)
    stats = pb.RoundStats(
        machines=3, tasks=4, classes=2, arcs=7, placed=1, pending=3, certified=True, cost=12
    )
    everything.rounds.add([pb.RoundSummary(round=5, ended=NOW, stats=stats, evictions=1)])
    everything.leader.set_holder("one")
    everything.leader.set_holder("two")
    found = show_overview(everything)
    assert (found["nodes"], found["pods"]) == (3, {"bound": 3, "pending": 4, "others": 0})
    assert found["waiting"] == {"unschedulable": 3, "new": 1, "gated": 0}
    assert found["figures"]["boundPerSecond"] == 2.5
    assert found["history"] == {
        "at": [NOW, NOW + 2],
        "boundPerSecond": [None, 2.5],
        "schedulingP50": [None, 0.5],
        "schedulingP99": [None, 2.0],
        "pending": [4, 4],
        "roundsPerSecond": [None, 0.5],
    }
    assert [each["pods"] for each in found["pendingByReason"]] == [3, 1]
    (only,) = found["rounds"]
    assert only["flow"] is False
    everything.rounds.put_flow(pb.RoundFlow(round=5))
    assert [each["flow"] for each in show_overview(everything)["rounds"]] == [True]
    assert (only["round"], only["placed"], only["pending"], only["evictions"], only["cost"]) == (
        5,
        1,
        3,
        1,
        12,
    )
    assert set(only["seconds"]) == {"snapshot", "network", "solve", "admit"}
    assert found["leader"] == {"holder": "two", "leads": None, "others": ["one"]}


def test_utilisation_of_the_cluster_by_resource():
    gpus: dict[str, Any] = {"nvidia.com/gpu": "4"}
    found = store(
        make_node("n1", **gpus),
        make_node("n2"),
        make_pod("a/p1", node="n1", cpu="1500m"),
        make_pod("a/p2", node="gone", cpu="3"),  # its node does not exist: it fills none
        make_pod("a/p3"),
    )
    rows = {each["resource"]: each for each in utilisation(found)}
    assert list(rows) == ["cpu", "memory", "pods", "nvidia.com/gpu"]
    assert rows["cpu"] == {
        "resource": "cpu",
        "allocatable": 8000,
        "requested": 1500,
        "used": None,
        "text": {"allocatable": "8", "requested": "1500m", "used": None},
    }
    assert (rows["pods"]["requested"], rows["pods"]["allocatable"]) == (1, 20)
    assert (rows["nvidia.com/gpu"]["requested"], rows["nvidia.com/gpu"]["allocatable"]) == (0, 4)
    found.set_usage([("n1", {"cpu": 700}, NOW)])
    assert utilisation(found)[0]["used"] is None  # n2 does not say
    found.set_usage([("n2", {"cpu": 300}, NOW)])
    assert utilisation(found)[0]["used"] == 1000


def test_a_gap_in_the_history_is_a_gap():
    history = FigureHistory()
    assert history.as_json()["at"] == []
    for at in (0, 2, 12, 112, 114):
        history.add(NOW + at, None, at)
    found = history.as_json()
    assert [at - NOW for at in found["at"]] == [0, 2, 12, 62, 112, 114]
    assert found["pending"] == [0, 2, 12, None, 112, 114]
    history.add(NOW + 905, None, 1)
    # What is older than a quarter of an hour is forgotten.
    assert [at - NOW for at in history.as_json()["at"]] == [12, 62, 112, 114, 509.5, 905]


def test_cluster_as_columns(small):
    found = show_cluster(small, None)
    assert (found["level"], found["levels"][-1]) == (ZONE, "")
    assert found["groups"] == ["z1", "z2"]
    columns = found["nodes"]
    assert columns["name"] == ["n1", "n3", "n2"]
    assert columns["group"] == [0, 0, 1]
    assert columns["cpu"] == [375, 0, 250]  # 1.5 of 4, none, 1 of 4
    assert columns["memory"] == [250, 0, 125]
    assert columns["pods"] == [200, 0, 100]
    assert columns["cpuUsed"] == [None, None, None]
    assert columns["flags"] == [0, 0, 4]
    assert show_cluster(small, "")["groups"] == [""]
    assert show_cluster(store(), None)["nodes"]["name"] == []


def test_one_node(small):
    everything = known(small)
    raw = {
        "metadata": {"name": "n1"},
        "zones": [
            {
                "name": "node-0",
                "type": "Node",
                "resources": [{"name": "cpu", "capacity": "2", "allocatable": "2", "available": "1500m"}],
            }
        ],
    }
    everything.zones["n1"] = msgspec.convert(raw, NodeResourceTopology)
    small.set_usage([("n1", {"cpu": 700}, NOW)])
    found = show_node(everything, "n1", 0, 1)
    assert found is not None
    assert found["requested"] == {"cpu": 1500, "memory": 2 * GI, "pods": 2}
    cpu = found["resources"][0]
    assert cpu == {
        "resource": "cpu",
        "allocatable": 4000,
        "requested": 1500,
        "used": 700,
        "text": {"allocatable": "4", "requested": "1500m", "used": "700m"},
    }
    assert found["zones"] == [
        {"zone": "node-0", "resources": [{"resource": "cpu", "allocatable": 2000, "available": 1500}]}
    ]
    assert (found["totalPods"], [each["name"] for each in found["pods"]]) == (2, ["a/r2"])
    assert found["pods"][0]["requests"] == "500m cpu, 1Gi memory"
    assert [(each["at"], each["what"], each["pod"]) for each in found["history"]] == [
        (NOW - 40, "bound", "a/r2"),
        (NOW - 50, "bound", "a/r1"),
    ]
    assert show_node(everything, "nobody", 0, 1) is None


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (PodQuery(), ["a/r1", "a/r2", "a/w1", "a/w2", "b/r3", "b/w3", "b/w4"]),
        (PodQuery("pending"), ["a/w1", "a/w2", "b/w3", "b/w4"]),
        (PodQuery("bound", node="n1"), ["a/r1", "a/r2"]),
        (PodQuery("bound", namespace="b"), ["b/r3"]),
        (PodQuery("pending", reason=reason_key(FULL)), ["a/w1", "a/w2", "b/w3"]),
        (PodQuery(task_class="a/ReplicaSet/web"), ["a/r1", "a/r2", "a/w1", "a/w2"]),
        (PodQuery(text="R"), ["a/r1", "a/r2", "b/r3"]),
        (PodQuery(node="nowhere"), []),
        (PodQuery("gone"), ["b/r3", "a/r1"]),
    ],
)
def test_pages_of_pods(small, query, names):
    if query.phase == "gone":
        gone(small, "uid-a/r1", "uid-b/r3")
    found = show_pods(small, query, 0, 100)
    assert [each["name"] for each in found["items"]] == names
    assert found["total"] == len(names)
    assert [each["name"] for each in show_pods(small, query, 1, 2)["items"]] == names[1:3]
    if query.phase == "gone":
        assert {each["phase"] for each in found["items"]} == {"gone"}


def test_a_namespace_is_no_part_of_the_name_of_another():
    found = store(make_pod("a/x"), make_pod("ab/y"))
    assert [each["name"] for each in show_pods(found, PodQuery(namespace="a"), 0, 9)["items"]] == ["a/x"]


def verdict(*reasons, cost=0.0, lacks_only_room=False):
    return Verdict(not reasons, reasons, cost, {"m": Charge(True, 1.0, None, cost)}, lacks_only_room)


def test_one_pod_that_waits(small):
    waiting = record(small, "a/w1")
    said = {
        "n1": verdict("Insufficient cpu", cost=3.0, lacks_only_room=True),
        "n2": verdict("node(s) had untolerated taint(s) {a: b}"),
        "n3": verdict(cost=7.0),
    }
    found = show_pod(known(small), waiting, said, None)
    assert (found["phase"], found["since"], found["class"]) == ("pending", NOW - 100, "a/ReplicaSet/web")
    assert [each["what"] for each in found["story"]] == ["created", FULL]
    assert found["verdicts"]["feasible"] == 1
    assert found["verdicts"]["nodes"] == [
        {"node": "n3", "cost": 7, "models": {"m": {"cost": 7, "raw": 1, "score": None}}, "chosen": False}
    ]
    assert found["verdicts"]["refusals"] == [
        {"reasons": ["Insufficient cpu"], "nodes": 1, "examples": ["n1"]},
        {"reasons": ["node(s) had untolerated taint(s) {a: b}"], "nodes": 1, "examples": ["n2"]},
    ]
    assert found["room"] == []  # by what pods request it has room on n1
    assert found["price"] is None


ONE_GPU: dict[str, Any] = {"nvidia.com/gpu": "1"}


def with_gpu(cpu):
    return [{"name": "main", "resources": {"requests": {"cpu": cpu, "nvidia.com/gpu": "1"}}}]


def test_who_took_the_room_are_the_fewest_without_whom_it_would_fit():
    """n1 lacks half a core: the smaller pod is enough. n2 has no GPU, so nobody there took one; g1 has n3's."""
    found = store(
        make_node("n1", **ONE_GPU),
        make_node("n2"),
        make_node("n3", **ONE_GPU),
        make_pod("a/large", node="n1", cpu="1"),
        make_pod("a/small", node="n1", cpu="500m"),
        make_pod("a/tiny", node="n1", cpu="100m"),
        make_pod("a/other", node="n2", cpu="4"),
        make_pod("a/bystander", node="n3", cpu="100m"),
        make_pod("a/g1", node="n3", containers=with_gpu("1")),
        make_pod("a/waits", containers=with_gpu("3")),
    )
    said = {
        "n1": verdict("Insufficient cpu", lacks_only_room=True),
        "n2": verdict("Insufficient cpu", "Insufficient nvidia.com/gpu", lacks_only_room=True),
        "n3": verdict("Insufficient nvidia.com/gpu", lacks_only_room=True),
    }
    shown = show_pod(known(found), record(found, "a/waits"), said, None)["room"]
    assert shown == [
        {"pod": "a/large", "tasks": 1, "node": "n1"},
        {"pod": "a/g1", "tasks": 1, "node": "n3"},
    ]


TAKERS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=7)


@given(TAKERS, st.integers(0, 8), st.integers(0, 8))
def test_the_fewest_are_enough_and_each_of_them_is_needed(sizes, cpu, gpu):
    lacking = {key: amount for key, amount in (("cpu", cpu), ("gpu", gpu)) if amount}
    assume(lacking)
    among = [
        PodInTheWay(f"p{number}", "", {"cpu": one, "gpu": two}, priority, lately=False)
        for number, (one, two, priority) in enumerate(sizes)
    ]

    def are_enough(those):
        return all(sum(each.takes(key) for each in those) >= lacking[key] for key in lacking)

    found = fewest(among, lacking)
    if not are_enough(among):
        assert not found
        return
    assert are_enough(found)
    for each in found:
        assert not are_enough([other for other in found if other is not each])
    least = next(size for size in range(1, 8) if any(map(are_enough, combinations(among, size))))
    assert len(found) == least or least > 2


def test_one_pod_that_has_ended_and_one_that_is_gone(small):
    gone(small, "uid-a/r1")
    found = show_pod(known(small), record(small, "a/r1"), None, "why not")
    assert (found["phase"], found["verdicts"], found["verdictsError"]) == ("gone", None, "why not")
    assert [each["what"] for each in found["story"]] == ["created", "bound to node n1", "gone"]


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 1500, "1500m"),
        ("cpu", 0.5, "0.5m"),
        ("cpu", 166_870, "166.9"),
        ("cpu", 12_345_678_900, "12345678.9"),
        ("pods", 11_000_000, "11000000"),
        ("memory", 2**80, "1073741824Pi"),
        ("memory", 8 * GI, "8Gi"),
        ("memory", 3 * GI // 2, "1.5Gi"),
        ("memory", 100, "100"),
        ("pods", 110, "110"),
        ("example.com/gpu", 2, "2"),
    ],
)
def test_amounts(resource, amount, text):
    assert amount_text(resource, amount) == text


def test_requests_in_one_line():
    assert requests_text({"memory": GI, "cpu": 250, "pods": 1}) == "250m cpu, 1Gi memory"
    assert requests_text({}) == ""
