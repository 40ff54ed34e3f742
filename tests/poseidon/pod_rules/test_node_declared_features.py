"""Features of nodes that pods need: those that make them need one, and the labels by which nodes have it."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pod_rules.node_declared_features import (
    RESTART_ALL,
    USER_NAMESPACES,
    feature_labels,
    list_node_feature_rules,
)

RESTART, NAMESPACES = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"


def rule(action: str) -> dict[str, Any]:
    return {"restartPolicyRules": [{"action": action, "exitCodes": {"operator": "In", "values": [1]}}]}


def list_needed(**spec: Any) -> list[str]:
    found = convert_object({"metadata": {"name": "p"}, "spec": {"containers": [{}], **spec}}, Pod)
    rules = list_node_feature_rules(found.spec)
    assert len(rules) <= 1
    terms = [term for each in rules for term in each.terms]
    assert all(each.operator == "Exists" for term in terms for each in term.labels)
    return [each.key for term in terms for each in term.labels]


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        ({}, []),
        ({"containers": [rule("Restart")]}, []),
        ({"containers": [{}, rule("RestartAllContainers")]}, [RESTART]),
        ({"initContainers": [rule("RestartAllContainers")]}, [RESTART]),
        ({"hostNetwork": True}, []),
        ({"hostNetwork": True, "hostUsers": True}, []),
        ({"hostUsers": False}, []),
        ({"hostNetwork": True, "hostUsers": False}, [NAMESPACES]),
        (
            {"containers": [rule("RestartAllContainers")], "hostNetwork": True, "hostUsers": False},
            [RESTART, NAMESPACES],
        ),
    ],
)
def test_what_pods_need_of_their_nodes(spec, features):
    assert list_needed(**spec) == list(feature_labels(features))


def test_other_declared_features_are_no_labels():
    found = feature_labels(["SidecarContainers", RESTART])
    assert len(found) == 1
    assert list(found.values()) == [""]


def test_a_machine_bears_the_features_that_pods_may_need_and_no_others():
    assert feature_labels([RESTART_ALL, "Other", USER_NAMESPACES]) == {
        f"status.declaredFeatures/{RESTART_ALL}": "",
        f"status.declaredFeatures/{USER_NAMESPACES}": "",
    }
