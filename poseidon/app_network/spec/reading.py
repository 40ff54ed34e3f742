"""Reads the fields of an object given as plain JSON values, and collects every defect with its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from poseidon.kube.parsing.defects import Defect, shorten
from poseidon.kube.parsing.quantities import QuantityError, amount

Object = Mapping[str, Any]

LARGEST_COUNT = 2**31 - 1
"""The largest number that is accepted, so that sums over all pods fit into 64 bits."""

_NOTHING: Object = {}


class Reader:
    """A reader of an object's fields, which collects ``defects``; null counts as missing, as in the API server."""

    def __init__(self) -> None:
        self.defects: list[Defect] = []

    def note(self, path: str, problem: str) -> None:
        """Add a defect of the object's field ``path``; ``problem`` says what is wrong with it."""
        self.defects.append(Defect(path, problem))

    def mapping(self, value: Any, path: str, *, needed: bool = False) -> Object:
        """Return ``value`` if a map, else an empty map; another type, or a missing ``needed`` map, is a defect."""
        if isinstance(value, Mapping):
            return value
        if value is not None:
            self.note(path, "is not a map; write key: value pairs")
        elif needed:
            self.note(path, "missing; add it")
        return _NOTHING

    def items(self, value: Any, path: str) -> Iterator[tuple[Object, str]]:
        """Yield the maps in a list, each with its path; add a defect for anything else."""
        if value is None:
            return
        if not isinstance(value, list | tuple):
            self.note(path, "is not a list; write a list of maps")
            return
        for index, each in enumerate(value):
            where = f"{path}[{index}]"
            if isinstance(each, Mapping):
                yield each, where
            else:
                self.note(where, "is not a map; write key: value pairs")

    def text(self, parent: Object, key: str, path: str, *, needed: bool = False) -> str:
        """Return the string at a key; "" if it is missing or, with a defect, not a string."""
        value = parent.get(key)
        if isinstance(value, str) and value:
            return value
        if value is not None and value != "":
            self.note(f"{path}.{key}", f"{value!r} is not a string; put it in quotes")
        elif needed:
            self.note(f"{path}.{key}", "missing; add it")
        return ""

    def count(
        self, parent: Object, key: str, path: str, *, least: int = 0, most: int = LARGEST_COUNT
    ) -> int | None:
        """Return the whole number at a key; None if it is missing or, with a defect, not from ``least`` to ``most``."""
        value = parent.get(key)
        if value is None:
            return None
        where = f"{path}.{key}"
        if isinstance(value, bool) or not isinstance(value, int):
            self.note(where, f"{shorten(repr(value))} is not a whole number; write one such as 5")
        elif value < least:
            self.note(where, f"{value} is too small; give {least} or more")
        elif value > most:
            self.note(where, f"{value} is too large; give at most {most}")
        else:
            return value
        return None

    def bandwidth(self, parent: Object, key: str, path: str) -> int | None:
        """Return the bits per second at a key; None if they are missing or, with a defect, malformed."""
        value = parent.get(key)
        if value is None:
            return None
        where = f"{path}.{key}"
        if not isinstance(value, str | int | float):
            self.note(where, f"{value!r} is not a quantity; write bits per second such as 100M")
            return None
        try:
            return amount("", value)
        except QuantityError as error:
            self.note(where, f"{error}, in bits per second")
            return None
