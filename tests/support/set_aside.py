"""Tells whether anything was set aside while a test ran: an object that could not be dealt with."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from poseidon.kube import quarantine

_LOGGER = logging.getLogger(quarantine.__name__)  # by the module, so that it is followed wherever it moves


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def nothing_set_aside() -> Iterator[None]:
    """Fail at the end if a quarantine of this process has set anything aside meanwhile."""
    kept = _Kept()
    _LOGGER.addHandler(kept)
    try:
        yield
    finally:
        _LOGGER.removeHandler(kept)
    found = "\n".join(kept.lines)
    assert not found, f"something was set aside, which no test expects that does not say so:\n{found}"
