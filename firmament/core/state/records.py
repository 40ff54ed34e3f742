"""Keeps the typed records that models read, by kind and name: their faults, and when they came and went."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class RecordTable(Collection[tuple[str, str]]):
    """The records of a cluster, by kind and name.

    ``payloads``: the contents of records; empty if nobody can read the record (see ``payload_fault``), so that no
    reader fails because of it. ``arrival_numbers``: by kind and name, as in ``tasks.arrival_number``.
    ``changes``: by kind, how often records came or went. ``removals``: by kind, how often they went. ``faults``: what
    is wrong with each unreadable record.
    """

    def __init__(self, most_bytes: int, read_kinds: frozenset[str]) -> None:
        """``read_kinds``: the kinds of records that models or rules read."""
        self._most_bytes = most_bytes
        self._read_kinds = read_kinds
        self.faults: dict[tuple[str, str], str] = {}
        self.payloads: dict[str, dict[str, bytes]] = {}
        self.arrival_numbers: dict[str, dict[str, int]] = {}
        self.changes: Counter[str] = Counter()
        self._read: dict[tuple[str, ...], tuple[tuple[int, ...], Any]] = {}
        self.removals: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self.payloads.values()))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((kind, name) for kind, names in self.payloads.items() for name in names)

    def __contains__(self, key: object) -> bool:
        """Return whether there is a record of this kind and name."""
        return isinstance(key, tuple) and key[1] in self.payloads.get(key[0], {})

    def keep(self, kind: str, name: str, payload: bytes, arrival_number: int) -> None:
        """Store a record with the arrival number ``arrival_number``; it replaces the former record of the same name."""
        fault = payload_fault(payload, self._most_bytes) if kind in self._read_kinds else ""
        self.faults.pop((kind, name), None)
        if fault:
            self.faults[kind, name] = fault
        sound = not fault and len(payload) <= self._most_bytes
        self.payloads.setdefault(kind, {})[name] = payload if sound else b""
        self.arrival_numbers.setdefault(kind, {})[name] = arrival_number
        self.changes[kind] += 1

    def read(self, kinds: tuple[str, ...], reader: Callable[[T | None], T]) -> T:
        """Return the result of ``reader`` for records of these kinds; it is called again only after they change.

        ``reader`` gets its last result, from which it may take what has not changed; None at first.
        """
        version = tuple(self.changes[kind] for kind in kinds)
        known = self._read.get(kinds)
        if known is None or known[0] != version:
            known = self._read[kinds] = version, reader(known[1] if known else None)
        found: T = known[1]
        return found

    def notes(self) -> Iterator[str]:
        """Yield which records cannot be read, and why."""
        for (kind, name), fault in self.faults.items():
            yield f"record {kind} {name[:80]!r}: the payload {fault}; it counts as one that says nothing"

    def drop(self, kind: str, name: str) -> None:
        """Forget a record, if it is known."""
        if (kind, name) not in self:
            return
        self.faults.pop((kind, name), None)
        del self.payloads[kind][name], self.arrival_numbers[kind][name]
        self.changes[kind] += 1
        self.removals[kind] += 1


# --- Payloads of records as they arrive: whether they can be read at all.


DEEPEST = 64
"""The most levels of nested objects and lists. Records that models read have a handful of levels; some thousand would
exhaust the stack."""


def payload_fault(payload: bytes, most_bytes: int) -> str:
    """Return why a payload must not be passed to readers of records; "" if it may be.

    A payload passes if it is JSON of at most ``most_bytes``, nested at most ``DEEPEST`` levels, with finite numbers
    and texts that can be encoded. Each model itself checks whether a payload has the content that the model expects.
    """
    if len(payload) > most_bytes:
        return f"has {len(payload)} bytes, more than limits.recordBytes ({most_bytes})"
    try:
        document = json.loads(payload, parse_constant=_finite, parse_float=_finite)
        if b"\\u" in payload:
            json.dumps(document, ensure_ascii=False).encode()
    except RecursionError:
        return f"is nested deeper than {DEEPEST} levels"
    except UnicodeEncodeError:
        return "holds half of a surrogate pair"
    except ValueError as error:
        return f"is not valid JSON ({str(error)[:100]})"
    if payload.count(b"{") + payload.count(b"[") > DEEPEST and _is_deep(document):
        return f"is nested deeper than {DEEPEST} levels"
    return ""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a number that can be reckoned with")
    return number


def _is_deep(document: Any) -> bool:
    """Return whether there are more than ``DEEPEST`` levels, checked level by level."""
    level = [document]
    for _ in range(DEEPEST + 1):
        level = [
            entry
            for each in level
            if isinstance(each, (dict, list))
            for entry in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


MOST_KEPT = 10_000
"""How many notes are remembered; in an endless stream of different notes, some may be repeated."""


class Notes:
    """Remembers which notes on bad input (in records and elsewhere) were reported already."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._made: set[str] = set()
        self._most = most

    def new(self, remarks: Iterable[str]) -> tuple[str, ...]:
        """Return the notes that have not been made before, in order, and remember them."""
        fresh = tuple(dict.fromkeys(remark for remark in remarks if remark not in self._made))
        if len(self._made) + len(fresh) > self._most:
            self._made.clear()
        self._made.update(fresh[: self._most])
        return fresh
