"""Kubernetes quantities in annotations and arguments, as whole numbers of milli-cores, bytes or counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

LARGEST = 2**53
"""Larger amounts are mistakes."""

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)")

_SUFFIX: Mapping[str, Fraction] = MappingProxyType(
    {
        "": Fraction(1),
        **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", start=1)},
        **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
        **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
    }
)


def whole_amount(resource: str, value: object) -> int | None:
    """Return a quantity (text or number) in the unit of its resource, rounded up; None if it is none.

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
