"""Repairs JSON that the decoders would refuse: broken characters, huge numbers and values nested too deeply.

One odd object must not make a whole list or watch fail. The API server itself writes no broken characters or huge
numbers, but a proxy may; and the server does store deeply nested values.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from typing import Final

MAX_DEPTH: Final = 100
"""Most levels of lists and maps that are read. Kubernetes' own objects have about twenty."""

TOO_DEEP: Final = b'"(nested too deeply)"'
"""Replacement for a value that is nested too deeply: a string, so that fields for lists and maps refuse it."""

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|-?\d[\d.eE+-]*', re.DOTALL)
_WHOLE = re.compile(rb"-?\d+")
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
_LONE_LENGTH = 6
_LONG = 4
"""Numbers with fewer characters than this can always be read."""

_LARGEST = b"9223372036854775807"
_LARGEST_FLOAT = repr(sys.float_info.max).encode()


def readable(raw: bytes) -> bytes:
    r"""Return JSON in a form that can be decoded; unreadable parts are replaced or cut.

    Invalid UTF-8 and escapes that are half a pair (``\ud800``) become U+FFFD, as in Go's decoder; values deeper than
    ``MAX_DEPTH`` become ``TOO_DEEP``; whole numbers of more than 64 bits become the largest 64-bit number, other huge
    numbers the largest float. Text that is not JSON stays unchanged.
    """
    text = repair_characters(raw.decode("utf-8", "replace").encode())
    parts, kept = [], 0
    for begin, end, instead in _cuts(text):
        parts += [text[kept:begin], instead]
        kept = end
    return b"".join((*parts, text[kept:])) if parts else text


def repair_characters(text: bytes) -> bytes:
    """Replace escapes that are half a surrogate pair by U+FFFD, because they could not be written again."""
    return _ESCAPES.sub(_whole_character, text) if _HALVES.search(text) else text


def _whole_character(match: re.Match[bytes]) -> bytes:
    found = match.group()
    is_lone = len(found) == _LONE_LENGTH and found[2:3] in b"dD" and found[3:4] in b"89abcdefABCDEF"
    return b"\\ufffd" if is_lone else found


def _cuts(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the begin and end of unreadable values, with their replacements."""
    depth, begin = 0, 0
    for token in _TOKENS.finditer(text):
        found = token.group()
        if found in b"[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                begin = token.start()
        elif found in b"]}":
            if depth == MAX_DEPTH + 1:
                yield begin, token.end(), TOO_DEEP
            depth -= 1
        elif found[:1] != b'"' and depth <= MAX_DEPTH and len(found) >= _LONG:
            yield token.start(), token.end(), _clamp(found)


def _clamp(number: bytes) -> bytes:
    """Return a number that can be decoded; other text is returned unchanged."""
    sign = b"-" if number[:1] == b"-" else b""
    if _WHOLE.fullmatch(number):
        digits = number.lstrip(b"-")
        is_large = len(digits) > len(_LARGEST) or (len(digits) == len(_LARGEST) and digits > _LARGEST)
        return sign + _LARGEST if is_large else number
    try:
        return number if math.isfinite(float(number)) else sign + _LARGEST_FLOAT
    except ValueError:
        return number
