"""Amounts as people write them, nodes that are only assumed, and phrases of warnings."""

from __future__ import annotations

import pytest

from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.manifests.amounts import format_amount, parse_amount, unit_of
from poseidon.manifests.assumed_nodes import make_nodes, parse_nodes
from poseidon.manifests.warning_phrases import list_names, suggest_printing


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 500, "500m"),
        ("cpu", 2000, "2"),
        ("cpu", 0, "0"),
        ("requests.cpu", 1500, "1500m"),
        ("limits.cpu", 1000, "1"),
        ("memory", 0, "0"),
        ("memory", 1, "1"),
        ("memory", 1024, "1Ki"),
        ("memory", 1025, "1025"),
        ("memory", 3 * 2**20, "3Mi"),
        ("memory", 2**30, "1Gi"),
        ("memory", 2**40, "1Ti"),
        ("memory", 2**50, "1Pi"),
        ("memory", 2**60, "1Ei"),
        ("memory", 1000, "1000"),
        ("memory", 10**6, "1M"),
        ("memory", 5 * 10**9, "5G"),
        ("memory", 999_999, "999999"),
        ("memory", 1_001_000, "1001k"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_are_written_in_the_largest_unit_that_fits(resource, value, text):
    assert format_amount(resource, value) == text
    assert parse_amount(resource, text) == min(value, MAX_AMOUNT)


def test_what_is_no_amount_counts_as_nothing():
    assert parse_amount("cpu", "much") == 0


@pytest.mark.parametrize(
    ("name", "unit"),
    [("cpu", "cpu"), ("limits.cpu", "cpu"), ("requests.limits.cpu", "cpu"), ("count/pods", "count/pods")],
)
def test_names_in_quotas_mean_resources(name, unit):
    assert unit_of(name) == unit


def test_assumed_nodes_are_numbered_and_offer_what_is_usual_unless_said_otherwise():
    one, two = make_nodes(2, {"cpu": 8, "gpu": "2"}, first=5)
    assert [each["metadata"]["name"] for each in (one, two)] == ["added-5", "added-6"]
    assert one["status"]["allocatable"] == {"cpu": "8", "memory": "16Gi", "pods": "110", "gpu": "2"}
    assert one["status"]["capacity"] == one["status"]["allocatable"]
    assert one["metadata"]["labels"] == {
        "kubernetes.io/hostname": "added-5",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    [first] = make_nodes(1)
    assert first["metadata"]["name"] == "added-1"
    assert first["status"]["allocatable"] == {"cpu": "4", "memory": "16Gi", "pods": "110"}
    assert make_nodes(0) == []


def test_nodes_of_several_texts_have_different_names():
    found = list(parse_nodes(("2:cpu=8", "1")))
    assert [text for text, _ in found] == ["2:cpu=8", "1"]
    assert [[each["metadata"]["name"] for each in nodes] for _, nodes in found] == [
        ["added-1", "added-2"],
        ["added-3"],
    ]
    assert found[0][1][0]["status"]["allocatable"]["cpu"] == "8"


@pytest.mark.parametrize("text", ["1000", "1:", "1:cpu=8,", "1:cpu=8,memory=1Gi"])
def test_numbers_of_nodes_that_are_accepted(text):
    [(_, nodes)] = parse_nodes((text,))
    assert len(nodes) == int(text.partition(":")[0])


@pytest.mark.parametrize(
    "text", ["0", "100001", "many", "", "-1", "1:cpu", "1:=8", "1:cpu=", "1:cpu=much", "1" * 10]
)
def test_other_numbers_of_nodes_are_refused(text):
    with pytest.raises(ValueError, match=r"^'.*'"):
        list(parse_nodes((text,)))


@pytest.mark.parametrize(
    ("names", "most", "text"),
    [
        ([], 3, ""),
        (["a"], 3, "a"),
        (["a", "b", "c"], 3, "a, b, c"),
        (["a", "b", "c", "d"], 3, "a, b, c and 1 more"),
        (["a", "b", "c"], 1, "a and 2 more"),
    ],
)
def test_only_the_first_names_are_listed(names, most, text):
    assert list_names(iter(names), most) == text


def test_three_names_are_listed_unless_said_otherwise():
    assert list_names("abcd") == "a, b, c and 1 more"


def test_what_is_missing_can_be_printed():
    assert suggest_printing("pods") == "add what `kubectl get pods --all-namespaces -o yaml` prints"
    assert suggest_printing("nodes", namespaced=False) == "add what `kubectl get nodes -o yaml` prints"
