"""Parses Kubernetes quantities into exact integers.

The grammar is that of ``k8s.io/apimachinery/pkg/api/resource``: a signed decimal number and a suffix, which is a
decimal SI letter (n u m k M G T P E), a binary one (Ki .. Ei) or an exponent (``e3``, ``E-2``). Fractions of the wanted
unit round away from zero, as in ``Quantity.Value()`` and ``Quantity.MilliValue()``. A node's amounts round down, so
that a node never offers more than it has.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_AMOUNT = 2**53
"""Largest accepted amount; above it, sums over a machine could exceed 64 bits."""

_MAX_LENGTH = 64
_MAX_POWER = 100

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>\d+)(?:\.(?P<fraction>\d*))?|\.(?P<bare_fraction>\d+))"
    r"(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE](?P<exponent>[+-]?\d+))?",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


class QuantityError(ValueError):
    """The text is not a quantity, or is one that no machine can have. The message is for people."""


class AbsurdQuantityError(QuantityError):
    """A quantity of more than ``MAX_AMOUNT``, or less than its negative."""


def amount(resource: str, value: str | float, *, down: bool = False) -> int:
    """Return ``value`` in the protocol's unit for ``resource``: milli-cores for cpu, else whole units.

    More than ``MAX_AMOUNT`` (`1E` of memory, `10Pi` of storage) counts as ``MAX_AMOUNT``: the API server accepts it,
    and people write it for "without limit". ``down``: round fractions of the unit down. Raises ``QuantityError`` if the
    value is not a quantity, or is negative.
    """
    try:
        found = _scale(_text(value), 3 if resource == "cpu" else 0, down=down)
    except AbsurdQuantityError:
        if value.startswith("-") if isinstance(value, str) else value < 0:
            raise
        return MAX_AMOUNT
    if found < 0:
        raise QuantityError(f"{value!r} is negative; give an amount of 0 or more")
    return found


def whole_units(value: str | float) -> int:
    """Return the quantity rounded away from zero to an integer; raises ``QuantityError``."""
    return _scale(_text(value), 0)


def milli_units(value: str | float) -> int:
    """Return a thousand times the quantity rounded away from zero to an integer; raises ``QuantityError``."""
    return _scale(_text(value), 3)


def _text(value: str | float) -> str:
    """Convert a number to the text that JSON would contain; refuse a bool, which Python counts as an int."""
    if isinstance(value, bool):
        raise QuantityError(f"{str(value).lower()} is not a quantity; write a number such as 500m or 2Gi")
    if isinstance(value, int):
        # Formatting a huge integer is slow, and refused by Python beyond 4,300 digits.
        if abs(value) > MAX_AMOUNT:
            raise AbsurdQuantityError("the number is absurdly large; the largest amount is 2^53")
        return str(value)
    return value if isinstance(value, str) else repr(value)


@lru_cache(maxsize=16_384)
def _scale(text: str, decimals: int, *, down: bool = False) -> int:
    """Parse ``text`` and multiply it by ``10**decimals``; round away from zero, or towards zero if ``down``."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        shown = text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"
        raise QuantityError(
            f"{shown!r} is not a quantity; write a number with an optional unit, such as 2, 500m or 2Gi"
        )
    fraction = match["fraction"] or match["bare_fraction"] or ""
    mantissa = int((match["whole"] or "") + fraction)
    suffix = match["suffix"] or ""
    exponent = decimals - len(fraction)
    if match["exponent"] is not None:
        exponent += int(match["exponent"])
    elif suffix in _DECIMAL:
        exponent += _DECIMAL[suffix]
    else:
        mantissa <<= _BINARY[suffix]
    found = _times_power_of_ten(mantissa, exponent, down=down)
    if found > MAX_AMOUNT:
        raise AbsurdQuantityError(f"{text!r} is absurdly large; the largest amount is 2^53")
    return -found if match["sign"] == "-" else found


def _times_power_of_ten(mantissa: int, exponent: int, *, down: bool) -> int:
    """Return ``mantissa * 10**exponent`` rounded up or ``down``, without building huge numbers."""
    if mantissa == 0:
        return 0
    # A mantissa has at most 64 digits and 60 bits of suffix. Beyond these bounds of the exponent, the result is far
    # too large, or almost 0.
    power: int = 10 ** min(abs(exponent), _MAX_POWER)
    if exponent >= 0:
        return mantissa * power
    return mantissa // power if down else -(-mantissa // power)
