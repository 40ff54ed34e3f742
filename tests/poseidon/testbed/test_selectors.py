from __future__ import annotations

import pytest

from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.selectors import parse_fields, select

FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName")


def record(labels: dict[str, str], name: str = "a", node: str = "") -> Record:
    return Record(f"ns/{name}", "ns", name, "uid", 1, b"{}", labels, (name, "ns", node))


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ("app=web", {"app": "web"}, True),
        ("app==web", {"app": "web"}, True),
        ("app=web", {}, False),
        ("app!=web", {}, True),
        ("app!=web", {"app": "web"}, False),
        ("app in (web, db)", {"app": "db"}, True),
        ("app in (web,db)", {"app": "x"}, False),
        ("app in (web)", {}, False),
        ("app notin (web,db)", {}, True),
        ("app notin (web,db)", {"app": "web"}, False),
        ("example.com/app", {"example.com/app": ""}, True),
        ("app", {}, False),
        ("!app", {}, True),
        ("!app", {"app": "x"}, False),
        ("app in (a,b),tier=front,!old", {"app": "b", "tier": "front"}, True),
        ("app in (a,b),tier=front,!old", {"app": "b", "tier": "front", "old": ""}, False),
        ("app=", {"app": ""}, True),
        ("", {}, True),
    ],
)
def test_label_selectors(selector: str, labels: dict[str, str], selected: bool) -> None:
    assert select("", selector, "", FIELDS).matches(record(labels)) is selected


@pytest.mark.parametrize("selector", ["=x", "a in b", "a in (b", "a=b=c", "a b", "a in (x y)", "-a=b"])
def test_bad_label_selectors_are_refused(selector: str) -> None:
    with pytest.raises(ApiError) as caught:
        select("", selector, "", FIELDS)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("metadata.name=a", True),
        ("metadata.name==b", False),
        ("metadata.name!=b,spec.nodeName=", True),
        ("spec.nodeName!=", False),
        ("metadata.namespace=ns,metadata.name!=a", False),
    ],
)
def test_field_selectors(selector: str, selected: bool) -> None:
    assert select("", "", selector, FIELDS).matches(record({})) is selected


def test_field_values_may_hold_escaped_commas() -> None:
    assert parse_fields(r"metadata.name=a\,b\=c", FIELDS) == ((0, "a,b=c", True),)


@pytest.mark.parametrize("selector", ["spec.color=red", "metadata.name", "metadata.name>a"])
def test_unsupported_field_selectors_are_refused(selector: str) -> None:
    with pytest.raises(ApiError) as caught:
        select("", "", selector, FIELDS)
    assert caught.value.code == 400


def test_the_namespace_is_part_of_the_selection() -> None:
    assert select("ns", "", "", FIELDS).matches(record({}))
    assert not select("other", "", "", FIELDS).matches(record({}))
