"""Amounts and durations in annotations and arguments, as Kubernetes and Go write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

LARGEST = 2**53
"""Larger amounts are mistakes."""

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)")

_SUFFIX: Mapping[str, Fraction] = {
    "": Fraction(1),
    **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", start=1)},
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
}


def whole_amount(resource: str, value: object) -> int | None:
    """Return a quantity (text or number) in the unit of its resource, rounded up; None if it is no quantity.

    Milli-cores for cpu, else whole units. Negative and absurdly large amounts are none.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    exact = Fraction(number) * (Fraction(10) ** int(exponent) if exponent else _SUFFIX[suffix or ""])
    amount = math.ceil(exact * 1000 if resource == "cpu" else exact)
    return amount if 0 <= amount <= LARGEST else None


# --- Durations as Go writes them: ``5m0s``, ``1h30m``, ``1.5s``.


_DURATION = re.compile(r"\+?(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+")
_PART = re.compile(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)")
_SECONDS: Mapping[str, float] = MappingProxyType(
    {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
)


def seconds_of(text: object) -> float | None:
    """Return a duration in seconds; None if the text is no duration, or it is negative."""
    if not isinstance(text, str):
        return None
    if text == "0":
        return 0.0
    if _DURATION.fullmatch(text) is None:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
