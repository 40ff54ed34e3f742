"""Task classes and the shapes behind them.

A *shape* is what dense rows over machines depend on: requests, selectors, affinity, tolerations, and what models see. A
*class* adds what is sparse: the machines it is pinned to. Contents are interned, so equal classes have one row however
often and under whatever number a driver defines them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from firmament.core.matching import named_machines
from firmament.core.model import PODS, InvalidEventError, TaskClass


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One interned class: its content, the row of its shape and its pins (names; None: none)."""

    content: TaskClass
    shape: int
    pins: tuple[str, ...] | None


class ClassTable:
    """Interned classes and shapes; rows are never taken back."""

    def __init__(self) -> None:
        self.rows: list[ClassRow] = []
        self.shapes: list[TaskClass] = []
        self._row_of: dict[TaskClass, int] = {}
        self._shape_of: dict[TaskClass, int] = {}
        self._row_of_number: dict[int, int] = {}

    def define(self, number: int, content: TaskClass) -> int:
        """Let ``number`` stand for ``content``; returns its row. The caller has checked for conflicts."""
        row = self._row_of.get(content)
        if row is None:
            row = self._row_of[content] = len(self.rows)
            shape, pins = _split(content)
            self.rows.append(
                ClassRow(
                    content=content,
                    shape=self._shape_of.setdefault(shape, len(self.shapes)),
                    pins=pins,
                )
            )
            if len(self._shape_of) > len(self.shapes):
                self.shapes.append(shape)
        self._row_of_number[number] = row
        return row

    def row(self, number: int) -> int:
        """Row of a number; raises ``InvalidEventError`` if it was never defined."""
        row = self._row_of_number.get(number)
        if row is None:
            raise InvalidEventError(f"task class {number} is not defined; define a class before its tasks")
        return row

    def content(self, number: int) -> TaskClass | None:
        """Content that ``number`` stands for, if any."""
        row = self._row_of_number.get(number)
        return None if row is None else self.rows[row].content


def _split(content: TaskClass) -> tuple[TaskClass, tuple[str, ...] | None]:
    """Shape and pins of a class. Every task takes one unit of ``pods``, whatever the class says."""
    requests = {name: amount for name, amount in content.requests if amount > 0}
    requests[PODS] = 1
    named = named_machines(content.required)
    pins = named
    if content.machine:
        pins = (content.machine,) if named is None or content.machine in named else ()
    shape = replace(
        content,
        requests=tuple(sorted(requests.items())),
        required=content.required if named is None else (),
        machine="",
    )
    return shape, pins
