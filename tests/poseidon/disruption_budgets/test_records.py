"""Disruption budgets as records."""

from __future__ import annotations

import json

from msgspec.structs import replace

from poseidon.disruption_budgets.records import budget_resource, describe
from poseidon.kube.api.metadata import GenerationMeta
from poseidon.kube.api.pod_groups import (
    DisruptionBudget,
    DisruptionBudgetSpec,
    DisruptionBudgetStatus,
)
from poseidon.kube.api.pod_rules import LabelSelector, LabelSelectorRequirement
from poseidon.pods.classes import ClassTable
from tests.poseidon.pods.builders import make_pod


def budget(selector, *, allowed=1, seen=1, generation=1):
    return DisruptionBudget(
        GenerationMeta(name="b", namespace="shop", generation=generation),
        DisruptionBudgetSpec(selector),
        None if allowed is None else DisruptionBudgetStatus(allowed, seen),
    )


def payload(found):
    return json.loads(describe(found)[0])


def test_a_budget_as_counted():
    selector = LabelSelector({"app": "web"}, (LabelSelectorRequirement("tier", "NotIn", ("test",)),))
    found, looks, defects = describe(budget(selector))
    assert json.loads(found) == {
        "namespace": "shop",
        "selector": [
            {"key": "app", "operator": "In", "values": ["web"]},
            {"key": "tier", "operator": "NotIn", "values": ["test"]},
        ],
        "allowed": 1,
        "disrupted": [],
    }
    assert (list(looks.namespaces), looks.nothing, defects) == (["shop"], False, ())


def test_no_selector_selects_nothing_and_an_empty_one_everything():
    assert payload(budget(None))["selector"] is None
    assert payload(budget(LabelSelector()))["selector"] == []


def test_what_has_not_been_counted_allows_nothing():
    assert payload(budget(LabelSelector(), allowed=None))["allowed"] == 0
    assert payload(budget(LabelSelector(), allowed=3, seen=1, generation=2))["allowed"] == 0
    assert payload(budget(LabelSelector(), allowed=-1))["allowed"] == 0


def test_more_than_the_field_holds_is_the_most_that_it_holds():
    assert payload(budget(LabelSelector(), allowed=2**31))["allowed"] == 2**31 - 1


def test_labels_that_a_budget_selects_by_tell_pods_apart():
    classes = ClassTable()
    plain = make_pod(namespace="shop")
    pods = [replace(plain, metadata=replace(plain.metadata, labels={"app": app})) for app in "ab"]
    first, second = [classes.traits(each) for each in pods]
    assert first.task_class == second.task_class
    reading = budget_resource(classes).read(budget(LabelSelector({"app": "a"})))
    assert (reading.name, json.loads(reading.payload)["allowed"]) == ("shop/b", 1)
    assert classes.refresh()
    assert first.task_class != second.task_class


def test_pods_that_are_counted_as_disrupted_are_named_as_tasks_are():
    status = DisruptionBudgetStatus(0, 1, disrupted_pods={"b": "2026-01-01T00:00:00Z", "a": ""})
    found = DisruptionBudget(GenerationMeta(name="b"), DisruptionBudgetSpec(LabelSelector()), status)
    assert payload(found)["disrupted"] == ["default/a", "default/b"]


def test_a_selector_that_makes_no_sense_selects_nothing():
    selector = LabelSelector({"tier": "web"}, (LabelSelectorRequirement("app", "Near", ()),))
    found, looks, defects = describe(budget(selector))
    assert json.loads(found)["selector"] is None
    assert (looks.nothing, list(looks.labels)) == (True, [])
    [defect] = defects
    assert str(defect).startswith("spec.selector.matchExpressions[0].operator: unknown operator 'Near'")
