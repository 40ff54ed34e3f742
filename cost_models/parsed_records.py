"""Records of one kind as they were parsed: only what has changed is parsed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class ParsedRecords(Generic[T]):
    """What payloads say, by the record's name. ``faults``: of those that cannot be read."""

    def __init__(self, parse: Callable[[bytes], T], error: type[ValueError]) -> None:
        """``parse`` raises ``error`` for a payload that cannot be read."""
        self._parse = parse
        self._error = error
        self._payloads: dict[str, bytes] = {}
        self.good: dict[str, T] = {}
        self.faults: dict[str, str] = {}

    def read(self, payloads: Mapping[str, bytes]) -> None:
        """Bring everything in line with ``payloads``; what has not changed is not parsed again."""
        for name in self._payloads.keys() - payloads.keys():
            self._forget(name)
        for name, payload in payloads.items():
            if self._payloads.get(name) != payload:
                self._forget(name)
                self._payloads[name] = payload
                try:
                    self.good[name] = self._parse(payload)
                except self._error as error:
                    self.faults[name] = str(error)

    def _forget(self, name: str) -> None:
        for known in (self._payloads, self.good, self.faults):
            known.pop(name, None)
