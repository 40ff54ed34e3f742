"""The functions of CEL expressions.

The functions are the language's own, its extensions for texts, and Kubernetes' for quantities, versions, lists and
sets. A function that takes more work than one step counts this work before it begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from firmament.core.rules.devices.cel.conversions import (
    as_integer,
    check_number,
    combine_quantities,
    compare_amounts,
    get_amount,
    get_part_of_version,
    is_integer,
    is_quantity,
    is_semver,
    read_quantity,
    read_semver,
    to_bool,
    to_double,
    to_int,
    to_string,
    to_uint,
)
from firmament.core.rules.devices.cel.limits import MOST_LIST_VALUES
from firmament.core.rules.devices.cel.texts import (
    Spend,
    convert_ascii,
    cut_out,
    ends_with,
    explain_unfit,
    find_first,
    find_last,
    get_character,
    has_part,
    join_texts,
    matches_pattern,
    replace_text,
    split_text,
    starts_with,
    trim_text,
)
from firmament.core.rules.devices.cel.values import (
    EvaluationError,
    Optional,
    are_equal,
    compare,
    count_size,
    is_number,
    kind_of,
)

# --- operators --------------------------------------------------------------------------------------------------------


def add(spend: Spend, one: Any, other: Any) -> Any:
    """Return the sum of two numbers, or the concatenation of two texts or lists."""
    kind = kind_of(one)
    if kind != kind_of(other) or kind not in {"int", "uint", "double", "string", "bytes", "list"}:
        raise explain_unfit("+", one, other)
    if kind in {"string", "bytes", "list"}:
        spend(1 + (len(one) + len(other)) // (1 if kind == "list" else 10))
    return check_number(type(one)(one + other))


def calculate(sign: str, one: Any, other: Any) -> Any:
    """Return ``one`` minus, times, divided by or modulo ``other``."""
    if kind_of(one) != kind_of(other) or not is_number(one) or (sign == "%" and isinstance(one, float)):
        raise explain_unfit(sign, one, other)
    if sign == "-":
        return check_number(type(one)(one - other))
    if sign == "*":
        return check_number(type(one)(one * other))
    if isinstance(one, float):
        return one / other if other else math.copysign(math.inf, one) if one else math.nan
    if not other:
        raise EvaluationError("a number is divided by 0")
    # The quotient is rounded towards 0, as in Go.
    whole = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
    return check_number(type(one)(whole if sign == "/" else one - whole * other))


def negate(sign: str, value: Any) -> Any:
    """Return ``!value``, or ``-value``."""
    if sign == "!x" and isinstance(value, bool):
        return not value
    if sign == "-x" and kind_of(value) in {"int", "double"}:
        return check_number(-value)
    raise explain_unfit(sign[0], value)


def is_in(spend: Spend, item: Any, place: Any) -> bool:
    """Return whether a list contains an item, or a map contains a key."""
    if isinstance(place, dict):
        return item in place if isinstance(item, str | int | bool) else False
    if not isinstance(place, list):
        raise explain_unfit("in", item, place)
    spend(count_size(place))
    return any(are_equal(item, each) for each in place)


# --- sizes, lists and sets --------------------------------------------------------------------------------------------


def _size(_: Spend, value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise explain_unfit("size", value)
    return len(value)


def _reverse(spend: Spend, value: Any) -> Any:
    if not isinstance(value, str | list):
        raise explain_unfit("reverse", value)
    spend(count_size(value))
    return value[::-1]


def _list(spend: Spend, value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise explain_unfit(name, value)
    spend(count_size(value))
    return value


def _includes(_: Spend, value: Any, item: Any) -> bool:
    """Return whether a list includes an item; a single value counts as a list with one item."""
    if not isinstance(value, list):
        return are_equal(value, item)
    for place, each in enumerate(value):
        if place >= MOST_LIST_VALUES:
            raise EvaluationError(f"'includes' looks through {MOST_LIST_VALUES} values at most")
        if are_equal(each, item):
            return True
    return False


def _extreme(sign: int, name: str) -> Callable[..., Any]:
    def find(spend: Spend, value: Any) -> Any:
        items = _list(spend, value, name)
        if not items:
            raise EvaluationError(f"{name} of an empty list")
        best = items[0]
        for each in items[1:]:
            best = each if compare(each, best) == sign else best
        return best

    return find


def _sum(spend: Spend, value: Any) -> Any:
    items = _list(spend, value, "sum")
    if not all(map(is_number, items)):
        raise explain_unfit("sum", value)
    total: Any = items[0] if items else 0
    for each in items[1:]:
        total = add(spend, total, each)
    return total


def _is_sorted(spend: Spend, value: Any) -> bool:
    items = _list(spend, value, "isSorted")
    return all(compare(one, other) <= 0 for one, other in pairwise(items))


def _set_contains(spend: Spend, one: Any, other: Any) -> bool:
    items, wanted = _list(spend, one, "sets.contains"), _list(spend, other, "sets.contains")
    spend(len(items) * len(wanted))
    return all(any(are_equal(each, item) for item in items) for each in wanted)


def _set_equivalent(spend: Spend, one: Any, other: Any) -> bool:
    return _set_contains(spend, one, other) and _set_contains(spend, other, one)


def _set_intersects(spend: Spend, one: Any, other: Any) -> bool:
    items, wanted = _list(spend, one, "sets.intersects"), _list(spend, other, "sets.intersects")
    spend(len(items) * len(wanted))
    return any(any(are_equal(each, item) for item in items) for each in wanted)


# --- optional values --------------------------------------------------------------------------------------------------


def _optional(value: Any, name: str) -> Optional:
    if not isinstance(value, Optional):
        raise explain_unfit(name, value)
    return value


def _value(_: Spend, value: Any) -> Any:
    if not _optional(value, "value").has_value:
        raise EvaluationError("the optional value is none")
    return value.value


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "size": _size,
        "matches": matches_pattern,
        "quantity": read_quantity,
        "isQuantity": is_quantity,
        "semver": read_semver,
        "isSemver": is_semver,
        "int": to_int,
        "uint": to_uint,
        "double": to_double,
        "string": to_string,
        "bool": to_bool,
        "dyn": lambda _, value: value,
        "type": lambda _, value: kind_of(value),
    }
)
"""Functions that are called without a receiver, by name. Each function's first argument is `Spend`."""

METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "size": _size,
        "matches": matches_pattern,
        "contains": has_part,
        "startsWith": starts_with,
        "endsWith": ends_with,
        "indexOf": find_first,
        "lastIndexOf": find_last,
        "charAt": get_character,
        "substring": cut_out,
        "split": split_text,
        "replace": replace_text,
        "join": join_texts,
        "lowerAscii": convert_ascii(str.lower),
        "upperAscii": convert_ascii(str.upper),
        "trim": trim_text,
        "reverse": _reverse,
        "includes": _includes,
        "min": _extreme(-1, "min"),
        "max": _extreme(1, "max"),
        "sum": _sum,
        "isSorted": _is_sorted,
        "compareTo": lambda _, one, other: compare_amounts(one, other, "compareTo"),
        "isGreaterThan": lambda _, one, other: compare_amounts(one, other, "isGreaterThan") > 0,
        "isLessThan": lambda _, one, other: compare_amounts(one, other, "isLessThan") < 0,
        "add": combine_quantities(1),
        "sub": combine_quantities(-1),
        "sign": lambda _, value: (get_amount(value, "sign") > 0) - (get_amount(value, "sign") < 0),
        "asInteger": as_integer,
        "isInteger": is_integer,
        "asApproximateFloat": lambda _, value: float(get_amount(value, "asApproximateFloat")),
        "major": get_part_of_version(0, "major"),
        "minor": get_part_of_version(1, "minor"),
        "patch": get_part_of_version(2, "patch"),
        "hasValue": lambda _, value: _optional(value, "hasValue").has_value,
        "value": _value,
        "orValue": lambda _, one, other: one.value if _optional(one, "orValue").has_value else other,
        "or": lambda _, one, other: one if _optional(one, "or").has_value else _optional(other, "or"),
    }
)
"""Functions that are called on a value (the receiver), by name: `Spend` is the first argument, the value the second."""

SPACED: Mapping[str, Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "sets": MappingProxyType(
            {
                "contains": _set_contains,
                "equivalent": _set_equivalent,
                "intersects": _set_intersects,
            }
        ),
        "optional": MappingProxyType(
            {
                "of": lambda _, value: Optional(value, True),
                "none": lambda _: Optional(),
                "ofNonZeroValue": lambda _, value: Optional(value, True) if value else Optional(),
            }
        ),
    }
)
"""Functions with a namespace such as ``sets``, by namespace, then by name; the first argument of each is `Spend`."""
