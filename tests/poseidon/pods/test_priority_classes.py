"""The priority of pods, and whether they evict others, by their spec or their PriorityClass."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.nodes import PriorityClass
from poseidon.pods.classes import ClassTable
from poseidon.pods.priority_classes import PriorityResolver, UnknownPriorityClassError
from poseidon.pods.tasks import translate_pod
from tests.poseidon.pods.test_tasks import pod


def classes(**given: dict[str, Any]) -> PriorityResolver:
    return PriorityResolver(
        convert_object({"metadata": {"name": name}, **fields}, PriorityClass)
        for name, fields in given.items()
    )


HIGH = {"value": 1000}
LIMIT = 2**31


@pytest.mark.parametrize(
    ("known", "spec", "priority"),
    [
        ({}, {}, 0),
        ({}, {"priority": 7}, 7),
        ({"high": HIGH}, {"priorityClassName": "high"}, 1000),
        ({"high": HIGH}, {"priorityClassName": "high", "priority": 7}, 7),
        ({"high": HIGH}, {}, 0),
        ({"a": {"value": 5, "globalDefault": True}, "b": {"value": 9, "globalDefault": True}}, {}, 5),
        ({"a": {"value": 5, "globalDefault": True}, "high": HIGH}, {"priorityClassName": "high"}, 1000),
        ({}, {"priorityClassName": "system-cluster-critical"}, 2_000_000_000),
        ({}, {"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({}, {"priority": LIMIT}, LIMIT - 1),
        ({}, {"priority": -LIMIT - 1}, -LIMIT),
        ({"a": {"value": LIMIT}}, {"priorityClassName": "a"}, LIMIT - 1),
    ],
)
def test_the_priority_of_a_pod_is_its_own_or_that_of_its_class(known, spec, priority):
    assert classes(**known).priority(pod(**spec).spec) == priority


def test_a_class_that_does_not_exist_is_named_and_counts_as_nothing():
    resolver = classes()
    with pytest.raises(UnknownPriorityClassError, match="no PriorityClass 'gone' exists"):
        resolver.priority(pod(priorityClassName="gone").spec)
    assert translate_pod(pod(priorityClassName="gone"), ClassTable(), resolver).priority == 0
    assert resolver.of_class("gone") is None


def test_classes_change_and_go_but_those_of_the_system_stay():
    resolver = classes(high={**HIGH, "globalDefault": True, "preemptionPolicy": "Never"})
    assert resolver.forbids_preemption("high")
    resolver.upsert(convert_object({"metadata": {"name": "high"}, "value": 5}, PriorityClass))
    assert (resolver.of_class("high"), resolver.priority(pod().spec)) == (5, 0)
    assert not resolver.forbids_preemption("high")
    resolver.remove("high")
    assert resolver.of_class("high") is None
    resolver.upsert(convert_object({"metadata": {"name": "system-node-critical"}, "value": 5}, PriorityClass))
    assert resolver.of_class("system-node-critical") == 5
    resolver.remove("system-node-critical")
    assert resolver.of_class("system-node-critical") == 2_000_001_000
    resolver.remove("unknown")


PEACEFUL = {"value": 5, "preemptionPolicy": "Never"}


@pytest.mark.parametrize(
    ("known", "spec", "never"),
    [
        ({}, {}, False),
        ({}, {"preemptionPolicy": "Never"}, True),
        ({"p": PEACEFUL}, {"priorityClassName": "p"}, True),
        ({"p": PEACEFUL}, {"priorityClassName": "p", "preemptionPolicy": "PreemptLowerPriority"}, False),
        ({"p": PEACEFUL}, {"priorityClassName": "p", "priority": 5}, False),
        ({"p": {**PEACEFUL, "preemptionPolicy": "PreemptLowerPriority"}}, {"priorityClassName": "p"}, False),
        ({"p": {**PEACEFUL, "globalDefault": True}}, {}, True),
        ({"p": {**PEACEFUL, "globalDefault": True}, "q": {"value": 4, "globalDefault": True}}, {}, False),
        ({"p": PEACEFUL}, {"priorityClassName": "other"}, False),
    ],
)
def test_whether_a_pod_evicts_others_is_said_by_its_spec_or_its_class(known, spec, never):
    resolver, table = classes(**known), ClassTable()
    assert resolver.never_preempts(pod(**spec).spec) is never
    assert table.message(translate_pod(pod(**spec), table, resolver).task_class).never_preempts is never
