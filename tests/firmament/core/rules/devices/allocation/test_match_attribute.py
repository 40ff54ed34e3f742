"""Which devices constraints on attributes allow, and the index of attributes that they read."""

from __future__ import annotations

from typing import Any

import pytest

from firmament.core.rules.devices.allocation.match_attribute import (
    ConstraintState,
    add_device,
    find_allowed,
    is_kept,
)
from firmament.core.rules.devices.allocation.search_plan import AttributeIndex, index_attribute
from firmament.core.rules.devices.objects.inventory import PublishedDevice
from firmament.core.rules.devices.objects.requests import AttributeConstraint
from firmament.core.rules.devices.visible_devices import SeenDevice, ViewKind


def kind(*values: Any) -> ViewKind:
    """Machines that see devices with these values of the attribute ``d/a``; None: without it."""
    devices = [
        PublishedDevice(str(number), {} if value is None else {"d/a": value}, {}, 0)
        for number, value in enumerate(values)
    ]
    return ViewKind(tuple(SeenDevice(each, "d", 0, number, 0) for number, each in enumerate(devices)), (0,))


def index(*values: Any, lists: bool = True) -> AttributeIndex:
    return index_attribute(kind(*values), "d/a", lists=lists)


class TestIndex:
    def test_devices_by_value(self):
        found = index("x", "y", None, "x", ["y", "z"])
        assert found.by_value == {("str", "x"): 0b01001, ("str", "y"): 0b10010, ("str", "z"): 0b10000}
        assert [set(each) for each in found.by_device] == [
            {("str", "x")}, {("str", "y")}, set(), {("str", "x")}, {("str", "y"), ("str", "z")},
        ]  # fmt: skip
        assert found.any_of(frozenset({("str", "y"), ("str", "none")})) == 0b10010
        assert found.any_of(frozenset()) == 0

    def test_values_of_different_types_differ(self):
        found = index(1, True, "1", ("version", "1"))
        assert sorted(found.by_value.values()) == [1, 2, 4, 8]

    def test_lists_count_as_nothing_if_they_are_off(self):
        assert index(["x"], "x", lists=False).by_value == {("str", "x"): 0b10}
        assert index(["x"], "x").by_value == {("str", "x"): 0b11}

    def test_it_is_made_once_for_each_kind_of_machines(self):
        machines = kind("x")
        first = index_attribute(machines, "d/a")
        assert index_attribute(machines, "d/a") is first
        assert index_attribute(machines, "d/a", lists=False) is not first
        assert index_attribute(machines, "d/b").by_value == {}


INDEX = index("x", "y", None, "x", ["y", "z"])
X, Y, Z = (frozenset({("str", value)}) for value in "xyz")
MATCH = AttributeConstraint("d/a", False, ())
DISTINCT = AttributeConstraint("d/a", True, ())
SAME = AttributeConstraint("d/a", False, ("r",), others=("s",))


@pytest.mark.parametrize(
    ("constraint", "state", "option", "allowed"),
    [
        (MATCH, None, "r", 0b11011),
        (MATCH, X, "r", 0b01001),
        (MATCH, Y | Z, "r", 0b10010),
        (MATCH, frozenset(), "r", 0),
        (DISTINCT, None, "r", 0b11011),
        (DISTINCT, X, "r", 0b10010),
        (DISTINCT, X | Y, "r", 0),
        (SAME, None, "r", 0b11011),
        (SAME, (X, Y), "r", 0b11011),
        (SAME, None, "s", 0),
        (SAME, (X, Y), "s", 0b01001),
        (SAME, (X | Z, Y), "s", 0b11001),
    ],
)
def test_devices_that_are_allowed(
    constraint: AttributeConstraint, state: ConstraintState, option: str, allowed: int
):
    assert find_allowed(constraint, INDEX, state, option) == allowed


@pytest.mark.parametrize(
    ("constraint", "state", "values", "option", "after"),
    [
        (MATCH, None, Y | Z, "r", Y | Z),
        (MATCH, Y | Z, Y, "r", Y),
        (MATCH, X, Y, "r", frozenset()),
        (DISTINCT, None, X, "r", X),
        (DISTINCT, X, Y, "r", X | Y),
        (SAME, None, X, "r", (X, frozenset())),
        (SAME, (X, Y), Z, "r", (X | Z, Y)),
        (SAME, (X, Y), Z, "s", (X, Y | Z)),
        (SAME, None, Z, "s/sub", (frozenset(), Z)),
    ],
)
def test_states_after_a_device(
    constraint: AttributeConstraint, state: ConstraintState, values: Any, option: str, after: ConstraintState
):
    assert add_device(constraint, state, values, option) == after


@pytest.mark.parametrize(
    ("constraint", "state", "option", "kept"),
    [
        (MATCH, frozenset(), "r", True),
        (SAME, (X, Y), "r", True),
        (SAME, (X, Y), "s", False),
        (SAME, (X, X), "s", True),
        (SAME, None, "s", True),
        (SAME, (X, frozenset()), "s", False),
    ],
)
def test_both_sides_must_have_the_same_values_in_the_end(
    constraint: AttributeConstraint, state: ConstraintState, option: str, kept: bool
):
    assert is_kept(constraint, state, option) is kept
