"""Fields that newer versions of Kubernetes brought, as ``poseidon plan`` honours them, in kube-scheduler's words."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.objects import node, pod

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
