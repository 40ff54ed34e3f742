"""Features of nodes that pods need: those that make them need one, and the labels by which nodes have it."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pod_rules.node_affinity import feature_labels, list_node_feature_rules, parse_compared_integer

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


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", None),
        ("12", 12),
        ("-12", -12),
        ("+12", None),
        ("012", None),
        ("", None),
        ("1.0", None),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        (str(-(2**63)), -(2**63)),
        (str(-(2**63) - 1), None),
    ],
)
def test_numbers_that_are_compared(text, number):
    assert parse_compared_integer(text) == number
