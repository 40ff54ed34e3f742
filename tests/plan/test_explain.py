"""``poseidon explain``: one pod against every node."""

from __future__ import annotations

import pytest

from tests.plan.objects import affinity, node, pod

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
    assert list(answer) == ["pod", "nodes"]
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
    assert explain("shop/p", pod("p")) == {"pod": "shop/p", "nodes": {}}


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
    assert lines[0] == "Pod shop/p waits for a node; 1 of 4 nodes are feasible."
    assert lines[2].split() == ["NODE", "FEASIBLE", "COST", "CPU_MEM", "KUBERNETES", "REASONS"]
    assert lines[3].split()[:2] == ["n1", "yes"]
    assert all(line.split()[1] == "no" for line in lines[4:])
