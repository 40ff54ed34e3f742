"""Rules about machines read what they declare, and nothing else: their answers are kept as long as they hold."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.model import (
    Machine,
    NewStorage,
    NodeSelectorTerm,
    Requirement,
    StorageRoom,
    Taint,
    TaskClass,
    Toleration,
    VolumeRule,
)
from firmament.core.reasons import Reason
from firmament.core.resources import ResourceIndex
from firmament.core.rules.framework.node_rule import NodeRule
from firmament.core.rules.registry import DEFAULT, NodeRules
from firmament.core.state.classes import SHAPE_FIELDS
from firmament.core.state.machines import MachineTable
from tests.firmament.core.rules.admitted_namespaces import KEY, AdmittedNamespaces
from tests.support.effort import examples

RULES = (*DEFAULT, AdmittedNamespaces())

words = st.sampled_from(["a", "b"])
taints = st.builds(Taint, words, words, st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]))
terms = st.builds(
    NodeSelectorTerm,
    st.tuples(st.builds(Requirement, words, st.sampled_from(["In", "NotIn"]), st.tuples(words)))
    | st.just(()),
    st.just(()) | st.builds(lambda name: (Requirement("metadata.name", "In", (name,)),), words),
)
machines = st.fixed_dictionaries(
    {
        "allocatable": st.dictionaries(st.sampled_from(["cpu", "example.com/device"]), st.integers(1, 9)),
        "labels": st.dictionaries(words, words),
        "taints": st.lists(taints, max_size=2).map(tuple),
        "unschedulable": st.booleans(),
        "not_ready": st.booleans(),
        "annotations": st.dictionaries(st.just(KEY), words),
        "storage": st.just(()) | st.tuples(st.builds(StorageRoom, words, st.integers(0, 9))),
        "attached": st.just(()) | st.tuples(words),
    }
)
tolerations = st.lists(
    st.builds(Toleration, words, st.just("Exists"))
    | st.builds(
        lambda end: Toleration(f"node.kubernetes.io/{end}", "Exists"),
        st.sampled_from(["not-ready", "unschedulable"]),
    ),
    max_size=2,
)
volumes = st.builds(
    VolumeRule,
    st.tuples(terms),
    st.sampled_from(["", Reason.WRONG_FEATURES.value, Reason.CLAIM_IN_USE.value]),
    st.booleans(),
)
shapes = st.fixed_dictionaries(
    {
        "requests": st.just(())
        | st.tuples(st.tuples(st.sampled_from(["cpu", "example.com/device"]), st.integers(1, 9))),
        "node_selector": st.just(()) | st.tuples(st.tuples(words, words)),
        "required": st.just(()) | st.tuples(terms),
        "tolerations": tolerations.map(tuple),
        "namespace": words,
        "volumes": st.just(()) | st.tuples(volumes),
        "new_storage": st.just(()) | st.tuples(st.builds(NewStorage, words, st.integers(1, 9), st.just(9))),
    }
)


def answer(rule: NodeRule, table: MachineTable, shape: TaskClass) -> list[tuple[Any, list[bool]]]:
    return [(cause, refused.tolist()) for cause, refused in rule.refusals(table, shape)]


def table_of(*described: dict[str, Any]) -> MachineTable:
    table = MachineTable(ResourceIndex())
    for name, fields_of_it in zip("ab", described, strict=True):
        table.upsert(Machine(name, **fields_of_it))
    return table


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@settings(max_examples=examples(50))
@given(first=machines, second=machines, other=machines, shape=shapes)
def test_nothing_else_of_machines_matters(
    rule: NodeRule,
    first: dict[str, Any],
    second: dict[str, Any],
    other: dict[str, Any],
    shape: dict[str, Any],
):
    changed = {key: second[key] if key in rule.reads_of_machine else other[key] for key in second}
    task = TaskClass(**shape)
    assert answer(rule, table_of(first, second), task) == answer(rule, table_of(first, changed), task)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@settings(max_examples=examples(50))
@given(first=machines, second=machines, shape=shapes, other=shapes)
def test_nothing_else_of_tasks_matters(
    rule: NodeRule,
    first: dict[str, Any],
    second: dict[str, Any],
    shape: dict[str, Any],
    other: dict[str, Any],
):
    table = table_of(first, second)
    one = TaskClass(**shape)
    two = TaskClass(**{key: shape[key] if key in rule.reads_of_task else other[key] for key in shape})
    assert answer(rule, table, one) == answer(rule, table, two)
    rules = NodeRules([rule])
    if rule.lasting and rules.key(table, one) == rules.key(table, TaskClass(**other)):
        assert answer(rule, table, one) == answer(rule, table, TaskClass(**other))


@settings(max_examples=examples(50))
@given(first=machines, second=machines, changed=machines, shape=shapes)
def test_answers_that_last_change_with_the_version_alone(
    first: dict[str, Any], second: dict[str, Any], changed: dict[str, Any], shape: dict[str, Any]
):
    rules, table, task = NodeRules(RULES), table_of(first, second), TaskClass(**shape)

    def told() -> list[tuple[Any, list[bool]]]:
        return [(cause, refused.tolist()) for cause, refused in rules.lasting_refusals(table, task)]

    before, version = told(), table.static_version
    table.upsert(Machine("b", **changed))
    assert told() == before or table.static_version != version


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@settings(max_examples=examples(50))
@given(first=machines, second=machines, shape=shapes)
def test_who_is_not_asked_has_nothing_to_say(
    rule: NodeRule, first: dict[str, Any], second: dict[str, Any], shape: dict[str, Any]
):
    rules, table, task = NodeRules([rule]), table_of(first, second), TaskClass(**shape)
    told = [*rules.lasting_refusals(table, task), *rules.passing_refusals(table, task)]
    refused = [row for cause, row in answer(rule, table, task) if any(row)]
    assert [row.tolist() for _, row in told if row.any()] == refused


def test_what_is_drawn_covers_all_that_rules_read():
    """Else the properties above would hold of nothing."""
    drawn = {
        "name",
        "allocatable",
        "labels",
        "taints",
        "unschedulable",
        "not_ready",
        "annotations",
        "storage",
        "attached",
    }
    assert {name for rule in RULES for name in rule.reads_of_machine} <= drawn
    assert drawn <= {each.name for each in fields(Machine)}
    read = {name for rule in RULES for name in rule.reads_of_task}
    assert read == {
        "requests",
        "node_selector",
        "required",
        "tolerations",
        "namespace",
        "volumes",
        "new_storage",
    }
    assert read <= set(SHAPE_FIELDS)
