"""Parses amounts in use and durations in the forms that metrics APIs use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from poseidon.kube.parsing.quantities import MAX_AMOUNT, QuantityError, amount
from poseidon.metrics_sources.intake import Fault
from poseidon.metrics_sources.readings import Amounts

_NANO = 1_000_000
"""The number of nano-cores per milli-core."""

_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_LONGEST_DURATION = 100
_LARGEST_DURATION = 2**63 / 1e9
_UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def amounts_in_use(given: Mapping[str, Any], field: str, faults: list[Fault]) -> Amounts:
    """Return a map of quantities as integers: milli-cores for cpu, whole units for other resources, rounded up.

    Entries that are no quantity, negative or without the name of a resource are left out and added to ``faults``.
    """
    found: Amounts = {}
    for resource, value in given.items():
        if not resource:
            faults.append(Fault("quantity", field, "a resource without a name; it is left out"))
            continue
        known = _parse_usual_form(resource, value)
        if known is None:
            try:
                known = amount(resource, _prepare_quantity(value))
            except QuantityError as error:
                kind = "negative" if "is negative" in str(error) else "quantity"
                faults.append(Fault(kind, f"{field}.{resource}", f"{error}; it is left out"))
                continue
        found[resource] = known
    return found


def _parse_usual_form(resource: str, value: Any) -> int | None:
    """Return the amount of a text such as ``123n``, ``45m``, ``67Ki`` or ``89``, None for other forms.

    Kubelets and koordlet write these forms. The general parser has a cache, which does not help because readings rarely
    repeat; this parser is several times as fast.
    """
    # Amounts of up to fifteen digits are within bounds; with Ki, up to twelve digits are.
    if type(value) is not str or len(value) > 15 or not value.isascii():
        return None
    if value.isdigit():
        return None if resource == "cpu" else int(value)
    digits, unit = (value[:-2], "Ki") if value.endswith("Ki") else (value[:-1], value[-1:])
    if not digits.isdigit():
        return None
    if resource == "cpu":
        return -(-int(digits) // _NANO) if unit == "n" else int(digits) if unit == "m" else None
    return int(digits) << 10 if unit == "Ki" and len(digits) <= 12 else None


def _prepare_quantity(value: Any) -> str | float:
    """Return a value that may be a quantity; for a value of another type, return a text that is no quantity."""
    if isinstance(value, list | dict):
        return "a map" if isinstance(value, dict) else "a list"
    return value if isinstance(value, str | int | float) else repr(value)


def add_amounts(total: Amounts, more: Amounts) -> None:
    """Add ``more`` to ``total``, at most up to the largest amount."""
    for resource, used in more.items():
        total[resource] = min(total.get(resource, 0) + used, MAX_AMOUNT)


def parse_go_duration(text: str) -> float | None:
    """Return the seconds of a duration as Go writes it ("5m0s"), None for other texts; "" is 0.

    Returns None also for a duration above 292 years, which Go cannot represent.
    """
    if text in ("", "0"):
        return 0.0
    parts = _DURATION_PART.findall(text) if len(text) <= _LONGEST_DURATION else []
    if "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)
    return seconds if seconds <= _LARGEST_DURATION else None
