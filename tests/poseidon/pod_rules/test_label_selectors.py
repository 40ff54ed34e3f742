"""Selectors of labels: what they ask, what is wrong with them, and what they match."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pod_rules import LabelSelector, LabelSelectorRequirement, NodeSelectorRequirement
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.label_selectors import (
    drop_repeated,
    encode_canonically,
    format_choice,
    matches_labels,
    parse_requirement,
    parse_requirements,
)
from protos.firmament.v1 import scheduler_pb2 as pb

NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def condition(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def selector(*expressions: dict[str, Any], **labels: str) -> LabelSelector:
    return convert_object({"matchLabels": labels, "matchExpressions": list(expressions)}, LabelSelector)


def asked(found: list[pb.Requirement]) -> list[tuple[str, str, list[str]]]:
    return sorted((each.key, each.operator, list(each.values)) for each in found)


def test_labels_and_expressions_are_asked_once_each_with_values_in_order():
    defects: list[Defect] = []
    found = parse_requirements(
        selector(condition("b", "In", "2", "1", "2"), condition("a", "In", "x"), a="x"), "spec.s", defects
    )
    assert defects == []
    assert asked(found) == [("a", "In", ["x"]), ("b", "In", ["1", "2"])]


def test_the_order_of_conditions_does_not_matter():
    one, two = (
        selector(condition("a", "Exists"), b="1"),
        selector(condition("b", "In", "1"), condition("a", "Exists")),
    )
    assert parse_requirements(one, "", []) == parse_requirements(two, "", [])


def test_faults_name_their_place():
    defects: list[Defect] = []
    parse_requirements(
        selector(condition("b", "In", "ok", "-"), condition("", "Exists"), a="-"), "spec.s", defects
    )
    assert [each.field for each in defects] == [
        "spec.s.matchLabels[a]",
        "spec.s.matchExpressions[0].values[1]",
        "spec.s.matchExpressions[1].key",
    ]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (condition("a", "In", "x"), ""),
        (condition("a", "NotIn", "x"), ""),
        (condition("a", "Exists"), ""),
        (condition("a", "DoesNotExist"), ""),
        (condition("a", "Gt", "5"), ""),
        (condition("a", "Lt", "-5"), ""),
        (condition("a", "Lt", "+5"), ""),
        (condition("a", "Gt", "9" * 18), ""),
        (condition("a", "In"), "p.values: In needs at least one value"),
        (condition("a", "NotIn"), "p.values: NotIn needs at least one value"),
        (condition("a", "Exists", "x"), "p.values: Exists takes no values; remove them"),
        (condition("a", "DoesNotExist", "x"), "p.values: DoesNotExist takes no values; remove them"),
        (condition("a", "Gt"), "p.values: Gt needs exactly one integer, got []"),
        (condition("a", "Gt", "1", "2"), "p.values: Gt needs exactly one integer, got ['1', '2']"),
        (condition("a", "Lt", "x"), "p.values: Lt needs exactly one integer, got ['x']"),
        (condition("a", "Lt", "9" * 19), f"p.values: Lt needs exactly one integer, got ['{'9' * 19}']"),
        (
            condition("a", "Near"),
            "p.operator: unknown operator 'Near'; use In, NotIn, Exists, DoesNotExist, Gt or Lt",
        ),
    ],
)
def test_operators_take_values_that_suit_them(given, fault):
    defects: list[Defect] = []
    parse_requirement(convert_object(given, NodeSelectorRequirement), "p", defects, NODE_OPERATORS)
    assert [str(each) for each in defects] == ([fault] if fault else [])


def test_comparisons_are_for_nodes_alone():
    defects: list[Defect] = []
    found = parse_requirement(
        convert_object(condition("a", "Gt", "5"), LabelSelectorRequirement), "p", defects
    )
    assert [each.problem for each in defects] == [
        "unknown operator 'Gt'; use In, NotIn, Exists or DoesNotExist"
    ]
    assert asked([found]) == [("a", "Gt", ["5"])]


LABELS = {"app": "web", "tier": "db"}


@pytest.mark.parametrize(
    ("given", "matches"),
    [
        (selector(), True),
        (selector(app="web"), True),
        (selector(app="web", tier="x"), False),
        (selector(condition("app", "In", "a", "web")), True),
        (selector(condition("app", "In", "a")), False),
        (selector(condition("none", "In", "a")), False),
        (selector(condition("app", "NotIn", "a")), True),
        (selector(condition("app", "NotIn", "web")), False),
        (selector(condition("none", "NotIn", "a")), True),
        (selector(condition("app", "Exists")), True),
        (selector(condition("none", "Exists")), False),
        (selector(condition("none", "DoesNotExist")), True),
        (selector(condition("app", "DoesNotExist")), False),
        (selector(condition("none", "Near")), False),
        (selector(condition("app", "Exists"), condition("tier", "DoesNotExist")), False),
        (selector(condition("app", "Exists"), tier="x"), False),
    ],
)
def test_labels_match_if_they_meet_all_conditions(given, matches):
    assert matches_labels(given, LABELS) is matches


def test_equal_content_is_equal_bytes_and_kept_once():
    some = [pb.Requirement(key="b", operator="Exists"), pb.Requirement(key="a", operator="Exists")]
    assert [each.key for each in drop_repeated([*some, *some])] == ["a", "b"]
    assert encode_canonically(some[0]) == encode_canonically(pb.Requirement(key="b", operator="Exists"))


@pytest.mark.parametrize(("words", "text"), [(("a", "b"), "a or b"), (("a", "b", "c"), "a, b or c")])
def test_choices_are_listed(words, text):
    assert format_choice(words) == text
