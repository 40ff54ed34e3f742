"""The values of CEL expressions that Python lacks (versions, quantities, optional values), and comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from firmament.core.rules.devices.cel.tree import UInt


class EvaluationError(Exception):
    """An expression has no value for a device; the message says why."""

    work = 0
    """The steps that the evaluation took."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount, as Kubernetes' quantities state it."""

    amount: int | Fraction


_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version. ``precedence`` orders versions as semver defines it: build metadata make no difference."""

    text: str
    numbers: tuple[int, int, int]
    precedence: tuple[Any, ...]


def parse_version(text: str) -> Version | None:
    """Return the semantic version that a text states; None if it states none."""
    found = _VERSION.fullmatch(text) if len(text) <= 256 else None
    if found is None:
        return None
    major, minor, patch, before, _ = found.groups()
    parts = [] if before is None else before.split(".")
    if any(part.isdigit() and len(part) > 1 and part[0] == "0" for part in parts):
        return None
    # In semver, numbers come before words, fewer parts before more, and a version without pre-release parts
    # after every version with some.
    order = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    numbers = int(major), int(minor), int(patch)
    return Version(text, numbers, (*numbers, before is None, order))


@dataclass(frozen=True, slots=True)
class Optional:
    """CEL's optional value: a value, or none."""

    value: Any = None
    has_value: bool = False


class DomainMap(dict[str, Any]):
    """Attributes or capacities by domain; a domain that the device lacks reads as an empty map."""


def kind_of(value: Any) -> str:
    """Return CEL's name of the type of a value."""
    if value is None:
        return "null_type"
    return _KINDS.get(type(value), "map" if isinstance(value, dict) else "unknown")


_KINDS: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    Quantity: "quantity",
    Version: "semver",
    Optional: "optional",
}
_NUMBERS = frozenset({"int", "uint", "double"})


def is_number(value: Any) -> bool:
    """Return whether a value is a number."""
    return kind_of(value) in _NUMBERS


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; values of different types never are, unless they are numbers."""
    kind, kind_there = kind_of(one), kind_of(other)
    if kind in _NUMBERS and kind_there in _NUMBERS:
        return bool(one == other)
    if kind != kind_there:
        return False
    if kind == "list":
        return len(one) == len(other) and all(map(are_equal, one, other))
    if kind == "map":
        return len(one) == len(other) and all(
            key in other and are_equal(value, other[key]) for key, value in one.items()
        )
    if kind == "semver":
        return bool(one.precedence == other.precedence)
    return bool(one == other)


def compare(one: Any, other: Any) -> int:
    """Return -1, 0 or 1 if ``one`` is below, equal to or above ``other``.

    Raise ``EvaluationError`` if the values have no order.
    """
    kind, kind_there = kind_of(one), kind_of(other)
    both_numbers = kind in _NUMBERS and kind_there in _NUMBERS
    if not both_numbers and (kind != kind_there or kind not in {"string", "bytes", "bool"}):
        raise EvaluationError(f"{kind} and {kind_there} cannot be compared")
    return int(one > other) - int(one < other)


def count_size(value: Any) -> int:
    """Return the steps of work for reading a whole value: at least 1."""
    if isinstance(value, str | bytes):
        return 1 + len(value) // 10
    if isinstance(value, list):
        return 1 + sum(map(count_size, value))
    if isinstance(value, dict):
        return 1 + sum(map(count_size, value.values()))
    return 1
