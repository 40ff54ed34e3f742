"""Fields of objects without declared types, and the objects of an input by name and owner."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.manifests.documents import Document
from poseidon.manifests.validation import MAX_PODS
from poseidon.manifests.workloads.common import fields
from poseidon.manifests.workloads.common.pod_sets import Known, number_names

VALUE = {"a": {"b": {"c": 3, "t": "x", "l": [{"n": 1}], "none": None, "flag": True}}}


def test_a_value_is_found_at_a_path():
    assert fields.find(VALUE, "a", "b", "c") == 3
    assert fields.find(VALUE) is VALUE
    assert fields.find(VALUE, "a", "x", "y", "z") is None
    assert fields.find(None, "a") is None
    with pytest.raises(MalformedObjectError) as raised:
        fields.find(VALUE, "a", "b", "c", "d")
    assert str(raised.value) == "a.b.c: expected a map"


def test_maps_lists_and_texts_have_defaults_and_types():
    assert fields.mapping(VALUE, "a", "none") == fields.mapping(VALUE, "x") == {}
    assert fields.mapping(VALUE, "a", "b")["c"] == 3
    assert fields.items(VALUE, "a", "b", "none") == []
    assert fields.items(VALUE, "a", "b", "l") == [{"n": 1}]
    assert fields.text(VALUE, "a", "b", "t") == "x"
    assert fields.text(VALUE, "a", "b", "none") == ""
    assert fields.text(VALUE, "a", "x", default="d") == "d"
    for read, path, words in (
        (fields.mapping, ("a", "b", "t"), "a.b.t: expected a map"),
        (fields.items, ("a", "b", "t"), "a.b.t: expected a list of maps"),
        (fields.text, ("a", "b", "c"), "a.b.c: expected a string"),
    ):
        with pytest.raises(MalformedObjectError) as raised:
            read(VALUE, *path)
        assert str(raised.value) == words
    with pytest.raises(MalformedObjectError):
        fields.items({"l": [1]}, "l")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, 7),
        (0, 0),
        (3, 3),
        (MAX_PODS, MAX_PODS),
        (MAX_PODS + 1, ""),
        (-1, ""),
        (True, ""),
        (1.0, ""),
        ("1", ""),
    ],
)
def test_numbers_of_pods(given, found):
    value = {"spec": {"n": given}}
    if found != "":
        assert fields.number(value, "spec", "n", default=7) == found
    else:
        with pytest.raises(MalformedObjectError, match=r"spec\.n: "):
            fields.number(value, "spec", "n", default=7)


def test_an_object_without_namespace_is_in_the_default_one():
    assert (
        fields.namespace_of({"metadata": {}})
        == fields.namespace_of({"metadata": {"namespace": ""}})
        == "default"
    )
    assert fields.namespace_of({"metadata": {"namespace": "n"}}) == "n"
    assert fields.name_of({"metadata": {"name": "x"}}) == "x"
    assert fields.name_of({}) == ""


@pytest.mark.parametrize(
    ("kind", "status", "over"),
    [
        ("Complete", "True", True),
        ("Completed", "True", True),
        ("Succeeded", "True", True),
        ("Failed", "True", True),
        ("Finished", "True", True),
        ("Failed", "False", False),
        ("Ready", "True", False),
    ],
)
def test_objects_that_have_ended_say_so(kind, status, over):
    conditions = [{"type": "Other", "status": "True"}, {"type": kind, "status": status}]
    assert fields.is_over({"status": {"conditions": conditions}}) is over
    assert not fields.is_over({})


def document(kind: str, name: str, owner: tuple[str, str] | None = None, namespace: str = "") -> Document:
    owners: list[dict[str, Any]] = [{"kind": "Other", "name": "o"}, "text"]  # type: ignore[list-item]
    if owner is not None:
        owners.append({"kind": owner[0], "name": owner[1], "controller": True})
    metadata = {"name": name, "ownerReferences": owners, **({"namespace": namespace} if namespace else {})}
    return Document("f", "v1", kind, {"kind": kind, "metadata": metadata})


def test_objects_are_known_by_namespace_kind_and_name():
    pod, other, broken = (
        document("Pod", "p", ("Set", "s")),
        document("Pod", "q", namespace="n"),
        Document("f", "v1", "Pod", {}),
    )
    known = Known([pod, document("Set", "s", ("Top", "t")), document("Top", "t"), other, broken])
    assert known.get("default", "Pod", "p") == pod.value
    assert known.get("n", "Pod", "q") == other.value
    assert known.get("n", "Pod", "p") is None
    assert known.list_kind("Pod") == [pod.value, other.value]
    assert known.list_owned("default", ("Set", "s")) == [pod]
    assert known.list_owned("n", ("Set", "s")) == []
    assert known.list_owned("default", ("Other", "o")) == [], "who refers to it is not controlled by it"
    assert list(known.owners_of("default", ("Pod", "p"))) == [("Set", "s"), ("Top", "t")]
    assert list(known.owners_of("n", ("Pod", "q"))) == []


def test_objects_that_control_each_other_end():
    known = Known([document("A", "a", ("B", "b")), document("B", "b", ("A", "a"))])
    assert list(known.owners_of("default", ("A", "a"))) == [("B", "b"), ("A", "a")]


def test_names_of_pods_are_numbered():
    assert number_names("a", 0) == ()
    assert number_names("a", 2) == ("a-0", "a-1")
    assert number_names("a", 2, first=3) == ("a-3", "a-4")
    assert len(number_names("a", MAX_PODS)) == MAX_PODS
    with pytest.raises(MalformedObjectError, match=f"more than {MAX_PODS} pods"):
        number_names("a", MAX_PODS + 1)
