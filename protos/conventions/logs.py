"""Formats log lines as key=value pairs or as JSON, in the same way for both programs.

Values come from objects that anybody may write. So none of them can end its line, its quotes or its pair: control
characters are escaped, and what could be taken for another pair is quoted.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TextIO, TypeVar

import click

from protos.conventions.secrets import redact_credentials

LEVELS = ("debug", "info", "warning", "error")

Command = TypeVar("Command", bound=Callable[..., Any])

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


class TextFormatter(logging.Formatter):
    """Writes key=value pairs.

    ``some words key=value`` becomes ``time=... level=... logger=... msg="some words" key=value``. Which pairs there are
    is for the template of a message to say, and not for what is filled in.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; a traceback follows on lines of its own."""
        words, pairs = _parts(record)
        shown = "".join(f" {key}={_quote(text, always=always)}" for key, text, always in pairs)
        line = (
            f"time={_time(record)} level={record.levelname.lower()} "
            f'logger={_logger(record)} msg="{escape(words)}"{shown}'
        )
        return (
            f"{line}\n{redact_credentials(self.formatException(record.exc_info))}"
            if record.exc_info
            else line
        )


class JsonFormatter(logging.Formatter):
    """Writes one JSON object per line, with the pairs of the template as members; a traceback is ``traceback``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        words, pairs = _parts(record)
        said = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": _logger(record),
            "msg": words,
        }
        members = {key: text for key, text, _ in pairs if key not in said}
        if record.exc_info:
            members["traceback"] = redact_credentials(self.formatException(record.exc_info))
        return json.dumps(said | members)


FORMATTERS: Mapping[str, type[logging.Formatter]] = MappingProxyType(
    {"text": TextFormatter, "json": JsonFormatter}
)
"""How lines can be written, by name."""


def _time(record: logging.LogRecord) -> str:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return time.replace("+00:00", "Z")


def _logger(record: logging.LogRecord) -> str:
    return record.name.removeprefix("poseidon.").removeprefix("firmament.")


def _quote(text: str, *, always: bool) -> str:
    return f'"{escape(text)}"' if always or _UNSAFE.search(text) else text


def _parts(record: logging.LogRecord) -> tuple[str, list[tuple[str, str, bool]]]:
    """Return the words of a message, and its pairs: key, value, and whether the template quotes the value.

    Credentials of URLs are removed.
    """
    template, values = str(record.msg), record.args
    if not isinstance(values, tuple) or not values:
        # Without arguments, the whole message is the template.
        template, values = record.getMessage().replace("%", "%%"), ()
    left = list(values)
    found = list(_PAIR.finditer(template))
    words = _fill_template(template[: found[0].start()] if found else template, left)
    pairs = []
    for index, pair in enumerate(found):
        key, value = pair.groups()
        end = found[index + 1].start() if index + 1 < len(found) else len(template)
        quoted = value[:1] == '"'
        text = _fill_template(value[1:-1] if quoted else value, left) + _fill_template(
            template[pair.end() : end], left
        )
        pairs.append((key, redact_credentials(text), quoted))
    return redact_credentials(words), pairs


def _fill_template(template: str, left: list[Any]) -> str:
    """Return the template with its values, which are removed from the front of ``left``."""
    count = sum(1 for place in _PLACE.findall(template) if place != "%%")
    values, left[:count] = tuple(left[:count]), []
    return template % values


def escape(text: str) -> str:
    """Return a text escaped so that it may be in quotes on one line."""
    return _ESCAPED.sub(_escape, text)


def one_line(text: str) -> str:
    """Return a text with the characters escaped that could end its line or change its direction."""
    return _ENDS_LINES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    found = match.group()
    return _SHORT.get(found) or (f"\\x{ord(found):02x}" if ord(found) < 0x100 else f"\\u{ord(found):04x}")


def configure(level: str, form: str = "text", stream: TextIO | None = None) -> None:
    """Send the log of this process to ``stream`` (default: stderr) in a form (see ``FORMATTERS``).

    ``level``: the lowest level that is logged, one of ``LEVELS``; for libraries it is WARNING.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(FORMATTERS[form]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for package in ("poseidon", "firmament"):
        logging.getLogger(package).setLevel(level.upper())


def logging_options(debug: str = "") -> Callable[[Command], Command]:
    """Return a decorator that adds ``--log-level`` and ``--log-format``; ``debug``: help on what ``debug`` logs."""

    def decorate(command: Command) -> Command:
        level = click.option(
            "--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help=debug
        )
        form = click.option(
            "--log-format",
            type=click.Choice(tuple(FORMATTERS)),
            default="text",
            show_default=True,
            help="text writes key=value pairs, json one object per line.",
        )
        return level(form(command))

    return decorate
