"""Functions of CEL expressions: quantities, versions, and conversions between types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firmament.core.rules.devices.cel.texts import Spend, check_text, explain_unfit
from firmament.core.rules.devices.cel.tree import UInt
from firmament.core.rules.devices.cel.values import (
    EvaluationError,
    Quantity,
    Version,
    count_size,
    kind_of,
    parse_version,
)
from firmament.core.rules.devices.objects.quantities import parse_quantity, simplify

_LEAST, _MOST = -(2**63), 2**63 - 1


def check_number(value: Any) -> Any:
    """Return a number if its type can hold it; raise ``EvaluationError`` otherwise."""
    least, most = (0, 2**64 - 1) if isinstance(value, UInt) else (_LEAST, _MOST)
    if isinstance(value, int) and not least <= value <= most:
        raise EvaluationError("a number is too large")
    return value


# --- quantities and versions ------------------------------------------------------------------------------------------


def read_quantity(_: Spend, text: Any) -> Quantity:
    """Return the quantity that a text states, such as ``16Gi``."""
    amount = parse_quantity(check_text(text, "quantity"))
    if amount is None:
        raise EvaluationError(f"{text[:60]!r} is no quantity")
    return Quantity(amount)


def is_quantity(_: Spend, text: Any) -> bool:
    """Return whether a text states a quantity."""
    return parse_quantity(check_text(text, "isQuantity")) is not None


def read_semver(_: Spend, text: Any, *normalize: Any) -> Version:
    """Return the semantic version that a text states; with ``normalize``, ``v1`` and ``01.2`` are versions too."""
    version = _read_version(check_text(text, "semver"), *normalize)
    if version is None:
        raise EvaluationError(f"{text[:60]!r} is no semantic version")
    return version


def is_semver(_: Spend, text: Any, *normalize: Any) -> bool:
    """Return whether a text states a semantic version."""
    return _read_version(check_text(text, "isSemver"), *normalize) is not None


def _read_version(text: str, normalize: Any = False) -> Version | None:
    if not isinstance(normalize, bool):
        raise explain_unfit("semver", text, normalize)
    if normalize:
        numbers, mark, rest = text.removeprefix("v").partition("-" if "-" in text.partition("+")[0] else "+")
        parts = [part.lstrip("0") or "0" for part in numbers.split(".")]
        text = ".".join([*parts, "0", "0"][: max(3, len(parts))]) + mark + rest
    return parse_version(text)


def compare_amounts(one: Any, other: Any, name: str) -> int:
    """Return -1, 0 or 1 if a quantity, or version, is below, equal to or above another."""
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return int(one.amount > other.amount) - int(one.amount < other.amount)
    if isinstance(one, Version) and isinstance(other, Version):
        return int(one.precedence > other.precedence) - int(one.precedence < other.precedence)
    raise explain_unfit(name, one, other)


def combine_quantities(sign: int) -> Callable[..., Quantity]:
    """Return the function that adds a quantity or an integer (``sign`` 1), or subtracts it (-1)."""

    def combine(_: Spend, one: Any, other: Any) -> Quantity:
        amount = other.amount if isinstance(other, Quantity) else other
        if not isinstance(one, Quantity) or not (isinstance(other, Quantity) or kind_of(other) == "int"):
            raise explain_unfit("add" if sign > 0 else "sub", one, other)
        return Quantity(simplify(one.amount + sign * amount))

    return combine


def get_amount(value: Any, name: str) -> Any:
    """Return the amount of a quantity; ``name``: the calling function, for the error message."""
    if not isinstance(value, Quantity):
        raise explain_unfit(name, value)
    return value.amount


def as_integer(_: Spend, value: Any) -> int:
    """Return a quantity as an integer."""
    amount = get_amount(value, "asInteger")
    if not isinstance(amount, int):
        raise EvaluationError("the quantity is no integer")
    return int(check_number(amount))


def is_integer(_: Spend, value: Any) -> bool:
    """Return whether a quantity is an integer of 64 bits."""
    amount = get_amount(value, "isInteger")
    return isinstance(amount, int) and _LEAST <= amount <= _MOST


def get_part_of_version(place: int, name: str) -> Callable[..., int]:
    """Return a function for CEL that reads one number of a semantic version: the major, minor or patch version.

    ``place``: 0, 1 or 2. ``name``: what the function is called in CEL.
    """

    def get_part(_: Spend, value: Any) -> int:
        if not isinstance(value, Version):
            raise explain_unfit(name, value)
        return value.numbers[place]

    return get_part


# --- conversions ------------------------------------------------------------------------------------------------------


def to_int(_: Spend, value: Any) -> int:
    """Return ``int(value)``."""
    try:
        if kind_of(value) in {"int", "uint", "double", "string"}:
            return int(check_number(int(str(value), 10) if isinstance(value, str) else int(value)))
    except (ValueError, OverflowError) as error:
        raise EvaluationError("the value is no integer") from error
    raise explain_unfit("int", value)


def to_uint(spend: Spend, value: Any) -> UInt:
    """Return ``uint(value)``."""
    return UInt(check_number(value if isinstance(value, UInt) else UInt(to_int(spend, value))))


def to_double(_: Spend, value: Any) -> float:
    """Return ``double(value)``."""
    try:
        if kind_of(value) in {"int", "uint", "double", "string"}:
            return float(value)
    except (ValueError, OverflowError) as error:
        raise EvaluationError("the value is no number") from error
    raise explain_unfit("double", value)


def to_string(spend: Spend, value: Any) -> str:
    """Return ``string(value)``."""
    kind = kind_of(value)
    spend(count_size(value))
    if kind == "bool":
        return "true" if value else "false"
    if kind == "double" and value == int(value):
        return str(int(value))
    if kind in {"int", "uint", "double", "string"}:
        return str(value)
    if kind == "semver":
        return str(value.text)
    raise explain_unfit("string", value)


def to_bool(_: Spend, value: Any) -> bool:
    """Return ``bool(value)``."""
    words = {"true": True, "false": False, "1": True, "0": False, "t": True, "f": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise explain_unfit("bool", value)
