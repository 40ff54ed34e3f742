"""Expressions and templates of workloads: what they mean, and what they refuse."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.declarative.expressions import ExpressionError, Scope, compile_expression
from benchmarks.declarative.templates import TemplateError, compile_template

NAMES = frozenset({"index", "nodes", "node"})


def value(text: str, **values: int | str):
    scope = Scope({"index": 7, "nodes": 3, **values}, node_names=["a", "b", "c"])
    return compile_expression(text, NAMES)(scope)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("index", 7),
        ("index % nodes", 1),
        ("2 * (index - 1) // 5", 2),
        ("-index + 10", 3),
        ("min(index, nodes, 5)", 3),
        ("max(index, nodes)", 7),
        ("node(index)", "b"),
        ("rand(4, 5)", 4),
    ],
)
def test_values(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("index +", "cannot be read"),
        ("indx", "unknown name 'indx'; known here: index, node, nodes"),
        ("index / 2", "not allowed: 'index / 2'"),
        ("index.real", "not allowed"),
        ("__import__('os')", "not allowed"),
        ("open(1)", "unknown function open() with 1 arguments"),
        ("rand(1)", "unknown function rand() with 1 arguments"),
    ],
)
def test_what_is_refused_at_once(text, fault):
    with pytest.raises(ExpressionError, match=re.escape(fault)):
        compile_expression(text, NAMES)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("index % (nodes - 3)", "division by zero"),
        ("node + 1", "'x' is a text"),
        ("rand(3, 3)", "nothing to choose from"),
    ],
)
def test_what_is_refused_when_evaluated(text, fault):
    with pytest.raises(ExpressionError, match=re.escape(fault)):
        value(text, node="x")


@given(st.integers(0, 10**6), st.integers(1, 1000), st.integers(0, 100))
def test_random_numbers_stay_in_range_and_repeat(index, width, seed):
    draw = compile_expression(f"rand(5, 5 + {width})", NAMES)
    first = draw(Scope({"index": index}, seed=seed))
    assert isinstance(first, int)
    assert 5 <= first < 5 + width
    assert draw(Scope({"index": index}, seed=seed)) == first


def test_random_numbers_of_two_places_are_unlike():
    scope = [Scope({"index": index}) for index in range(200)]
    one = compile_expression("rand(0, 1000)", NAMES)
    two = compile_expression("0 + rand(0, 1000)", NAMES)
    draws = [one(each) for each in scope]
    assert len(set(draws)) > 150
    assert draws != [two(each) for each in scope]
    pair = compile_expression("rand(0, 1000) - rand(0, 1000)", NAMES)
    assert any(pair(each) for each in scope)


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": {"app": "app-${index // 5}", "price": "$$5"}},
    "spec": {"priority": "={index % 3}", "nodeName": "$node", "schedulerName": "mine"},
}


def pod_at(index: int, manifest=None):
    scope = Scope({"index": index, "nodes": 2}, node_names=["n-0", "n-1"])
    made = compile_template(manifest or POD, frozenset()).instantiate(scope, name="p", namespace="ns")
    return made, json.loads(made.raw)


def test_a_pod_out_of_a_template():
    made, pod = pod_at(11)
    assert (made.kind, made.namespace, made.name) == ("Pod", "ns", "p")
    assert pod["metadata"] == {"labels": {"app": "app-2", "price": "$5"}, "name": "p", "namespace": "ns"}
    assert pod["spec"] == {"priority": 2, "nodeName": "n-1", "schedulerName": "mine"}


def test_names_and_schedulers_are_filled_in():
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "own-$index", "namespace": "team-${index % 2}"},
        "spec": {},
    }
    made, pod = pod_at(3, manifest)
    assert (made.namespace, made.name) == ("team-1", "own-3")
    assert pod["metadata"]["name"] == "own-3"
    assert pod["spec"] == {"schedulerName": "poseidon"}


def test_cluster_scoped_objects_have_no_namespace():
    made, node = pod_at(0, {"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {"host": "$name"}}})
    assert made.namespace == ""
    assert node["metadata"] == {"labels": {"host": "p"}, "name": "p"}


@pytest.mark.parametrize(
    ("manifest", "fault"),
    [
        ({"kind": "Pod"}, "kind and apiVersion: missing"),
        ({"kind": "Pod", "apiVersion": "v1"}, "spec: missing"),
        ({"kind": "Node", "apiVersion": "v1", "metadata": []}, "metadata: not a mapping"),
        (
            {"kind": "Node", "apiVersion": "v1", "status": {"x": "${oops}"}},
            r"\$\{oops\}: unknown name 'oops'",
        ),
    ],
)
def test_templates_that_cannot_be_used(manifest, fault):
    with pytest.raises(TemplateError, match=fault):
        compile_template(manifest, frozenset())
