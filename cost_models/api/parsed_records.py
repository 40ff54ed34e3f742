"""Reads and checks the JSON payloads of records; payloads that have not changed are not parsed again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class BadRecordError(ValueError):
    """A payload that cannot be used; the message says which field and why."""


def parse_object(payload: bytes) -> dict[str, Any]:
    """Return the JSON object in a payload; raises ``BadRecordError``."""
    try:
        entry = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadRecordError("the payload is not valid JSON") from error
    if not isinstance(entry, dict):
        raise BadRecordError("the payload is not a JSON object")
    return entry


def check_whole(where: str, value: object, least: int, most: int) -> int:
    """Return a whole number within bounds; raises ``BadRecordError``, which begins with ``where``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadRecordError(f"{where} is not a whole number from {least} to {most}")
    return value


def check_number(where: str, value: object, least: float, most: float) -> float:
    """Return a number within bounds; raises ``BadRecordError``, which begins with ``where``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise BadRecordError(f"{where} is not a number from {least:g} to {most:g}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """The parsed contents of payloads, by the record's name; ``faults``: the reasons why others cannot be
    read, by name.
    """

    payloads: Mapping[str, bytes] = field(default_factory=dict)
    good: Mapping[str, T] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)


class RecordParser(Generic[T]):
    """Parses payloads, and keeps the results, since few records change from round to round.

    The result depends on the payloads alone: equal payloads give equal results, whatever was read before. Safe to share
    between threads: what is kept is replaced as a whole.
    """

    def __init__(self, parse: Callable[[bytes], T]) -> None:
        """Take the function that parses a payload.

        The function must raise ``BadRecordError`` for a bad payload; other errors count as this one.
        """
        self._parse = parse
        self._last: Parsed[T] = Parsed()

    def read(self, payloads: Mapping[str, bytes]) -> Parsed[T]:
        """Return the parsed contents of all payloads: the same object as before if no payload has changed."""
        last = self._last
        if payloads == last.payloads:
            return last
        good: dict[str, T] = {}
        faults: dict[str, str] = {}
        for name, payload in payloads.items():
            if last.payloads.get(name) != payload:
                try:
                    good[name] = self._parse(payload)
                except BadRecordError as error:
                    faults[name] = str(error)
                except Exception as error:  # noqa: BLE001 - one bad record must not keep the others from being read
                    faults[name] = f"{type(error).__name__}: {error}"
            elif name in last.good:
                good[name] = last.good[name]
            else:
                faults[name] = last.faults[name]
        self._last = last = Parsed(dict(payloads), good, faults)
        return last
