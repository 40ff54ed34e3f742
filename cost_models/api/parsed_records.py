"""Reads the payloads of records, which are JSON: checked, and only what has changed anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class BadRecordError(ValueError):
    """A payload that cannot be used; the message says which field and why."""


def json_object(payload: bytes) -> dict[str, Any]:
    """Return the JSON object that a payload is; raises ``BadRecordError``."""
    try:
        entry = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadRecordError("the payload is not valid JSON") from error
    if not isinstance(entry, dict):
        raise BadRecordError("the payload is not a JSON object")
    return entry


def whole(where: str, value: object, least: int, most: int) -> int:
    """Return a whole number within bounds; raises ``BadRecordError``, which begins with ``where``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadRecordError(f"{where} is not a whole number from {least} to {most}")
    return value


class ParsedRecords(Generic[T]):
    """What payloads say, by the record's name. ``faults``: of those that cannot be read."""

    def __init__(self, parse: Callable[[bytes], T]) -> None:
        """``parse`` raises ``BadRecordError`` for a payload that cannot be read; all else it raises counts as that."""
        self._parse = parse
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
                except BadRecordError as error:
                    self.faults[name] = str(error)
                except Exception as error:  # noqa: BLE001 - one bad record must not keep the others from being read
                    self.faults[name] = f"{type(error).__name__}: {error}"

    def _forget(self, name: str) -> None:
        for known in (self._payloads, self.good, self.faults):
            known.pop(name, None)
