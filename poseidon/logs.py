"""Log lines as key=value pairs, for people and for machines.

Values come from objects that anybody may write. So none of them can end its line, its quotes or its pair: control
characters are escaped, and what could be taken for another pair is quoted.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TextIO

_PAIR = re.compile(r'\s([\w.]+)=("[^"]*"|\S*)')
"""A pair in the template of a message: what stands for its value is filled in later."""

_PLACE = re.compile(r"%(?:%|[-#0 +]*\d*(?:\.\d+)?[a-zA-Z])")
_UNSAFE = re.compile(
    r'[\s="\\]|[^\x20-\U0010ffff]|[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]'
)
_UNPRINTABLE = r"\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_ENDS_LINES = re.compile(f"[{_UNPRINTABLE}]")
_ESCAPED = re.compile(rf'["\\{_UNPRINTABLE}]')
_SHORT = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


class KeyValueFormatter(logging.Formatter):
    """Writes key=value pairs.

    ``some words key=value`` becomes ``time=... level=... logger=... msg="some words" key=value``. Which pairs there are
    is for the template of a message to say, and not for what is filled in.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; a traceback follows on lines of its own."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = (
            f"time={time.replace('+00:00', 'Z')} level={record.levelname.lower()} "
            f"logger={record.name.removeprefix('poseidon.')} {' '.join(_parts(record))}"
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _parts(record: logging.LogRecord) -> Iterator[str]:
    """Yield the message and its pairs."""
    template, values = str(record.msg), record.args
    if not isinstance(values, tuple) or not values:
        # Nothing to tell the values apart by: the text is taken as it is, but for what ends lines.
        template, values = record.getMessage().replace("%", "%%"), ()
    left = list(values)
    pairs = list(_PAIR.finditer(template))
    words = template[: pairs[0].start()] if pairs else template
    yield f'msg="{escaped(_filled(words, left))}"'
    for index, pair in enumerate(pairs):
        key, value = pair.groups()
        end = pairs[index + 1].start() if index + 1 < len(pairs) else len(template)
        if value[:1] == '"':
            shown = f'"{escaped(_filled(value[1:-1], left))}"'
        else:
            text = _filled(value, left)
            shown = f'"{escaped(text)}"' if _UNSAFE.search(text) else text
        yield f"{key}={shown}{escaped(_filled(template[pair.end() : end], left))}"


def _filled(template: str, left: list[Any]) -> str:
    """Fill in the first of the values that are left."""
    count = sum(1 for place in _PLACE.findall(template) if place != "%%")
    values, left[:count] = tuple(left[:count]), []
    return template % values


def escaped(text: str) -> str:
    """Return a text that may stand in quotes on one line."""
    return _ESCAPED.sub(_escape, text)


def one_line(text: str) -> str:
    """Return a text with whatever could end its line, or turn it round, escaped."""
    return _ENDS_LINES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    return _SHORT.get(found) or (f"\\x{ord(found):02x}" if ord(found) < 0x100 else f"\\u{ord(found):04x}")


def configure(level: str, stream: TextIO | None = None) -> None:
    """Send the log of this process to ``stream`` (stderr), from ``level`` on; libraries from warnings on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(KeyValueFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("poseidon").setLevel(level.upper())
