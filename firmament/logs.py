"""Logging set-up: one line per message on standard error, ``key=value`` pairs after a short text."""

from __future__ import annotations

import logging
import re
import sys
import time
from typing import TextIO

LEVELS = ("debug", "info", "warning", "error")

_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]')


class _Shown:
    """A value in a message: whatever it is, it ends neither its line nor its quotes."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __str__(self) -> str:
        return _ESCAPED.sub(lambda match: _escape(match.group()), str(self._value))

    def __repr__(self) -> str:
        return repr(self._value)


class OneLineFormatter(logging.Formatter):
    """Escapes what is filled into messages: names come from whoever connects."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; a traceback follows on lines of its own."""
        if isinstance(record.args, tuple):
            shown = logging.makeLogRecord(record.__dict__)
            shown.args = tuple(
                each if isinstance(each, int | float) else _Shown(each) for each in record.args
            )
            record = shown
        return super().format(record)


def set_up_logging(level: str, stream: TextIO | None = None) -> None:
    """Log messages of ``level`` (one of ``LEVELS``) and above, with UTC times, to ``stream`` (stderr)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(OneLineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
