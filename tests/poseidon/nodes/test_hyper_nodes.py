"""HyperNodes of Volcano as labels of machines: every node is in the HyperNode of the highest tier up to each tier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.api.other_projects.hyper_nodes import HyperNode, name_tier
from poseidon.nodes.hyper_nodes import HyperNodes
from tests.support.effort import examples


def exact(name: str) -> dict[str, Any]:
    return {"exactMatch": {"name": name}}


def hyper_node(
    name: str, tier: int, *selectors: dict[str, Any], kind: str = "Node", tier_name: str = ""
) -> HyperNode:
    members = [{"type": kind, "selector": each} for each in selectors]
    spec = {"tier": tier, "members": members} | ({"tierName": tier_name} if tier_name else {})
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, HyperNode)


def label(found: Sequence[HyperNode], nodes: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    known = HyperNodes()
    for each in found:
        known.put(f"uid-{each.metadata.name}", each)
    for name, labels in nodes.items():
        known.note_node(name, labels)
    return {name: dict(labels) for name, labels in known.take_labels()}


def test_a_node_is_in_the_hyper_nodes_above_its_own_in_turn():
    found = [
        hyper_node("rack", 1, exact("n0"), {"regexMatch": {"pattern": "^m-[0-9]+$"}}),
        hyper_node("zone", 3, exact("rack"), exact("other"), kind="HyperNode"),
        hyper_node("row", 2, {"labelMatch": {"matchLabels": {"row": "b"}}}),
    ]
    labels = label(found, {"n0": {}, "m-7": {}, "m-x": {}, "n9": {"row": "b"}})
    in_rack = {name_tier(1): "rack", name_tier(2): "rack", name_tier(3): "zone"}
    assert labels == {
        "n0": in_rack,
        "m-7": in_rack,
        "n9": {name_tier(2): "row", name_tier(3): "row"},
    }, "what is in no HyperNode has no labels"


def test_only_what_has_changed_is_told():
    known = HyperNodes()
    known.note_node("n0", {})
    assert not [*known.take_labels()]
    known.put("a", hyper_node("a", 1, exact("n0")))
    assert [*known.take_labels()] == [("n0", {name_tier(1): "a"})]
    known.put("a", hyper_node("a", 1, exact("n0")))
    known.note_node("n0", {"row": "b"})
    assert not [*known.take_labels()]
    known.remove("a")
    known.remove("a")
    assert [*known.take_labels()] == [("n0", {})]
    known.put("a", hyper_node("a", 1, exact("n1"), tier_name="rack"))
    known.forget_node("n0")
    assert not [*known.take_labels()]
    assert known.tiers == ((1,), {"rack": 1})


def test_nodes_lose_the_labels_of_a_hyper_node_that_is_gone():
    known = HyperNodes()
    known.put("a", hyper_node("a", 1, exact("n0")))
    known.note_node("n0", {})
    assert [*known.take_labels()] == [("n0", {name_tier(1): "a"})]
    known.remove("a")
    assert [*known.take_labels()] == [("n0", {})]


def test_a_node_that_is_gone_before_anyone_asks_is_not_labelled():
    known = HyperNodes()
    known.note_node("n0", {})
    assert not [*known.take_labels()], "there are no HyperNodes yet"
    known.put("a", hyper_node("a", 1, exact("n0"), exact("n1")))
    known.note_node("n1", {})
    known.forget_node("n1")
    known.forget_node("unknown")
    assert [*known.take_labels()] == [("n0", {name_tier(1): "a"})]


def test_a_hyper_node_inside_another_has_to_be_named(caplog):
    inside = hyper_node("zone", 2, exact("rack"), {"regexMatch": {"pattern": "r"}}, kind="HyperNode")
    label([inside, hyper_node("rack", 1, exact("n0"))], {"n0": {}})
    assert "spec.members[1].selector.exactMatch: missing; name the HyperNode" in caplog.text
    assert "spec.members[0]" not in caplog.text


def test_hyper_nodes_that_are_in_each_other_do_no_harm():
    found = [
        hyper_node("a", 1, exact("b"), kind="HyperNode"),
        hyper_node("b", 2, exact("a"), kind="HyperNode"),
        hyper_node("c", 1, exact("n0")),
    ]
    assert label(found, {"n0": {}}) == {"n0": {name_tier(1): "c", name_tier(2): "c"}}


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*b", "(", "", "x" * 300, "(a){2,}"], ids=lambda each: each[:9]
)
def test_a_pattern_that_could_take_long_takes_no_node(pattern, caplog):
    assert not label([hyper_node("a", 1, {"regexMatch": {"pattern": pattern}})], {"a" * 60: {}})
    assert "spec.members[0].selector.regexMatch.pattern" in caplog.text


NAMES = [f"n{number}" for number in range(4)]
HYPER = [f"h{number}" for number in range(5)]


@st.composite
def hyper_trees(draw: st.DrawFn) -> list[HyperNode]:
    """Trees in which each HyperNode is in at most one, of a higher tier."""
    tiers = {name: draw(st.integers(1, 4)) for name in HYPER}
    inside: dict[str, list[dict[str, Any]]] = {name: [] for name in HYPER}
    for name in HYPER:
        above = [each for each in HYPER if tiers[each] > tiers[name]]
        if draw(st.booleans()) and above:
            inside[draw(st.sampled_from(above))].append({"type": "HyperNode", "selector": exact(name)})
    for name in NAMES:
        if draw(st.booleans()):
            selector = exact(name) if draw(st.booleans()) else {"regexMatch": {"pattern": f"^{name}$"}}
            inside[draw(st.sampled_from(HYPER))].append({"type": "Node", "selector": selector})
    return [
        msgspec.convert(
            {"metadata": {"name": name}, "spec": {"tier": tiers[name], "members": inside[name]}}, HyperNode
        )
        for name in HYPER
    ]


def contains(found: dict[str, HyperNode], name: str, node: str) -> bool:
    """Return whether a node is below a HyperNode, as one would look it up by hand."""
    for member in found[name].spec.members:
        exact_match, regex = member.selector.exact_match, member.selector.regex_match
        if member.type == "HyperNode" and exact_match is not None:
            hit = contains(found, exact_match.name, node)
        elif exact_match is not None:
            hit = exact_match.name == node
        else:
            hit = regex is not None and re.search(regex.pattern, node) is not None
        if hit:
            return True
    return False


@settings(max_examples=examples(300))
@given(hyper_trees())
def test_labels_are_what_a_look_at_each_tier_finds(found):
    by_name = {each.metadata.name: each for each in found}
    labels = label(found, {name: {} for name in NAMES})
    for node in NAMES:
        for tier in range(1, 5):
            holding = [
                each
                for each in found
                if each.spec.tier <= tier and contains(by_name, each.metadata.name, node)
            ]
            value = labels.get(node, {}).get(name_tier(tier))
            if not any(each.spec.tier == tier for each in found):
                assert value is None, "there is no such tier"
            else:
                highest = max((each.spec.tier for each in holding), default=0)
                assert value == next(
                    (each.metadata.name for each in holding if each.spec.tier == highest), None
                )


@pytest.mark.parametrize("turned", [False, True])
def test_of_several_the_first_by_name_counts_in_whatever_order_they_come(turned):
    found = [
        hyper_node("b", 2, exact("child"), kind="HyperNode", tier_name="row"),
        hyper_node("a", 3, exact("child"), kind="HyperNode", tier_name="row"),
        hyper_node("child", 1, exact("n0")),
        hyper_node("twin", 1, exact("n1")),
        hyper_node("other", 1, exact("n1")),
    ]
    labels = label(found[::-1] if turned else found, {"n0": {}, "n1": {}})
    assert labels["n0"] == {name_tier(1): "child", name_tier(2): "child", name_tier(3): "a"}
    assert labels["n1"][name_tier(1)] == "other"


def test_only_tiers_with_a_name_have_one_the_last_hyper_nodes():
    known = HyperNodes()
    for each in (
        hyper_node("b", 2, tier_name="row"),
        hyper_node("a", 3, tier_name="row"),
        hyper_node("c", 1),
    ):
        known.put(each.metadata.name, each)
    assert known.tiers == ((1, 2, 3), {"row": 2})


@pytest.mark.parametrize(
    ("selector", "taken"),
    [
        ({"regexMatch": {"pattern": "rack-1"}}, True),
        ({"regexMatch": {"pattern": "^rack-1"}}, False),
        ({"labelMatch": {}}, False),
        ({"labelMatch": {"matchLabels": {"row": "b"}}}, True),
        ({"labelMatch": {"matchLabels": {"row": "c"}}}, False),
        ({"labelMatch": {"matchExpressions": [{"key": "row", "operator": "Exists"}]}}, True),
        ({"labelMatch": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}, False),
        ({}, False),
    ],
)
def test_which_nodes_a_member_takes(selector, taken):
    labels = label([hyper_node("a", 1, selector)], {"node-rack-1": {"row": "b"}})
    assert ("node-rack-1" in labels) is taken
