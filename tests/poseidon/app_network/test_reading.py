"""Values of specs as they are read: what is taken, what is a defect, and under which path."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.app_network.spec.reading import LARGEST_COUNT, Reader


def asked(method: str, value: Any, **options: Any) -> tuple[Any, list[tuple[str, str]]]:
    """Read one value under the key ``k``; return it, and all defects."""
    reader = Reader()
    parent = {} if value is ... else {"k": value}
    found = getattr(reader, method)(parent, "k", "spec", **options)
    return found, [(each.field, each.problem) for each in reader.defects]


def test_amounts_have_the_limits_of_64_bits():
    assert LARGEST_COUNT == 2_147_483_647


@pytest.mark.parametrize(
    ("value", "needed", "defect"),
    [
        ({"a": 1}, True, ""),
        ({}, True, ""),
        (None, False, ""),
        (None, True, "missing; add it"),
        ("x", False, "is not a map; write key: value pairs"),
        ([], True, "is not a map; write key: value pairs"),
    ],
)
def test_maps(value, needed, defect):
    reader = Reader()
    found = reader.mapping(value, "spec", needed=needed)
    assert found == (value if isinstance(value, dict) else {})
    assert [(each.field, each.problem) for each in reader.defects] == ([("spec", defect)] if defect else [])


def test_maps_are_not_needed_unless_said():
    reader = Reader()
    assert reader.mapping(None, "spec") == {}
    assert reader.defects == []


def test_items_are_maps_with_their_paths():
    reader = Reader()
    assert list(reader.items([{"a": 1}, "x", {}], "spec.list")) == [
        ({"a": 1}, "spec.list[0]"),
        ({}, "spec.list[2]"),
    ]
    assert list(reader.items(None, "spec.none")) == []
    assert list(reader.items({"a": 1}, "spec.map")) == []
    assert list(reader.items(({"a": 1},), "spec.tuple")) == [({"a": 1}, "spec.tuple[0]")]
    assert [(each.field, each.problem) for each in reader.defects] == [
        ("spec.list[1]", "is not a map; write key: value pairs"),
        ("spec.map", "is not a list; write a list of maps"),
    ]


@pytest.mark.parametrize(
    ("value", "needed", "found", "defect"),
    [
        ("x", True, "x", ""),
        ("", False, "", ""),
        ("", True, "", "missing; add it"),
        (..., False, "", ""),
        (..., True, "", "missing; add it"),
        (None, True, "", "missing; add it"),
        (5, False, "", "5 is not a string; put it in quotes"),
        (False, True, "", "False is not a string; put it in quotes"),
    ],
)
def test_texts(value, needed, found, defect):
    assert asked("text", value, needed=needed) == (found, [("spec.k", defect)] if defect else [])
    if not needed:
        assert asked("text", value) == asked("text", value, needed=False)


@pytest.mark.parametrize(
    ("value", "options", "found", "defect"),
    [
        (..., {}, None, ""),
        (None, {"least": 1}, None, ""),
        (0, {}, 0, ""),
        (-1, {}, None, "-1 is too small; give 0 or more"),
        (1, {"least": 1}, 1, ""),
        (0, {"least": 1}, None, "0 is too small; give 1 or more"),
        (7, {"most": 7}, 7, ""),
        (8, {"most": 7}, None, "8 is too large; give at most 7"),
        (LARGEST_COUNT, {}, LARGEST_COUNT, ""),
        (LARGEST_COUNT + 1, {}, None, f"{LARGEST_COUNT + 1} is too large; give at most {LARGEST_COUNT}"),
        (True, {}, None, "True is not a whole number; write one such as 5"),
        ("3", {}, None, "'3' is not a whole number; write one such as 5"),
        (2.0, {}, None, "2.0 is not a whole number; write one such as 5"),
    ],
)
def test_counts(value, options, found, defect):
    assert asked("count", value, **options) == (found, [("spec.k", defect)] if defect else [])


@pytest.mark.parametrize(
    ("value", "found", "defect"),
    [
        (..., None, ""),
        (None, None, ""),
        ("100M", 100_000_000, ""),
        (5, 5, ""),
        ([], None, "[] is not a quantity; write bits per second such as 100M"),
    ],
)
def test_bandwidths(value, found, defect):
    assert asked("bandwidth", value) == (found, [("spec.k", defect)] if defect else [])


def test_a_quantity_that_cannot_be_read_says_what_is_counted():
    found, [(path, problem)] = asked("bandwidth", "wide")
    assert (found, path) == (None, "spec.k")
    assert problem.startswith("'wide' is not a quantity")
    assert problem.endswith(", in bits per second")
