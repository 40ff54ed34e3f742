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

import numpy as np

from cost_models.api.parsed_records import BadRecordError, RecordParser, json_object, number
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

    def __init__(self) -> None:
        self._history = RecordParser(_parse)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return 100 x expected milliseconds + 1 per shape: float64[S, 1].

        Notes tell of records that cannot be read; their programs count as unknown: the mean of all tasks together, 0 if
        nothing is known.
        """
        history = self._history.read(machines.records.get(HISTORY, {}))
        total = sum(count for count, _ in history.good.values())
        usual = sum(count * mean for count, mean in history.good.values()) / total if total else 0.0
        programs = (row.annotations.get(PROGRAM, "") for row in shapes.rows)
        seconds = [history.good[name][1] if name in history.good else usual for name in programs]
        raw = np.array(seconds, dtype=np.float64).reshape(shapes.count, 1) * (1_000 * PER_MILLISECOND) + 1
        notes = tuple(
            f"sjf: {HISTORY} {name!r}: {fault}; the program counts as unknown"
            for name, fault in history.faults.items()
        )
        return Assessment(raw=raw, notes=notes)


def _parse(payload: bytes) -> tuple[float, float]:
    """Count and mean of a record; raises ``BadRecordError``."""
    try:
        document = json_object(payload)
        count = number("count", document.get("count"), 1, 2**53)
        return count, number("meanSeconds", document.get("meanSeconds"), 0, LONGEST)
    except BadRecordError as error:
        raise BadRecordError('payload is not {"count": N, "meanSeconds": S}') from error
