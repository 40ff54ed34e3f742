"""Durations as Go writes them: ``5m0s``, ``1h30m``, ``1.5s``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_DURATION = re.compile(r"\+?(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+")
_PART = re.compile(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)")
_SECONDS: Mapping[str, float] = MappingProxyType(
    {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
)


def seconds_of(text: object) -> float | None:
    """Return the seconds of a duration that is not negative; None if it is none."""
    if not isinstance(text, str):
        return None
    if text == "0":
        return 0.0
    if _DURATION.fullmatch(text) is None:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
