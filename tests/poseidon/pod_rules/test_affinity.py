"""Selectors, affinity and tolerations of a pod, as they reach the class."""

from __future__ import annotations

import pytest

from tests.poseidon.pods.builders import make_pod
from tests.support.task_classes import class_content

REQUIRED = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
PREFERRED = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"


def required(*terms):
    rule = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": rule}}}


def preferred(*terms):
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def label(operator, *values, key="zone"):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(operator, *values, key="metadata.name"):
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


def content(**spec):
    message, defects = class_content(make_pod(**spec))
    assert not defects
    assert not message.invalid
    return message


def faults(**spec):
    message, defects = class_content(make_pod(**spec))
    lines = [str(defect) for defect in defects]
    assert message.invalid == "; ".join(lines)
    rules = (message.required, message.preferred, message.tolerations, message.node_selector)
    assert not any(rules)
    return lines


def test_a_node_selector_is_carried_over():
    assert dict(content(nodeSelector={"disk": "ssd"}).node_selector) == {"disk": "ssd"}


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("In", ["a", "b"]),
        ("NotIn", ["a"]),
        ("Exists", []),
        ("DoesNotExist", []),
        ("Gt", ["3"]),
        ("Lt", ["-7"]),
    ],
)
def test_every_operator_on_labels(operator, values):
    (term,) = content(**required(label(operator, *values))).required
    (found,) = term.labels
    assert (found.key, found.operator, list(found.values)) == ("zone", operator, values)


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_match_fields(operator):
    (term,) = content(**required(field(operator, "n1"))).required
    assert [(each.key, each.operator, list(each.values)) for each in term.fields] == [
        ("metadata.name", operator, ["n1"])
    ]


def test_an_empty_required_term_stays_since_it_matches_nothing():
    assert len(content(**required({}, label("Exists"))).required) == 2


def test_an_empty_preferred_term_is_worth_nothing():
    assert not content(**preferred({"weight": 5, "preference": {}})).preferred


def test_the_order_in_which_rules_are_written_does_not_matter():
    one, two = label("In", "a", "b"), label("Exists", key="disk")
    assert content(**required(one, two)) == content(**required(two, label("In", "b", "a", "a")))


def test_tolerations_get_their_default_operator_and_are_kept_once():
    plain = {"key": "k", "value": "v", "effect": "NoSchedule"}
    found = content(tolerations=[plain, {"operator": "Exists"}, {**plain, "operator": "Equal"}]).tolerations
    assert sorted((each.key, each.operator, each.value, each.effect) for each in found) == [
        ("", "Exists", "", ""),
        ("k", "Equal", "v", "NoSchedule"),
    ]


@pytest.mark.parametrize(
    ("spec", "where", "what"),
    [
        (required(), REQUIRED, "empty, so no node could match"),
        (
            required(label("Near", "a")),
            f"{REQUIRED}[0].matchExpressions[0].operator",
            "unknown operator 'Near'",
        ),
        (required(label("In")), f"{REQUIRED}[0].matchExpressions[0].values", "In needs at least one value"),
        (
            required(label("Exists", "a")),
            f"{REQUIRED}[0].matchExpressions[0].values",
            "Exists takes no values",
        ),
        (required(label("Gt", "much")), f"{REQUIRED}[0].matchExpressions[0].values", "exactly one integer"),
        (required(label("Lt", "1", "2")), f"{REQUIRED}[0].matchExpressions[0].values", "exactly one integer"),
        (required(label("Exists", key="")), f"{REQUIRED}[0].matchExpressions[0].key", "missing"),
        (required(field("Gt", "1")), f"{REQUIRED}[0].matchFields[0].operator", "unknown operator 'Gt'"),
        (required(field("In", "a", "b")), f"{REQUIRED}[0].matchFields[0].values", "exactly one value, got 2"),
        (required(field("In", "a", key="x")), f"{REQUIRED}[0].matchFields[0].key", "unknown field 'x'"),
        (preferred({"weight": 0, "preference": label("Exists")}), f"{PREFERRED}[0].weight", "from 1 to 100"),
        (
            preferred({"weight": 101, "preference": label("Exists")}),
            f"{PREFERRED}[0].weight",
            "from 1 to 100",
        ),
        (
            preferred({"weight": 1, "preference": label("In")}),
            f"{PREFERRED}[0].preference.matchExpressions[0].values",
            "In needs at least one value",
        ),
        (
            {"tolerations": [{"key": "k", "operator": "Like"}]},
            "spec.tolerations[0].operator",
            "unknown operator",
        ),
        (
            {"tolerations": [{"key": "k", "operator": "Gt", "value": "many"}]},
            "spec.tolerations[0].value",
            "'many' is not an integer, which Gt compares; write one such as 100",
        ),
        (
            {"tolerations": [{"key": "k", "effect": "Never"}]},
            "spec.tolerations[0].effect",
            "unknown effect 'Never'",
        ),
        (
            {"tolerations": [{"value": "v"}]},
            "spec.tolerations[0].operator",
            "must be Exists when the key is empty",
        ),
        (
            {"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
            "spec.tolerations[0].value",
            "must be empty",
        ),
        ({"containers": []}, "spec.containers", "at least one container"),
    ],
)
def test_a_bad_rule_makes_the_class_invalid_and_names_the_field(spec, where, what):
    (line,) = faults(**spec)
    assert line.startswith(f"{where}: ")
    assert what in line
