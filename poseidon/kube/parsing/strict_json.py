"""Reads JSON from annotations and ConfigMaps, and refuses JSON that could not be written again.

Python's own reader accepts more than JSON: NaN, infinity, lone surrogates, and values nested so deeply that recursion
overflows the stack. This reader refuses NaN, infinity, lone surrogates and values nested too deeply, with a message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

MAX_LENGTH: Final = 2**20
"""Longest text in characters; the API server accepts no larger ConfigMap."""

MAX_DEPTH: Final = 64
"""Deepest nesting of lists and maps."""

MAX_DIGITS: Final = 400
"""Most digits of a whole number. JSON readers other than Python's cannot represent longer numbers."""

_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)

Pairs = Callable[[list[tuple[str, Any]]], Any]


def compact(value: Any) -> bytes:
    """Return compact JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class JsonError(ValueError):
    """The text was refused. The message says why, and continues a sentence that begins with the field's name."""


def loads(text: str, pairs: Pairs | None = None) -> Any:
    """Parse JSON text; ``pairs``, if given, builds each map from its entries. Raises ``JsonError``."""
    if len(text) > MAX_LENGTH:
        raise JsonError(f"has {len(text)} characters; write at most {MAX_LENGTH}")
    if _depth(text) > MAX_DEPTH:
        raise JsonError("is nested too deeply; make it flatter")
    try:
        value = json.loads(
            text, object_pairs_hook=pairs, parse_constant=_no_number, parse_float=_float, parse_int=_int
        )
    except json.JSONDecodeError as error:
        raise JsonError(f"is not JSON: {error}; correct it") from None
    if "\\u" in text or not text.isascii():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise JsonError("has half a character (a lone surrogate); correct it") from None
    return value


def _depth(text: str) -> int:
    depth = deepest = 0
    for found in _TOKENS.findall(text):
        if found in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif found in "]}":
            depth -= 1
    return deepest


def _no_number(text: str) -> NoReturn:
    raise JsonError(f"is not JSON: {text} is no number there; correct it")


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise JsonError(f"has a number of {len(text)} digits; write a shorter one")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise JsonError(f"has a number that is too large, {text[:40]}; write a smaller one")
    return value
