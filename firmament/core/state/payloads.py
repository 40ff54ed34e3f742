"""Payloads of records as they arrive: whether anybody can read them at all."""

from __future__ import annotations

import json
import math
from typing import Any

DEEPEST = 64
"""Objects and lists within each other. What models read has a handful of levels; some thousand exhaust the stack."""


def payload_fault(payload: bytes, most_bytes: int) -> str:
    """Say why a payload must not reach those who read records, or return "".

    What passes is JSON of at most ``most_bytes``, not deeper than ``DEEPEST``, all of whose numbers are finite and
    whose texts can be written down. Whether it says what a model expects is for that model.
    """
    if len(payload) > most_bytes:
        return f"has {len(payload)} bytes, more than limits.recordBytes ({most_bytes})"
    try:
        document = json.loads(payload, parse_constant=_finite, parse_float=_finite)
        if b"\\u" in payload:
            json.dumps(document, ensure_ascii=False).encode()
    except RecursionError:
        return f"is nested deeper than {DEEPEST} levels"
    except UnicodeEncodeError:
        return "holds half of a surrogate pair"
    except ValueError as error:
        return f"is not valid JSON ({str(error)[:100]})"
    if payload.count(b"{") + payload.count(b"[") > DEEPEST and _is_deep(document):
        return f"is nested deeper than {DEEPEST} levels"
    return ""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a number that can be reckoned with")
    return number


def _is_deep(document: Any) -> bool:
    """Whether there are more than ``DEEPEST`` levels, looked at level by level."""
    level = [document]
    for _ in range(DEEPEST + 1):
        level = [
            entry
            for each in level
            if isinstance(each, (dict, list))
            for entry in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True
