"""What makes a node worth another try that could not be freed, and what does not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pod_groups import DisruptionBudget
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.rescheduling.cluster_access import FREED, NOT_FREED
from poseidon.rescheduling.failures import list_failed, state_digest

CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
PODS: list[Any] = [
    {
        "metadata": {
            "name": f"web-{index}",
            "namespace": "a",
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}],
        },
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running"},
    }
    for index in range(2)
]
BUDGET: Any = {
    "metadata": {"name": "b", "namespace": "a", "generation": 1},
    "spec": {"maxUnavailable": 1},
    "status": {"disruptionsAllowed": 1},
}


def node(**changes: Any) -> Any:
    value: Any = {
        "metadata": {"name": "n", "labels": {"zone": "a"}, "annotations": {}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4"}},
    }
    for path, change in changes.items():
        part, _, key = path.partition("_")
        value[part][key] = change
    return value


def digest(first: Any, pods: list[Any] = PODS, budget: Any = BUDGET) -> str:
    manifests = Manifests(
        (convert_object(copy.deepcopy(first), Node),),
        (),
        tuple(convert_object(copy.deepcopy(each), Pod) for each in pods),
        (),
        (),
        budgets=(convert_object(copy.deepcopy(budget), DisruptionBudget),),
    )
    return state_digest(manifests)


PLAIN = digest(node())


@pytest.mark.parametrize(
    "same",
    [
        node(spec_unschedulable=True, spec_taints=[CORDON], metadata_annotations={FREED: "x"}),
        node(metadata_annotations={NOT_FREED: "y"}),
    ],
    ids=["cordoned to be freed", "one that could not be freed"],
)
def test_what_the_attempt_itself_changes_is_no_difference(same):
    assert digest(same) == PLAIN


@pytest.mark.parametrize(
    "other",
    [
        node(spec_unschedulable=True, spec_taints=[CORDON]),
        node(spec_taints=[{"key": "k", "effect": "NoSchedule"}]),
        node(metadata_labels={"zone": "b"}),
        node(status_allocatable={"cpu": "5"}),
    ],
    ids=["cordoned by somebody", "tainted", "labels", "size"],
)
def test_whatever_matters_for_pods_of_a_node_is_one(other):
    assert digest(other) != PLAIN


@given(st.permutations(PODS), st.integers(0, 9))
def test_a_pod_that_came_back_is_none_and_one_more_is(pods, name):
    again = copy.deepcopy(pods)
    again[0]["metadata"]["name"] = f"web-again-{name}"
    assert digest(node(), again) == PLAIN
    further = copy.deepcopy(again[0])
    further["metadata"]["name"] = "further"
    assert digest(node(), [*again, further]) != PLAIN
    assert digest(node(), again[:1]) != PLAIN


@pytest.mark.parametrize("changed", [("metadata", "generation", 2), ("status", "disruptionsAllowed", 0)])
def test_a_budget_that_changes_is_one(changed):
    part, key, value = changed
    assert digest(node(), budget={**BUDGET, part: {**BUDGET[part], key: value}}) != PLAIN


def test_the_order_in_which_objects_are_read_is_no_difference():
    nodes = [convert_object(node(metadata_name=name), Node) for name in ("n", "m")]
    pods = [convert_object(copy.deepcopy(each), Pod) for each in PODS]
    pods[0] = replace(pods[0], spec=replace(pods[0].spec, node_name="m"))
    budgets = [convert_object(copy.deepcopy(BUDGET), DisruptionBudget)]
    budgets.append(replace(budgets[0], metadata=replace(budgets[0].metadata, name="a")))
    one, other = (
        Manifests(tuple(nodes[::way]), (), tuple(pods[::way]), (), (), budgets=tuple(budgets[::way]))
        for way in (1, -1)
    )
    assert state_digest(one) == state_digest(other)


def test_only_nodes_that_failed_in_this_state_are_left_alone():
    def marked(name: str, state: str) -> Node:
        value = node(metadata_annotations={NOT_FREED: state} if state else {}, metadata_name=name)
        return convert_object(value, Node)

    nodes = [marked("a", "now"), marked("b", "before"), marked("c", "")]
    assert list_failed(nodes, "now") == {"a"}
