"""Names in the order that people expect: ``worker-2`` before ``worker-10``."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[tuple[str, int, str, str], ...]:
    """Return what names sort by: runs of digits as numbers, the rest as text."""
    parts = _DIGITS.split(name)
    texts, numbers = parts[::2], [*parts[1::2], ""]
    # Of two numbers without leading zeros the longer one is larger.
    return tuple(
        (text, len(number.lstrip("0")) if number else -1, number.lstrip("0"), number)
        for text, number in zip(texts, numbers, strict=True)
    )
