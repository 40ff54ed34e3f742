"""Label keys and values, names of namespaces and objects: what the API server accepts, to the last character."""

from __future__ import annotations

import pytest

from poseidon.kube.parsing.label_syntax import (
    key_fault,
    label_defects,
    namespace_fault,
    object_name_fault,
    value_fault,
)

WORDS = "letters, digits, '-', '_' and '.', letters or digits at both ends, at most 63"


@pytest.mark.parametrize(
    "key",
    ["a", "A9", "a.b_c-D", "x" * 63, "example.com/app", "a/b", f"{'a' * 253}/x", f"example.com/{'x' * 63}"],
)
def test_keys_that_the_api_server_accepts_have_no_fault(key):
    assert key_fault(key) == ""


@pytest.mark.parametrize("key", ["-a", "a-", "a b", "ä", "x" * 64, "example.com/", f"a/{'x' * 64}", "a\n"])
def test_a_key_whose_name_is_no_word_is_refused(key):
    assert key_fault(key) == f"{key!r} is not a label key; use {WORDS}"


@pytest.mark.parametrize("key", ["/a", "A.com/a", "a..b/c", "-a/b", "a/b/c", f"{'a' * 254}/x", "a_b/c"])
def test_a_key_whose_prefix_is_no_dns_name_is_refused(key):
    assert (
        key_fault(key) == f"{key!r} is not a label key; before the '/' stands a DNS name such as example.com"
    )


def test_a_key_must_not_be_missing():
    assert key_fault("") == "missing; name the label"


@pytest.mark.parametrize(("value", "good"), [("", True), ("x" * 63, True), ("x" * 64, False), ("a/b", False)])
def test_values_are_words_or_empty(value, good):
    assert value_fault(value) == ("" if good else f"{value!r} is not a label value; use {WORDS}")


def test_each_fault_of_a_map_names_its_key():
    found = [*label_defects({"a": "b", "": "-", "c": "-", "-d": "e"}, "spec.labels")]
    assert [(each.field, each.problem) for each in found] == [
        ("spec.labels", "missing; name the label"),
        ("spec.labels", f"'-' is not a label value; use {WORDS}"),
        ("spec.labels[c]", f"'-' is not a label value; use {WORDS}"),
        ("spec.labels[-d]", f"'-d' is not a label key; use {WORDS}"),
    ]


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a", True),
        ("x" * 63, True),
        ("x" * 64, False),
        ("a.b", False),
        ("A", False),
        ("", False),
        ("a-", False),
    ],
)
def test_names_of_namespaces_are_dns_labels(name, good):
    said = f"{name!r} is not the name of a namespace; use lower-case letters, digits and '-', at most 63"
    assert namespace_fault(name) == ("" if good else said)


@pytest.mark.parametrize(
    ("name", "good"),
    [("a", True), ("x" * 253, True), ("x" * 254, False), ("a.b", True), ("A", False), ("a..b", False)],
)
def test_names_of_objects_are_dns_names(name, good):
    fault = object_name_fault(name)
    assert (fault == "") is good
    if not good:
        assert "is not the name of an object" in fault
        assert fault.endswith("at most 253")
