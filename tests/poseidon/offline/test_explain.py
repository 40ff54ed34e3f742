"""``poseidon explain``: one pod against every node."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.objects import affinity, node, pod, pod_group

NODES = (
    node("n1"),
    node("n2", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}]),
    node("n3", cpu="50m"),
    node("n4", unschedulable=True),
)


@pytest.fixture
def explain(run, write):
    """Return a function that explains a pod among objects and returns the JSON answer."""

    def explained(name, *objects, arguments=()):
        return run("explain", "-f", write(*objects), "--pod", name, "-o", "json", *arguments).json

    return explained


def test_every_node_has_a_verdict(explain):
    answer = explain("shop/p", *NODES, pod("p"))
    assert list(answer) == [
        "pod", "nodes", "outcome", "node", "after", "reason", "better", "group", "cures", "notes"
    ]  # fmt: skip
    assert answer["pod"] == "shop/p"
    assert list(answer["nodes"]) == ["n1", "n2", "n3", "n4"]
    assert {name: each["feasible"] for name, each in answer["nodes"].items()} == {
        "n1": True,
        "n2": False,
        "n3": False,
        "n4": False,
    }
    assert [answer["nodes"][name]["reasons"] for name in ("n1", "n2", "n3", "n4")] == [
        [],
        ["node(s) had untolerated taint(s) {k: v}"],
        ["Insufficient cpu"],
        ["node(s) were unschedulable"],
    ]


def test_the_models_costs_add_up(explain):
    preference = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}
    rules = affinity("preferred", [{"weight": 50, "preference": preference}])
    for verdict in explain("shop/p", *NODES, pod("p", affinity=rules))["nodes"].values():
        assert list(verdict) == ["feasible", "reasons", "cost", "models"]
        assert set(verdict["models"]) == {"cpu_mem", "kubernetes"}
        assert all(list(each) == ["feasible", "raw", "score", "cost"] for each in verdict["models"].values())
        assert verdict["cost"] == pytest.approx(sum(each["cost"] for each in verdict["models"].values()))


def test_a_running_pod_is_explained_as_if_it_looked_for_another_place(explain):
    running = pod("p", cpu=3, phase="Running", nodeName="n1")
    verdicts = explain("shop/p", node("n1"), node("n2"), running)["nodes"]
    assert verdicts["n2"]["feasible"]


@pytest.mark.parametrize(
    "given",
    [
        pod("p", schedulingGates=[{"name": "x"}]),
        pod("p", schedulerName="someone-else"),
        pod("p", nodeName="gone"),
        pod("p", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    ],
    ids=["gated", "of another scheduler", "on an unknown node", "dying"],
)
def test_any_pod_that_is_alive_is_explained(explain, given):
    assert explain("shop/p", node("n1"), given)["nodes"]["n1"]["feasible"]


def test_a_pod_that_a_workload_would_create(explain):
    template = {"spec": {"containers": [{"name": "c"}]}}
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": template},
    }
    assert explain("web-0", node("n1"), web)["pod"] == "default/web-0"


def test_with_no_nodes_there_is_an_answer(explain):
    answer = explain("shop/p", pod("p"))
    assert (answer["pod"], answer["nodes"], answer["outcome"], answer["node"]) == (
        "shop/p",
        {},
        "pending",
        None,
    )
    assert answer["reason"] == "0/0 nodes are available: no nodes available to schedule pods."


def test_an_unknown_pod_is_one_line_and_status_2(run, write):
    outcome = run("explain", "-f", write(node("n1")), "--pod", "shop/p")
    assert outcome.status == 2
    assert outcome.stderr == "--pod: pod shop/p is not in the input; name one as NAMESPACE/NAME\n"
    outcome = run("explain", "-f", write(node("n1"), pod("web-0")), "--pod", "shop/web")
    assert outcome.stderr == "--pod: pod shop/web is not in the input; did you mean shop/web-0?\n"


def test_a_pod_that_has_ended_is_not_explained(run, write):
    outcome = run("explain", "-f", write(node("n1"), pod("p", phase="Failed")), "--pod", "shop/p")
    assert outcome.status == 2
    assert outcome.stderr == "--pod: pod shop/p has ended (Failed), so no node is sought for it\n"


def test_the_table_puts_the_cheapest_feasible_node_first(run, write):
    outcome = run("explain", "-f", write(*NODES, pod("p")), "--pod", "shop/p")
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("A round now gives pod shop/p node n1, at cost ")
    assert lines[0].endswith("; no other node is feasible.")
    assert lines[1] == "1 of 4 nodes is feasible once the round is done."
    assert lines[3].split() == ["NODE", "FEASIBLE", "COST", "CPU_MEM", "KUBERNETES", "REASONS"]
    assert lines[4].split()[:2] == ["n1", "yes"]
    assert all(line.split()[1] == "no" for line in lines[5:])


# --- what becomes of it ----------------------------------------------------------------------------------------------


def test_the_verdict_comes_first_with_how_much_better_it_is(run, write):
    preference = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}]}
    rules = affinity("preferred", [{"weight": 50, "preference": preference}])
    path = write(node("a"), node("b"), pod("p", affinity=rules))
    answer = run("explain", "-f", path, "--pod", "shop/p", "-o", "json").json
    assert (answer["outcome"], answer["node"], answer["better"]["than"]) == ("placed", "b", "a")
    by = answer["nodes"]["a"]["cost"] - answer["nodes"]["b"]["cost"]
    assert answer["better"]["by"] == by > 0
    lines = run("explain", "-f", path, "--pod", "shop/p").stdout.splitlines()
    assert lines[0] == (
        f"A round now gives pod shop/p node b, at cost {answer['nodes']['b']['cost']}, {by} less than the next, a."
    )
    assert lines[4].split()[0] == "b"


def test_nodes_are_as_a_round_leaves_them(explain):
    """Two of three pods of two cores each fit: what the others get is taken for the third."""
    pods = [pod(name, cpu=2) for name in "abc"]
    answers = [explain(f"shop/{name}", node("n"), *pods) for name in "abc"]
    placed = [each for each in answers if each["outcome"] == "placed"]
    (waits,) = (each for each in answers if each["outcome"] == "pending")
    assert len(placed) == 2
    assert all(each["nodes"]["n"]["feasible"] for each in placed)
    assert waits["nodes"]["n"]["reasons"] == ["Insufficient cpu"]
    assert waits["reason"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert waits["cures"]
    assert {"node", "kind", "text", "changes", "moves"} <= waits["cures"][0].keys()


def test_who_has_to_make_way_is_named(run, write):
    low = pod("low", cpu=3, phase="Running", nodeName="n", priority=0)
    path = write(node("n"), low, pod("high", cpu=3, priority=10))
    answer = run("explain", "-f", path, "--pod", "shop/high", "-o", "json").json
    assert (answer["outcome"], answer["node"], answer["after"]) == ("waits-for-victims", "n", ["shop/low"])
    first = run("explain", "-f", path, "--pod", "shop/high").stdout.splitlines()[0]
    assert first.startswith("A round now gives pod shop/high node n once shop/low is gone, at cost ")
    lines = run("explain", "-f", path, "--pod", "shop/low").stdout.splitlines()
    assert lines[0].startswith("Pod shop/low runs on n")
    assert "A round now would evict it for shop/high." in lines


def test_gates_and_missing_priority_classes_are_named(explain):
    gated = explain("shop/p", node("n"), pod("p", schedulingGates=[{"name": "x/one"}, {"name": "x/two"}]))
    assert gated["outcome"] == "pending"
    assert gated["reason"] == "Nobody schedules it before its scheduling gates are gone: x/one, x/two."
    unranked = explain("shop/p", node("n"), pod("p", priorityClassName="nope"))
    assert unranked["reason"].startswith("spec.priorityClassName: no PriorityClass 'nope' exists")


def test_how_far_its_group_is(explain):
    labels = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
    members = [pod(f"m{index}", cpu=3, metadata=labels) for index in range(2)]
    answer = explain("shop/m0", node("n"), pod_group("g", 2), *members)
    assert answer["outcome"] == "pending"
    group = {key: answer["group"][key] for key in ("group", "status", "pods", "placed")}
    assert group == {"group": "shop/g", "status": "Waiting", "pods": 2, "placed": 0}
