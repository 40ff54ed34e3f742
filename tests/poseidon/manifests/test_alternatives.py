"""Of objects that are given twice one counts, and what a plan cannot use is said."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.manifests.alternatives import one_of_each
from poseidon.manifests.documents import Document
from poseidon.manifests.left_out_objects import holds_pods, pods_left_out, warn_of_objects_left_out


def document(source: str, kind: str, name: Any = "x", version: str = "v1", **value: Any) -> Document:
    made = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, **value.pop("metadata", {})},
        **value,
    }
    return Document(source, version, kind, made)


def chosen(*documents: Document, strict: bool = False) -> tuple[list[str], list[str]]:
    said: list[str] = []
    return [each.source for each in one_of_each(documents, said, strict=strict)], said


def test_the_last_of_several_counts_in_the_place_of_the_first():
    first, other = document("a", "Pod", spec={"nodeName": "1"}), document("b", "Pod", "y")
    last = document("c", "Pod", spec={"nodeName": "2"})
    found, said = chosen(first, other, last)
    assert found == ["c", "b"]
    [line] = said
    assert line.endswith("given differently in a as well; this one counts")
    assert chosen(first, last, strict=True)[1][0].endswith("remove one of the two")


def test_the_same_twice_is_nothing_to_say():
    found, said = chosen(document("a", "Pod"), document("b", "Pod"))
    assert (found, said) == (["a"], [])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (document("a", "Pod"), document("b", "Service", spec={})),
        (document("a", "Pod"), document("b", "Pod", metadata={"namespace": "other"})),
        (document("a", "Pod", ""), document("b", "Pod", "", spec={})),
        (document("a", "Pod", 5), document("b", "Pod", 5, spec={})),
        (document("a", "Odd", version="odd/v1"), document("b", "Odd", version="odd/v1", spec={})),
    ],
)
def test_other_objects_are_no_alternatives(one, two):
    assert chosen(one, two) == (["a", "b"], [])


def test_versions_and_the_default_namespace_are_no_difference():
    one = document("a", "Deployment", version="apps/v1")
    two = document("b", "Deployment", version="apps/v1beta1", metadata={"namespace": "default"})
    assert chosen(one, two)[0] == ["b"]
    nodes = document("a", "Node", metadata={"namespace": "x"}), document("b", "Node")
    assert chosen(*nodes)[0] == ["b"]


TEMPLATE = {"template": {"spec": {"containers": [{"name": "c"}]}}}


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (TEMPLATE, True),
        ({"spec": {"parts": [TEMPLATE]}}, True),
        ({"podSpec": {"containers": [{}]}}, True),
        ({"workerTemplateSpec": {"containers": [{}]}}, True),
        ({"template": {"spec": {"containers": []}}}, False),
        ({"template": {"spec": {"containers": ["c"]}}}, False),
        ({"template": {"spec": {"containers": {"name": "c"}}}}, False),
        ({"template": []}, False),
        ({"other": {"containers": [{}]}}, False),
        ({5: {"containers": [{}]}}, False),
        ([], False),
        ("template", False),
    ],
)
def test_templates_of_pods_are_found_at_any_depth(value, holds):
    assert holds_pods(value) is holds


def test_a_value_that_contains_itself_ends():
    value: dict[str, Any] = {}
    value["again"] = [value]
    assert not holds_pods(value)


def test_kinds_that_hold_pods_but_are_not_known_are_named():
    documents = [document("f", "Odd", f"o{index}", "odd.io/v1", spec=TEMPLATE) for index in range(4)]
    documents += [
        document("f", "PodTemplate", spec=TEMPLATE),
        document("f", "Quiet", version="odd.io/v1"),
        document("f", "Odd", None, "v1", spec=TEMPLATE),
    ]
    assert list(warn_of_objects_left_out(documents, [])) == [
        (
            "Odd: 1 left out ((no name)): it creates pods, but how many is unknown; add the pods that "
            "its controller has created"
        ),
        (
            "Odd (odd.io): 4 left out (o0, o1, o2 and 1 more): it creates pods, but how many is unknown; add the "
            "pods that its controller has created"
        ),
    ]


def test_answers_tables_and_templates_are_no_objects():
    status = Document("f", "v1", "Status", {"message": "not\n found"})
    silent = Document("f", "v1", "Status", {})
    table = Document("g", "meta.k8s.io/v1", "Table", {})
    other = Document("g", "odd.io/v1", "Table", {})
    template = Document("h", "v1", "Pod", {})
    assert list(warn_of_objects_left_out([status, silent, table, other], [template])) == [
        "f: an answer of the API server, and no object: not found",
        "f: an answer of the API server, and no object: no message",
        "g: a Table holds too little of its objects; use what kubectl get -o yaml prints",
        "h: left out, as templates; render them first, as helm template does",
    ]


def pod(name: str, *, node: str = "", scheduler: str = "other") -> Pod:
    spec = {"nodeName": node, "schedulerName": scheduler}
    return convert_object({"metadata": {"name": name, "namespace": "ns"}, "spec": spec}, Pod)


def test_pods_elsewhere_and_of_others_are_named():
    assert list(pods_left_out([], [])) == []
    [elsewhere] = pods_left_out([pod("a", node="n1"), pod("b", node="n1"), pod("c", node="n2")], [])
    assert elsewhere.startswith(
        "Pod ns/a and 2 more: spec.nodeName: node 'n1', 'n2' is not in the input, so what runs there is left out; "
    )
    [one] = pods_left_out([], [pod("a")])
    assert one == "1 pod waits for another scheduler and take no part: 1 for other; add --scheduler-name NAME"
    [several] = pods_left_out([], [pod("a"), pod("b", scheduler="x"), pod("c")])
    assert several == (
        "3 pods wait for another scheduler and take no part: 2 for other, 1 for x; add --scheduler-name NAME"
    )
