"""Prefers machines whose other tasks run as long as the new task, so that other machines become empty.

After NILAS of Ling et al., "LAVA: Lifetime-Aware VM Allocation with Learned Distributions and Adaptation to
Mispredictions" (MLSys 2025): a machine is in use until the last of its tasks ends, and a task costs by how much it
would prolong the machine's use. Each round computes all expectations anew from the time that tasks have run already;
a task that outlives its expectation is then expected to go on for long, so that wrong predictions do not last.

Changed: not the expected ends are compared but their distributions. Let T be the rest of the task's run time and M
that of the machine, whose tasks end independently of each other:

    expected prolongation = E[max(T - M, 0)] = integral over t of P(T > t) x P(M <= t)

Of two machines whose last task is expected to end at the same time, the machine with more such tasks therefore costs
less: the other one may well become empty sooner. An empty machine costs most for every task: whatever is predicted,
no machine is opened while others have room.

Input: records of kind ``RuntimeHistory``, as the policy ``sjf`` reads them, with ``"runs": [[60, 12], [120, 3]]`` for
how many tasks ran for about so many seconds; and since when tasks are on machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cost_models.api.parsed_records import RecordParser
from cost_models.arguments import Arguments
from cost_models.interface import (
    Assessment,
    Assigned,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    Needs,
    Range,
    ShapeBatch,
    ShapeRow,
)
from cost_models.lifetimes.remaining import HISTORY, SPANS, RunsTable, find_ages, parse_history, tabulate

PROGRAM = "firmament.io/program"
STEP = 900.0
"""Seconds of prolongation that cost the first part of the range; each doubling costs another part."""
UNKNOWN = 30 * 86_400.0
LEVELS = 12.0
"""Doublings of the step that are worth 100 points: 15 minutes to six weeks."""

_WEIGHTS: Float64 = np.diff(SPANS, append=SPANS[-1])
_SURE = 1e-9
"""Every end has at least this probability, so that logarithms are finite."""


class Lifetimes(BaseModel):
    """Charges for the time by which a task would keep a machine in use longer."""

    name = "lifetimes"
    kind = "overlay"
    range = Range(best=0.0, worst=LEVELS)
    needs = Needs(records=(HISTORY,), programs=True, load=True)

    def __init__(self, **args: Any) -> None:
        read = Arguments(self.name, args)
        self._step = read.number("stepSeconds", STEP, least=1.0)
        self._unknown = read.number("unknownSeconds", UNKNOWN, least=1.0)
        read.finish()
        self._history = RecordParser(parse_history)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return by how much longer a machine would be in use, in doublings of the shortest time step: float64[S,
        M]."""
        history = self._history.read(machines.records.get(HISTORY, {}))
        numbers: dict[str, int] = {}
        waiting = _number_programs(shapes.rows, numbers)
        programs = ages = where = np.zeros(0, dtype=np.int64)
        if machines.load is not None:
            assigned = machines.load.assigned
            programs = _number_programs(assigned.kinds, numbers)[assigned.kind]
            ages, where = _find_ages(assigned, machines.now), assigned.machine
        table = tabulate([history.good.get(name) for name in numbers], programs, ages)
        ended = self._estimate_ended(table, programs, ages, where, machines.count)
        lasting = table.estimate_lasting(waiting, np.zeros_like(waiting), self._unknown)
        raw = np.log2(1.0 + (lasting * _WEIGHTS) @ ended.T / self._step)
        raw[:, machines.running == 0] = LEVELS
        notes = tuple(
            f"lifetimes: {HISTORY} {name!r}: {fault}; the program counts as unknown"
            for name, fault in history.faults.items()
        )
        return Assessment(raw=np.minimum(raw, LEVELS), notes=notes)

    def _estimate_ended(
        self, table: RunsTable, programs: Int64, ages: Int64, where: Int64, machines: int
    ) -> Float64:
        """Return the probability that all tasks of a machine have ended after each of `SPANS`: float64[M,
        len(SPANS)]."""
        found = np.zeros((machines, len(SPANS)))
        if not len(where):
            return np.exp(found)
        pairs, kind = np.unique(np.stack([programs, ages]), axis=1, return_inverse=True)
        lasting = table.estimate_lasting(pairs[0], pairs[1], self._unknown)
        likely = np.log(np.maximum(1.0 - lasting, _SURE))
        order = np.argsort(where, kind="stable")
        rows, first = np.unique(where[order], return_index=True)
        found[rows] = np.add.reduceat(likely[kind.reshape(-1)[order]], first, axis=0)
        return np.exp(found)


def _find_ages(assigned: Assigned, now: float) -> Int64:
    """Return the age bucket of each task; a task with an unknown start counts as new."""
    return find_ages(np.nan_to_num(now - assigned.time))


def _number_programs(rows: Sequence[ShapeRow], numbers: dict[str, int]) -> Int64:
    """Return the number of each row's program, -1 for none; new programs get the next numbers: int64[len(rows)]."""
    names = (row.annotations.get(PROGRAM, "") for row in rows)
    return np.array(
        [numbers.setdefault(name, len(numbers)) if name else -1 for name in names], dtype=np.int64
    )
