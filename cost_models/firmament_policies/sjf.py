"""Shortest job first: under scarcity, tasks of programs that run briefly go before others.

Source: Firmament's SJF cost model, where avg is the mean run time of the task's program in milliseconds:

    task -> cluster aggregator     100 x avg + 1
    task -> unscheduled            max(tenths of a second waited, 100 x avg)
    cluster aggregator -> machine  0

A task costs 100 x avg + 1 wherever it runs, so the model never prefers one machine to another: it decides who gets a
place, and leaves where to the overlays. Mended or replaced:

* run times in microseconds: the original's service stored microseconds where the model took seconds, so all its figures
  were a million times too large. Here a record says seconds by its name, ``meanSeconds``;
* a program that has never ended cost 1, less than any other, and so went before all of them, yet only once it had
  waited for longer than a tenth of a second. Here it counts as the mean task: neither pushed nor held back;
* aggregators of the program led nowhere and are left out;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement and growing with the wait: of
  tasks that have waited equally long (under 1 s, 10 s, 60 s, more) the shorter goes first, and no task starves.

Input: records of kind ``RuntimeHistory``, one per program, with payload ``{"count": 12, "meanSeconds": 41.5}``. A
task's program is its annotation ``firmament.io/program``; the bridge fills in the job's name where there is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cost_models.interface import Assessment, BaseModel, MachineColumns, Needs, Range, ShapeBatch

HISTORY = "RuntimeHistory"
PROGRAM = "firmament.io/program"

PER_MILLISECOND = 100
LONG = 1_000.0
"""Seconds of run time that are worth 100 points; longer ones are worth more."""

LONGEST = 1e9
"""Seconds, some thirty years; a longer mean is a mistake."""


class Sjf(BaseModel):
    """Charges for the time that a task is expected to run, the same on every machine."""

    name = "sjf"
    kind = "policy"
    range = Range(best=1, worst=PER_MILLISECOND * 1_000 * LONG + 1, bounded=False)
    needs = Needs(records=(HISTORY,), programs=True)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return 100 x expected milliseconds + 1 per shape: float64[S, 1].

        Notes tell of records that cannot be read; their programs count as unknown.
        """
        history = _History(machines.records.get(HISTORY, {}))
        seconds = [history.seconds(row.annotations.get(PROGRAM, "")) for row in shapes.rows]
        raw = np.array(seconds, dtype=np.float64).reshape(shapes.count, 1) * (1_000 * PER_MILLISECOND) + 1
        return Assessment(raw=raw, notes=tuple(history.notes))


@dataclass(slots=True)
class _History:
    """Mean run times by program, read as far as they are asked for."""

    records: Mapping[str, bytes]
    notes: list[str] = field(default_factory=list)
    _all: dict[str, tuple[float, float] | None] = field(default_factory=dict)

    def seconds(self, program: str) -> float:
        """Mean run time of a program; that of all tasks together if it is unknown, 0 if nothing is known."""
        entry = self._read(program) if program in self.records else None
        if entry is not None:
            return entry[1]
        known = [each for each in map(self._read, self.records) if each is not None]
        total = sum(count for count, _ in known)
        return sum(count * mean for count, mean in known) / total if total else 0.0

    def _read(self, program: str) -> tuple[float, float] | None:
        """Count and mean of a record, None if it makes no sense."""
        if program not in self._all:
            entry = _parsed(self.records[program])
            self._all[program] = entry
            if entry is None:
                self.notes.append(
                    f'sjf: {HISTORY} {program!r}: payload is not {{"count": N, "meanSeconds": S}}; '
                    "the program counts as unknown"
                )
        return self._all[program]


def _parsed(payload: bytes) -> tuple[float, float] | None:
    try:
        document = json.loads(payload)
        count, mean = document["count"], document["meanSeconds"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not _is_number(count) or not _is_number(mean) or not 1 <= count <= 2**53 or not 0 <= mean <= LONGEST:
        return None
    return float(count), float(mean)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
