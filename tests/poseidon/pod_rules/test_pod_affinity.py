"""Affinity between pods: what of a term reaches the solver, and what the API server would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.task_classes import class_content

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}


def make(term: Any, *, labels: Any = None, namespace: str = "shop", kind: str = "podAffinity") -> Pod:
    return made({kind: {REQUIRED: [term]}}, labels=labels, namespace=namespace)


def made(affinity: Any, *, labels: Any = None, namespace: str = "shop") -> Pod:
    metadata = {"name": "p", "namespace": namespace, "labels": labels or {}}
    return convert_object({"metadata": metadata, "spec": {"containers": [{}], "affinity": affinity}}, Pod)


def term_of(term: Any, **more: Any) -> pb.TaskTerm:
    message, defects = class_content(make({"topologyKey": "zone", **term}, **more))
    assert not defects
    (found,) = message.affinity
    return found


def conditions(selector: pb.TaskSelector) -> list[tuple[str, str, list[str]]]:
    return [(each.key, each.operator, list(each.values)) for each in selector.labels]


class TestSelectors:
    def test_labels_and_expressions_are_one_conjunction(self):
        selector = {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "NotIn", "values": ["b", "a", "b"]},
                {"key": "app", "operator": "Exists"},
                {"key": "old", "operator": "DoesNotExist"},
                {"key": "app", "operator": "In", "values": ["web"]},
            ],
        }
        assert sorted(conditions(term_of({"labelSelector": selector}).selector)) == [
            ("app", "Exists", []),
            ("app", "In", ["web"]),
            ("old", "DoesNotExist", []),
            ("tier", "NotIn", ["a", "b"]),
        ]

    def test_no_selector_matches_nothing_and_an_empty_one_everything(self):
        assert term_of({}).selector == pb.TaskSelector(nothing=True)
        assert term_of({"labelSelector": None, "namespaces": ["a"]}).selector.nothing
        assert term_of({"labelSelector": {}}).selector == pb.TaskSelector(namespaces=["shop"])

    def test_order_and_repetition_do_not_split_classes(self):
        terms = [
            {"topologyKey": "a", "labelSelector": WEB},
            {"topologyKey": "b", "labelSelector": WEB, "namespaces": ["x", "y", "x"]},
        ]
        one, _ = class_content(made({"podAntiAffinity": {REQUIRED: terms}}))
        terms[1]["namespaces"] = ["y", "x"]
        two, _ = class_content(made({"podAntiAffinity": {REQUIRED: [*reversed(terms), terms[0]]}}))
        assert one == two
        assert len(one.anti_affinity) == 2


class TestNamespaces:
    @pytest.mark.parametrize(
        ("given", "names", "by_label"),
        [
            ({}, ["shop"], None),
            ({"namespaces": []}, ["shop"], None),
            ({"namespaces": ["b", "a"]}, ["a", "b"], None),
            ({"namespaceSelector": {}}, [], []),
            ({"namespaceSelector": {}, "namespaces": ["a"]}, [], []),
            ({"namespaceSelector": {"matchLabels": {"t": "1"}}}, [], [("t", "In", ["1"])]),
            (
                {"namespaceSelector": {"matchLabels": {"t": "1"}}, "namespaces": ["a"]},
                ["a"],
                [("t", "In", ["1"])],
            ),
            ({"namespaceSelector": None}, ["shop"], None),
        ],
    )
    def test_which_count(self, given, names, by_label):
        selector = term_of({"labelSelector": WEB, **given}).selector
        assert list(selector.namespaces) == names
        if by_label is None:
            assert not selector.HasField("namespaces_by_label")
        else:
            found = selector.namespaces_by_label.labels
            assert [(each.key, each.operator, list(each.values)) for each in found] == by_label
            assert selector.HasField("namespaces_by_label")

    def test_a_pod_without_namespace_is_in_the_default_one(self):
        assert list(term_of({"labelSelector": WEB}, namespace="").selector.namespaces) == ["default"]


class TestLabelKeys:
    def test_are_merged_with_the_pods_own_values_and_skipped_without_them(self):
        term = {
            "labelSelector": WEB,
            "matchLabelKeys": ["hash", "gone"],
            "mismatchLabelKeys": ["tenant", "missing"],
        }
        selector = term_of(term, labels={"hash": "1", "tenant": "t"}).selector
        assert sorted(conditions(selector)) == [
            ("app", "In", ["web"]),
            ("hash", "In", ["1"]),
            ("tenant", "NotIn", ["t"]),
        ]

    def test_what_the_api_server_has_merged_stays_as_it_is(self):
        merged = {
            **WEB,
            "matchExpressions": [
                {"key": "hash", "operator": "In", "values": ["then"]},
                {"key": "tenant", "operator": "NotIn", "values": ["t"]},
            ],
        }
        term = {"labelSelector": merged, "matchLabelKeys": ["hash"], "mismatchLabelKeys": ["tenant"]}
        selector = term_of(term, labels={"hash": "now", "tenant": "u"}).selector
        assert sorted(conditions(selector)) == [
            ("app", "In", ["web"]),
            ("hash", "In", ["then"]),
            ("tenant", "NotIn", ["t"]),
        ]

    def test_they_split_classes_by_the_labels_they_name_only(self):
        term = {"topologyKey": "zone", "labelSelector": WEB, "matchLabelKeys": ["hash"]}
        contents = [
            class_content(make(term, labels={"hash": value, "other": other}))[0]
            for value, other in (("1", "a"), ("1", "b"), ("2", "a"))
        ]
        assert contents[0] == contents[1] != contents[2]


class TestPreferences:
    def test_weights_travel_and_equal_terms_add_up(self):
        preferred = [
            {"weight": weight, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": WEB}}
            for weight in (7, 100, 7, 1)
        ]
        message, defects = class_content(made({"podAntiAffinity": {PREFERRED: preferred}}))
        assert not defects
        assert sorted(term.weight for term in message.preferred_anti_affinity) == [1, 7, 7, 100]
        assert not message.anti_affinity

    def test_required_terms_have_no_weight(self):
        assert term_of({"labelSelector": WEB}).weight == 0


R, P = f"spec.affinity.podAffinity.{REQUIRED}[0]", f"spec.affinity.podAntiAffinity.{PREFERRED}[0]"


@pytest.mark.parametrize(
    ("term", "field", "words"),
    [
        ({}, "topologyKey", "empty"),
        ({"topologyKey": "-a"}, "topologyKey", "not a label key"),
        ({"topologyKey": "z", "namespaces": ["a", "B"]}, "namespaces[1]", "'B'"),
        (
            {"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Near"}]}},
            "labelSelector.matchExpressions[0].operator",
            "unknown operator 'Near'; use In, NotIn, Exists or DoesNotExist",
        ),
        (
            {"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Gt"}]}},
            "labelSelector.matchExpressions[0].operator",
            "Gt",
        ),
        (
            {"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "k", "operator": "In"}]}},
            "labelSelector.matchExpressions[0].values",
            "at least one",
        ),
        (
            {
                "topologyKey": "z",
                "labelSelector": {
                    "matchExpressions": [{"key": "k", "operator": "In", "values": ["a", "no way"]}]
                },
            },
            "labelSelector.matchExpressions[0].values[1]",
            "not a label value",
        ),
        (
            {"topologyKey": "z", "labelSelector": {"matchLabels": {"a b": "c"}}},
            "labelSelector.matchLabels[a b]",
            "not a label key",
        ),
        (
            {"topologyKey": "z", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"a": "-"}}},
            "namespaceSelector.matchLabels[a]",
            "not a label value",
        ),
        ({"topologyKey": "z", "matchLabelKeys": ["a"]}, "matchLabelKeys", "labelSelector"),
        (
            {"topologyKey": "z", "labelSelector": WEB, "matchLabelKeys": ["app"]},
            "matchLabelKeys[0]",
            "'app' stands in labelSelector as well",
        ),
        (
            {
                "topologyKey": "z",
                "labelSelector": WEB,
                "matchLabelKeys": ["a"],
                "mismatchLabelKeys": ["b", "a"],
            },
            "matchLabelKeys[0]",
            "mismatchLabelKeys as well",
        ),
    ],
)
def test_defects_name_the_field(term, field, words):
    message, defects = class_content(make(term))
    assert [each.field for each in defects] == [f"{R}.{field}"]
    assert words in defects[0].problem
    assert message.invalid == str(defects[0])
    assert not message.affinity
    weighted = {"weight": 1, "podAffinityTerm": term}
    _, defects = class_content(made({"podAntiAffinity": {PREFERRED: [weighted]}}))
    assert [each.field for each in defects] == [f"{P}.podAffinityTerm.{field}"]


@pytest.mark.parametrize("weight", [-1, 0, 101, 2**40])
def test_weights_have_a_range(weight):
    weighted = {"weight": weight, "podAffinityTerm": {"topologyKey": "z", "labelSelector": WEB}}
    _, defects = class_content(made({"podAntiAffinity": {PREFERRED: [weighted]}}))
    assert [str(each) for each in defects] == [
        f"{P}.weight: {weight} is out of range; give a weight from 1 to 100"
    ]
