"""Nodes to machines."""

from __future__ import annotations

import pytest

from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.nodes.machines import machine
from tests.poseidon.pods.builders import make_node


def offered(message):
    return {each.resource: each.amount for each in message.allocatable}


def test_everything_that_matters_is_carried_over():
    message, defects = machine(
        make_node(
            "n1",
            labels={"zone": "a"},
            spec={"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
            status={"allocatable": {"cpu": "3920m", "memory": "1Gi", "pods": 110, "example.com/gpu": "2"}},
        )
    )
    assert not defects
    assert message.name == "n1"
    assert dict(message.labels) == {"zone": "a"}
    assert offered(message) == {"cpu": 3920, "memory": 2**30, "pods": 110, "example.com/gpu": 2}
    assert message.unschedulable
    assert not message.not_ready
    assert [(each.key, each.value, each.effect) for each in message.taints] == [("k", "v", "NoSchedule")]


@pytest.mark.parametrize(
    ("conditions", "not_ready"),
    [
        ([], False),
        ([{"type": "Ready", "status": "True"}], False),
        ([{"type": "Ready", "status": "False"}], True),
        ([{"type": "Ready", "status": "Unknown"}], True),
        ([{"type": "MemoryPressure", "status": "True"}], False),
        ([{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}], False),
    ],
)
def test_ready_condition(conditions, not_ready):
    status = {"allocatable": {"cpu": 1}, "conditions": conditions}
    assert machine(make_node(status=status))[0].not_ready is not_ready


@pytest.mark.parametrize("status", [{}, {"allocatable": {}}, {"capacity": {"cpu": 4}}])
def test_without_allocatable_it_offers_nothing_and_that_is_a_defect(status):
    message, defects = machine(make_node(status=status))
    assert offered(message) == {}
    assert [each.field for each in defects] == ["status.allocatable"]


def test_features_that_pods_may_need_are_labels():
    declared = ["RestartAllContainersOnContainerExits", "SomethingElse"]
    made = make_node(labels={"zone": "a"}, status={"allocatable": {"cpu": 1}, "declaredFeatures": declared})
    assert dict(machine(made)[0].labels) == {
        "zone": "a",
        "status.declaredFeatures/RestartAllContainersOnContainerExits": "",
    }


def test_what_makes_no_sense_is_left_out_and_reported():
    message, defects = machine(
        make_node(
            spec={"taints": [{"key": "k", "effect": "Sometimes"}, {"effect": "NoExecute"}]},
            status={"allocatable": {"cpu": "-1", "memory": "1Gi"}},
        )
    )
    assert offered(message) == {"memory": 2**30}
    assert not message.taints
    assert [each.field for each in defects] == [
        "status.allocatable.cpu",
        "spec.taints[0].effect",
        "spec.taints[1].key",
    ]


def test_only_annotations_that_are_asked_for_travel():
    node = make_node()
    node.metadata.annotations.update(wanted="1", other="2")
    assert dict(machine(node, frozenset({"wanted"}))[0].annotations) == {"wanted": "1"}


def test_a_node_never_offers_more_than_it_has():
    status = {"allocatable": {"cpu": "1.9999", "memory": "1023.5", "ephemeral-storage": "1E", "pods": "10"}}
    message, defects = machine(make_node(status=status))
    offered = {each.resource: each.amount for each in message.allocatable}
    assert offered == {"cpu": 1999, "memory": 1023, "ephemeral-storage": 2**53 - 1, "pods": 10}
    assert not defects


def test_amounts_that_are_not_whole_are_offered_less_and_shown_less():
    stated = {"cpu": "2500u", "memory": "1500m"}
    message, _ = machine(make_node(status={"allocatable": stated, "capacity": {**stated, "cpu": "3500u"}}))
    assert offered(message) == {"cpu": 2, "memory": 1}
    assert [(each.resource, each.amount) for each in message.total] == [("cpu", 3)]


def test_what_a_node_has_beyond_all_counting_is_less_than_what_nobody_can_ask_for():
    message, _ = machine(make_node(status={"allocatable": {"memory": "9000000T"}}))
    assert offered(message) == {"memory": MAX_AMOUNT - 1}
