"""Which machines a shape may use, capacity aside, and why not the others.

Rules in kube-scheduler's order of filters; the first that refuses a machine is its root cause.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from firmament.core import reasons
from firmament.core.machines import MachineTable
from firmament.core.model import TaskClass
from firmament.core.taints import CORDON_TAINT, NOT_READY_TAINT, tolerated

Codes = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class StaticRow:
    """``feasible``: bool[M]; ``code``: int16[M], index into ``texts`` where not feasible, -1 where feasible."""

    feasible: Bool
    code: Codes
    texts: tuple[str, ...]

    def with_refusals(self, refused: Bool, text: str) -> StaticRow:
        """This row with further machines refused for ``text``; machines refused before keep their cause."""
        newly = self.feasible & refused
        if not newly.any():
            return self
        code = np.where(newly, np.int16(len(self.texts)), self.code)
        return StaticRow(self.feasible & ~refused, code, (*self.texts, text))


def static_row(machines: MachineTable, shape: TaskClass) -> StaticRow:
    """Judge every machine for a shape by everything but capacity and pins."""
    count = len(machines)
    row = StaticRow(np.ones(count, dtype=np.bool_), np.full(count, -1, dtype=np.int16), ())
    if shape.invalid:
        return row.with_refusals(np.ones(count, dtype=np.bool_), shape.invalid)
    if not tolerated(shape.tolerations, CORDON_TAINT):
        row = row.with_refusals(machines.cordoned, reasons.CORDONED)
    first, taints = machines.taints.first_untolerated(shape.tolerations, count)
    for index, taint in enumerate(taints):
        row = row.with_refusals(first == index, reasons.untolerated(taint))
    if not tolerated(shape.tolerations, NOT_READY_TAINT):
        row = row.with_refusals(machines.not_ready, reasons.NOT_READY)
    selectors = machines.selectors()
    if shape.node_selector:
        row = row.with_refusals(~selectors.pairs(shape.node_selector), reasons.WRONG_LABELS)
    if shape.required:
        row = row.with_refusals(~selectors.terms(shape.required), reasons.WRONG_LABELS)
    for terms in shape.volumes:
        row = row.with_refusals(~selectors.terms(terms), reasons.WRONG_VOLUMES)
    return row


Rules = tuple[Hashable, ...]
"""What a static row depends on; shapes that differ in requests alone have it in common."""


def _rules(shape: TaskClass) -> Rules:
    return (shape.invalid, shape.tolerations, shape.node_selector, shape.required, shape.volumes)


class StaticRows:
    """Static rows by shape, kept as long as no machine changed in a way that they depend on.

    Shapes with equal rules share one row.
    """

    def __init__(self, machines: MachineTable, shapes: Sequence[TaskClass]) -> None:
        self._machines = machines
        self._shapes = shapes
        self._version = -1
        self._rows: dict[int, StaticRow] = {}
        self._shared: dict[Rules, StaticRow] = {}

    def of(self, shape: int) -> StaticRow:
        """The row of a shape, computed if need be."""
        if self._version != self._machines.static_version:
            self._rows.clear()
            self._shared.clear()
            self._version = self._machines.static_version
        row = self._rows.get(shape)
        if row is None:
            rules = _rules(self._shapes[shape])
            row = self._shared.get(rules)
            if row is None:
                row = self._shared[rules] = static_row(self._machines, self._shapes[shape])
            self._rows[shape] = row
        return row

    def renumber(self, new_row: Int64) -> None:
        """Shapes have other rows now: ``new_row[old]``, int64[S], -1 for those that are gone."""
        renumbered = [(int(new_row[shape]), row) for shape, row in self._rows.items()]
        self._rows = {shape: row for shape, row in renumbered if shape >= 0}

    def keep_only(self, shapes: set[int]) -> None:
        """Drop rows of shapes that no task waits for, so that memory follows the pending work."""
        for shape in self._rows.keys() - shapes:
            del self._rows[shape]
        self._shared = {_rules(self._shapes[shape]): row for shape, row in self._rows.items()}


def lacking(free: Int64, request: Int64) -> Codes:
    """Per machine the first resource of which there is not enough: int16[M], -1 for none.

    ``free``: int64[M, K]; ``request``: int64[K]. Resources count in order of their columns.
    """
    code = np.full(free.shape[0], -1, dtype=np.int16)
    for column in np.flatnonzero(request > 0)[::-1].tolist():
        code[free[:, column] < request[column]] = column
    return code


def refusal_counts(row: StaticRow, lack: Codes, resources: Sequence[str]) -> list[tuple[str, int]]:
    """Machines per root cause: what ``row`` refuses, then lack of a resource."""
    counts: dict[str, int] = {}
    for code, number in enumerate(np.bincount(row.code + 1, minlength=1)[1:].tolist()):
        if number:
            counts[row.texts[code]] = counts.get(row.texts[code], 0) + number
    short = np.bincount(lack[row.feasible] + 1, minlength=1)[1:]
    for column, number in enumerate(short.tolist()):
        if number:
            text = reasons.insufficient(resources[column])
            counts[text] = counts.get(text, 0) + number
    return reasons.ordered(list(counts.items()))
