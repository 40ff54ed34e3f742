"""Records of one kind as they were parsed: only what has changed is parsed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class ParsedRecords(Generic[T]):
    """What payloads say, by the record's name. ``faults``: of those that cannot be read."""

    def __init__(self, parse: Callable[[bytes], T], error: type[ValueError]) -> None:
        """``parse`` raises ``error`` for a payload that cannot be read; whatever else it raises counts as that, too."""
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
                except Exception as error:  # noqa: BLE001 - one bad record must not keep the others from being read
                    self.faults[name] = f"{type(error).__name__}: {error}"

    def _forget(self, name: str) -> None:
        for known in (self._payloads, self.good, self.faults):
            known.pop(name, None)
