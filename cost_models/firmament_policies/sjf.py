"""Shortest job first: if not all tasks fit, places tasks of programs with short run times first.

Source: Firmament's SJF cost model, where avg is the mean run time of the task's program in milliseconds:

    task -> cluster aggregator     100 x avg + 1
    task -> unscheduled            max(tenths of a second waited, 100 x avg)
    cluster aggregator -> machine  0

A task costs 100 x avg + 1 on every machine: the model decides which tasks get a place, and overlays decide where.
Changes:

* the field of a record is called ``meanSeconds``: the original's service stored microseconds where the model expected
  seconds, so all figures were a million times too large;
* a program without a run time counts as the mean task. In the original, such a program cost 1, less than any other,
  so its tasks went before all others once they had waited for a tenth of a second;
* the original's aggregator per program led to no machine, and is left out;
* leaving a task unscheduled costs what the scheduler itself charges, which exceeds any placement and grows with the
  wait. Of two tasks that have waited equally long (under 1 s, 10 s, 60 s, or more), the shorter one therefore goes
  first, and no task starves.

Input: records of kind ``RuntimeHistory``, one per program, with payload ``{"count": 12, "meanSeconds": 41.5}``. A
task's annotation ``firmament.io/program`` names its program; the bridge writes the job's name into tasks without one.
"""

from __future__ import annotations

import numpy as np

from cost_models.api.parsed_records import BadRecordError, RecordParser, check_number, parse_object
from cost_models.interface import Assessment, BaseModel, MachineColumns, Needs, Range, ShapeBatch

HISTORY = "RuntimeHistory"
PROGRAM = "firmament.io/program"

PER_MILLISECOND = 100
LONG = 1_000.0
"""Run time in seconds that costs 100 points; a longer run time costs more."""

LONGEST = 1e9
"""Seconds (some thirty years) above which a mean counts as a mistake."""


class Sjf(BaseModel):
    """Charges for a task's expected run time, the same on every machine."""

    name = "sjf"
    kind = "policy"
    range = Range(best=1, worst=PER_MILLISECOND * 1_000 * LONG + 1, bounded=False)
    needs = Needs(records=(HISTORY,), programs=True)

    def __init__(self) -> None:
        self._history = RecordParser(_parse)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return 100 x expected milliseconds + 1 for each shape: float64[S, 1].

        Notes name the records that cannot be read. A program without a record counts with the mean run time of all
        tasks, 0 if none is known.
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
    """Return the count and the mean of a record. Raises ``BadRecordError``."""
    try:
        document = parse_object(payload)
        count = check_number("count", document.get("count"), 1, 2**53)
        return count, check_number("meanSeconds", document.get("meanSeconds"), 0, LONGEST)
    except BadRecordError as error:
        raise BadRecordError('payload is not {"count": N, "meanSeconds": S}') from error
