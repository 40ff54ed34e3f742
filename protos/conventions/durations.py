"""Reads durations, such as 20ms or 1m30s, in the configuration file and in options."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from pydantic import WithJsonSchema

_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|us|s|m|h))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|s|m|h)")
_UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(value: object) -> float:
    """Return seconds from a number of seconds or a string such as ``20ms``, ``1.5s`` or ``1m30s``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with suppress(OverflowError):  # an integer with hundreds of digits
            return float(value)
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION_PART.findall(value))
    raise ValueError(
        f"{value!r} is not a duration; write seconds (0.5) or a number with a unit (20ms, 1m30s)"
    )


def duration_schema(*, or_null: bool = False, **bounds: float) -> WithJsonSchema:
    """Return the JSON Schema of a duration; ``bounds``: of its seconds, by JSON Schema's keywords.

    The schema does not check the bounds of a duration that is text; the programs do. ``or_null``: null is allowed.
    """
    kinds: list[dict[str, Any]] = [{"type": "number", **bounds}]
    kinds.append({"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|us|s|m|h))+$"})
    return WithJsonSchema({"anyOf": [*kinds, {"type": "null"}] if or_null else kinds})
