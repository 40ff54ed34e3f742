"""Fields that newer versions of Kubernetes brought, as ``poseidon plan`` honours them, in kube-scheduler's words."""

from __future__ import annotations

import pytest

from tests.plan.objects import node, pod

UNHELPFUL = "Preemption is not helpful for scheduling."
ENDING = "no new claims to deallocate, preemption: 0/{0} nodes are available: {0} " + UNHELPFUL


@pytest.fixture
def plan(run, write):
    """Return a function that plans objects and returns nodes and reasons by pod."""

    def planned(*objects):
        answer = run("plan", "-f", write(*objects), "-o", "json", "--now", "2026-01-31T12:00:00Z").json
        return (
            {each["pod"].removeprefix("shop/"): each["node"] for each in answer["bindings"]},
            {each["pod"].removeprefix("shop/"): each["reason"] for each in answer["pending"]},
        )

    return planned


def resized(name, *, asked, allocated, actual, conditions=()):
    found = pod(name, cpu=asked, phase="Running", nodeName="n1")
    found["spec"]["containers"][0]["name"] = "c"
    status = {
        "name": "c",
        "resources": {"requests": {"cpu": actual}},
        "allocatedResources": {"cpu": allocated},
    }
    found["status"] |= {"containerStatuses": [status], "conditions": list(conditions)}
    return found


def test_a_shrink_frees_nothing_before_it_is_done(plan):
    under_way = resized("old", asked=1, allocated=1, actual=3)
    _, pending = plan(node("n1", cpu=4), under_way, pod("new", cpu=2))
    assert pending["new"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    done = resized("old", asked=1, allocated=1, actual=1)
    bound, _ = plan(node("n1", cpu=4), done, pod("new", cpu=2))
    assert bound == {"new": "n1"}


def test_a_growth_that_the_kubelet_defers_counts_and_one_that_is_infeasible_does_not(plan):
    def waiting(reason):
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        return resized("old", asked=3, allocated=1, actual=1, conditions=(condition,))

    assert "new" in plan(node("n1", cpu=4), waiting("Deferred"), pod("new", cpu=2))[1]
    assert plan(node("n1", cpu=4), waiting("Infeasible"), pod("new", cpu=2))[0] == {"new": "n1"}


def test_tolerations_compare_integers(plan):
    def risky(name, risk):
        return node(name, taints=[{"key": "risk", "value": risk, "effect": "NoSchedule"}])

    nodes = [risky("low", "5"), risky("high", "90"), risky("unknown", "high")]
    careful = pod("careful", tolerations=[{"key": "risk", "operator": "Lt", "value": "10"}])
    bold = pod("bold", tolerations=[{"key": "risk", "operator": "Gt", "value": "10"}])
    nobody = pod("nobody", tolerations=[{"key": "risk", "operator": "Gt", "value": "90"}])
    bound, pending = plan(*nodes, careful, bold, nobody)
    assert bound == {"careful": "low", "bold": "high"}
    assert pending == {
        "nobody": f"0/3 nodes are available: 3 node(s) had untolerated taint(s). {ENDING.format(3)}"
    }


@pytest.mark.parametrize(
    ("feature", "spec"),
    [
        (
            "RestartAllContainersOnContainerExits",
            {"containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
        ),
        ("UserNamespacesHostNetworkSupport", {"hostNetwork": True, "hostUsers": False}),
    ],
)
def test_pods_go_where_the_features_are_declared_that_they_need(plan, feature, spec):
    able, plain = node("able"), node("plain")
    able["status"]["declaredFeatures"] = ["GuaranteedQoSPodCPUResize", feature]
    plain["metadata"]["labels"] = {f"status.declaredfeatures/{feature}": ""}
    needy = [pod(f"p{index}", **spec) for index in range(4)]
    assert set(plan(able, plain, *needy)[0].values()) == {"able"}
    _, pending = plan(plain, *needy[:1])
    reason = f"0/1 nodes are available: 1 node(s) didn't match Pod's required features. {ENDING.format(1)}"
    assert pending == {"p0": reason}


def test_other_pods_do_not_care_for_features(plan):
    assert set(plan(node("n1"), pod("a", hostNetwork=True), pod("b", hostUsers=False))[0]) == {"a", "b"}
