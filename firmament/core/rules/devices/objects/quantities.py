"""Computes exactly with Kubernetes' quantities: capacities and counters of devices, and what claims take of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

Amount: TypeAlias = int | Fraction
"""An exact amount; whole amounts, which nearly all are, are integers."""

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)")

_FACTORS: Mapping[str, Fraction] = MappingProxyType(
    {
        "": Fraction(1),
        **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", start=1)},
        **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
        **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", start=1)},
    }
)
LONGEST = 100
"""The most characters of a quantity; quantities that the API writes have about twenty."""


def parse_quantity(value: object) -> Amount | None:
    """Return the amount that a text or a number states; None if it states none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value)
    found = _QUANTITY.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    exact = Fraction(number) * (Fraction(10) ** int(exponent) if exponent else _FACTORS[suffix or ""])
    return simplify(exact)


def simplify(amount: Amount) -> Amount:
    """Return an amount as an integer if it is whole, else unchanged."""
    return amount if isinstance(amount, int) or amount.denominator != 1 else amount.numerator


def format_quantity(amount: Amount) -> str:
    """Return an amount as Kubernetes writes it.

    The amount gets the largest binary suffix that divides it, or no suffix.
    """
    if not isinstance(amount, int):
        for suffix in "mun":
            scaled = amount / _FACTORS[suffix]
            if scaled.denominator == 1:
                return f"{scaled.numerator}{suffix}"
        return f"{-(-amount // _FACTORS['n'])}n"
    suffix = ""
    for larger in ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"):
        if not amount or amount % _FACTORS[larger].numerator:
            break
        suffix = larger
    return f"{amount // _FACTORS[suffix].numerator}{suffix}"
