"""Log lines as key=value pairs, for people and for machines."""

from __future__ import annotations

import logging
import re
import sys
from datetime import UTC, datetime
from typing import TextIO

_PAIRS = re.compile(r"\s(?=[\w.]+=)")


class KeyValueFormatter(logging.Formatter):
    """Writes key=value pairs.

    ``some words key=value`` becomes ``time=... level=... logger=... msg="some words" key=value``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; a traceback follows on lines of its own."""
        text = record.getMessage()
        found = _PAIRS.search(text)
        words, pairs = (text[: found.start()], text[found.start() :]) if found else (text, "")
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = (
            f"time={time.replace('+00:00', 'Z')} level={record.levelname.lower()} "
            f'logger={record.name.removeprefix("poseidon.")} msg="{words}"{pairs}'
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure(level: str, stream: TextIO | None = None) -> None:
    """Send the log of this process to ``stream`` (stderr), from ``level`` on; libraries from warnings on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(KeyValueFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("poseidon").setLevel(level.upper())
