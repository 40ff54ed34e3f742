"""Evaluates matchAttribute and distinctAttribute of claims: which devices may be chosen beside those already chosen."""

from __future__ import annotations

from typing import TypeAlias

from firmament.core.rules.devices.allocation.search_plan import NO_VALUES, AttributeIndex, Values
from firmament.core.rules.devices.objects.requests import AttributeConstraint

ConstraintState: TypeAlias = Values | tuple[Values, Values] | None
"""The values of the constrained attribute on the chosen devices: all values (distinct), the common values (match), or
those of both sides.
"""


def find_allowed(
    constraint: AttributeConstraint, attribute: AttributeIndex, state: ConstraintState, option: str
) -> int:
    """Return the devices (one bit each) that a constraint still allows for one option of a request."""
    having = 0
    for devices in attribute.by_value.values():
        having |= devices
    if constraint.others:
        first, _ = _sides(state)
        return attribute.any_of(first) if constraint.is_other(option) else having
    if isinstance(state, frozenset) and not constraint.distinct:
        return attribute.any_of(state)
    return having & ~attribute.any_of(state if isinstance(state, frozenset) else NO_VALUES)


def add_device(
    constraint: AttributeConstraint, state: ConstraintState, values: Values, option: str
) -> ConstraintState:
    """Return the state of a constraint after a device with the attribute's ``values`` is chosen for an option."""
    if constraint.others:
        first, second = _sides(state)
        return (first, second | values) if constraint.is_other(option) else (first | values, second)
    if not isinstance(state, frozenset):
        return values
    return state | values if constraint.distinct else state & values


def is_kept(constraint: AttributeConstraint, state: ConstraintState, option: str) -> bool:
    """Return whether a constraint holds after all devices of an option have been chosen."""
    if not constraint.others or not constraint.is_other(option):
        return True
    first, second = _sides(state)
    return first == second


def _sides(state: ConstraintState) -> tuple[Values, Values]:
    return state if isinstance(state, tuple) else (NO_VALUES, NO_VALUES)
