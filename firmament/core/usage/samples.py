"""Keeps the measured use of machines and tasks: the last report of each, and a history where reports lack statistics.

A report about a machine also contains the use of its tasks. A report gets a number (*stamp*), which the figures of
its tasks share. A task's figures are valid while their stamp is that of its machine. A new report, a move, or a new
machine of the same name therefore makes a task's old figures invalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.events import MachineSampled, TaskUses
from firmament.core.resources import NO_COLUMN, ResourceIndex, widen
from firmament.core.usage.history import SampleHistory

_ROWS = 64
MOST_WINDOWS = 64
"""The most periods, by type and length, for which figures are stored, over all machines; sources have a handful."""


class UseTable:
    """Amounts by row and resource, and which rows have any.

    A row that is set has 0 for resources that it does not name. Amounts of resources that no machine offers are
    dropped.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self._values: Float64 = np.zeros((_ROWS, len(resources)))
        self._present: Int64 = np.zeros((_ROWS, 1), dtype=np.int64)

    def values(self, rows: int) -> Float64:
        """Return the amounts of the first rows, float64[rows, K]; valid only where ``present``."""
        self._fit(rows)
        return self._values[:rows]

    def present(self, rows: int) -> Bool:
        """Return which rows have amounts: bool[rows]."""
        self._fit(rows)
        return self._present[:rows, 0] != 0

    def put(self, row: int, amounts: Mapping[str, float]) -> None:
        """Set the amounts of a row; they replace all former amounts."""
        columns = self._resources.columns(amounts)
        self._fit(row + 1)
        self._values[row] = 0.0
        for column, amount in zip(columns, amounts.values(), strict=True):
            if column != NO_COLUMN:
                self._values[row, column] = amount
        self._present[row] = 1

    def put_block(self, rows: Int64, resources: Iterable[str], amounts: Float64) -> None:
        """Replace the amounts of several rows by ``amounts``: float64[len(rows), len(resources)]."""
        columns = np.array(self._resources.columns(resources), dtype=np.int64)
        offered = columns != NO_COLUMN
        self._fit(int(rows.max(initial=-1)) + 1)
        self._values[rows] = 0.0
        self._values[rows[:, None], columns[offered]] = amounts[:, offered]
        self._present[rows] = 1

    @property
    def empty(self) -> bool:
        """Whether no row has amounts."""
        return not self._present.any()

    def clear(self, row: int) -> None:
        """Remove the amounts of a row."""
        self._fit(row + 1)
        self._present[row] = 0

    def copy_row(self, source: int, target: int) -> None:
        """Copy row ``source`` to ``target``."""
        self._fit(max(source, target) + 1)
        self._values[target] = self._values[source]
        self._present[target] = self._present[source]

    def keep_columns(self, kept: Int64) -> None:
        """Keep only some columns; ``kept``: their former indices."""
        self._values = widen(self._values, 0, int(kept.max()) + 1).take(kept, axis=1)

    def _fit(self, rows: int) -> None:
        self._values = widen(self._values, rows, len(self._resources))
        self._present = widen(self._present, rows, 1)


class MachineSamples:
    """The last report about each machine, in the rows of the machine table. The caller has checked the samples.

    ``last_change``: number of the last report, or withdrawal of reports, about any machine; 0 for none.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self._usage = UseTable(resources)
        self._system = UseTable(resources)
        self._windows: dict[tuple[str, float], UseTable] = {}
        self._history = SampleHistory(resources)
        self._time: Float64 = np.full((_ROWS, 1), np.nan)
        self._interval: Float64 = np.zeros((_ROWS, 1))
        self._stamp: Int64 = np.zeros((_ROWS, 1), dtype=np.int64)
        self._aggregates: Int64 = np.zeros((_ROWS, 1), dtype=np.int64)
        self._changed: Int64 = np.zeros((_ROWS, 1), dtype=np.int64)
        self.last_change = 0
        self._aside: Float64 | None = None

    @contextmanager
    def leave_out(self, amounts: Float64) -> Iterator[None]:
        """Lower machines' figures, also those over periods, by ``amounts`` (float64[M, K]) in the ``with`` block."""
        self._aside = amounts
        try:
            yield
        finally:
            self._aside = None

    # --- views of the first ``rows`` rows ---------------------------------------------------------------------------

    def usage(self, rows: int) -> Float64:
        """Return the use in the last report, 0 for unnamed resources: float64[rows, K].

        The use is valid where ``find_measured``.
        """
        return self._less(self._usage.values(rows))

    def find_measured(self, rows: int) -> Bool:
        """Return whether the last report has figures of the machine's use: bool[rows]."""
        return self._usage.present(rows)

    def system(self, rows: int) -> Float64:
        """Return the part of the use that belongs to no task, 0 if unknown: float64[rows, K]."""
        present, values = self._system.present(rows), self._system.values(rows)
        return values.copy() if present.all() else np.where(present[:, None], values, 0.0)

    def time(self, rows: int) -> Float64:
        """Return the time of the last report: float64[rows]; NaN for never, 0 if not stated."""
        self._grow(rows)
        return self._time[:rows, 0]

    def interval(self, rows: int) -> Float64:
        """Return the seconds between reports, 0 if unknown: float64[rows]."""
        self._grow(rows)
        return self._interval[:rows, 0]

    def stamp(self, rows: int) -> Int64:
        """Return the number of the last report, 0 for none: int64[rows]."""
        self._grow(rows)
        return self._stamp[:rows, 0]

    def find_changed(self, change: int, rows: int) -> Bool:
        """Return which machines have got or lost a report after the change numbered ``change``: bool[rows]."""
        self._grow(rows)
        return self._changed[:rows, 0] > change

    def window(self, kind: str, seconds: float, rows: int) -> Float64:
        """Return the statistic ``kind`` of use over ``seconds``: float64[rows, K]; NaN rows for machines without it.

        0 seconds: the statistic is over each machine's longest period. If the source has no statistics, they are
        computed from the history.
        """
        self._grow(rows)
        found = np.full((rows, len(self._resources)), np.nan)
        aggregates = self._aggregates[:rows, 0] != 0
        missing = aggregates.copy()
        lengths = [length for name, length in self._windows if name == kind and seconds in (0.0, length)]
        for length in sorted(lengths, reverse=True):
            table = self._windows[kind, length]
            take = missing & table.present(rows)
            found[take] = table.values(rows)[take]
            missing &= ~take
        others = np.flatnonzero(~aggregates & self.find_measured(rows))
        found[others] = self._history.window(kind, seconds, others)
        return self._less(found)

    def _less(self, figures: Float64) -> Float64:
        """Return figures minus the amounts of tasks that are left out, at least 0; NaN stays NaN."""
        return figures if self._aside is None else np.maximum(figures - self._aside[: len(figures)], 0.0)

    # --- changes of the table --------------------------------------------------------------------------------------

    def record(self, row: int, sample: MachineSampled, *, history: bool) -> int:
        """Store a report about a machine (row) unless a later one is stored.

        Return the report's stamp, 0 if it was not stored.

        ``history``: also store the report in the history, if its source has no statistics.
        """
        self._grow(row + 1)
        if sample.time < self._time[row, 0]:
            return 0
        self.last_change += 1
        self._time[row] = sample.time
        self._interval[row] = sample.interval
        self._stamp[row] = self._changed[row] = self.last_change
        self._aggregates[row] = sample.own_windows
        if sample.no_usage:
            self._usage.clear(row)
        else:
            self._usage.put(row, sample.usage)
        if sample.system:
            self._system.put(row, sample.system)
        else:
            self._system.clear(row)
        self._put_windows(row, sample)
        if history and not sample.own_windows and not sample.no_usage:
            self._history.add(row, sample.time, self._usage.values(row + 1)[row])
        return self.last_change

    def withdraw(self, row: int) -> None:
        """Forget the reports about a machine that still exists."""
        self.reset(row)
        self.last_change += 1
        self._changed[row] = self.last_change

    def reset(self, row: int) -> None:
        """Forget all reports about a row."""
        self._grow(row + 1)
        if self._stamp[row]:
            self._history.reset(row)
        self._time[row] = np.nan
        self._stamp[row] = self._changed[row] = 0
        self._aggregates[row] = 0
        for table in (self._usage, self._system, *self._windows.values()):
            table.clear(row)

    def move(self, source: int, target: int) -> None:
        """Move the reports of a row to another row; the source is reset."""
        self._grow(max(source, target) + 1)
        for array in (self._time, self._interval, self._stamp, self._aggregates, self._changed):
            array[target] = array[source]
        for table in (self._usage, self._system, *self._windows.values()):
            table.copy_row(source, target)
        self._history.move(source, target)
        self.reset(source)

    def keep_columns(self, kept: Int64) -> None:
        """Keep only some columns; ``kept``: their former indices."""
        for table in (self._usage, self._system, *self._windows.values()):
            table.keep_columns(kept)
        self._history.keep_columns(kept)

    def _put_windows(self, row: int, sample: MachineSampled) -> None:
        """Store the figures of a report over periods.

        If the store has `MOST_WINDOWS` periods already, a new period replaces one for which no machine has figures,
        if any.
        """
        for table in self._windows.values():
            table.clear(row)
        if len(self._windows) >= MOST_WINDOWS:
            self._windows = {key: table for key, table in self._windows.items() if not table.empty}
        for window in sample.windows:
            key = (window.type, window.seconds)
            if not window.usage or (key not in self._windows and len(self._windows) >= MOST_WINDOWS):
                continue
            if key not in self._windows:
                self._windows[key] = UseTable(self._resources)
            self._windows[key].put(row, window.usage)

    def _grow(self, rows: int) -> None:
        before = len(self._time)
        if rows <= before:
            return
        for name in ("_time", "_interval", "_stamp", "_aggregates", "_changed"):
            setattr(self, name, widen(getattr(self, name), rows, 1))
        self._time[before:] = np.nan


class TaskSamples:
    """The last reported figures of each task, in the rows of the task table.

    ``stamp``: the stamp of the machine's report that contained the figures, 0 for none. A row must be reset before it
    is reused.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._usage = UseTable(resources)
        self._stamp: Int64 = np.zeros((_ROWS, 1), dtype=np.int64)
        self._prod: Bool = np.zeros((_ROWS, 1), dtype=np.bool_)

    def usage(self, rows: Int64) -> Float64:
        """Return the use of tasks: float64[len(rows), K]; valid where the stamp is that of the machine."""
        return self._usage.values(int(rows.max(initial=-1)) + 1).take(rows, axis=0)

    def stamp(self, rows: Int64) -> Int64:
        """Return the number of the report that contained each task's figures: int64[len(rows)]."""
        self._grow(int(rows.max(initial=-1)) + 1)
        return self._stamp[:, 0].take(rows)

    def prod(self, rows: Int64) -> Bool:
        """Return whether the source counts each task as koord-prod, or does not say: bool[len(rows)].

        The values are valid where `usage` is.
        """
        self._grow(int(rows.max(initial=-1)) + 1)
        return self._prod[:, 0].take(rows)

    def record_all(self, rows: Int64, known: Int64, uses: TaskUses, stamp: int) -> None:
        """Store a report's figures of tasks: entry ``known[i]`` of ``uses`` is for row ``rows[i]``."""
        self._grow(int(rows.max(initial=-1)) + 1)
        amounts = np.array(uses.amounts).reshape(len(uses.uids), len(uses.resources))[known]
        self._usage.put_block(rows, uses.resources, amounts)
        self._stamp[rows, 0] = stamp
        self._prod[rows, 0] = np.array(uses.prod, dtype=np.bool_)[known] if uses.prod else True

    def record(self, row: int, usage: Mapping[str, float], stamp: int) -> None:
        """Store the figures of one task, from the machine's report with ``stamp``."""
        self._grow(row + 1)
        self._usage.put(row, usage)
        self._stamp[row], self._prod[row] = stamp, True

    def reset(self, row: int) -> None:
        """Forget the figures of a row."""
        self._grow(row + 1)
        self._stamp[row] = 0

    def keep_columns(self, kept: Int64) -> None:
        """Keep only some columns; ``kept``: their former indices."""
        self._usage.keep_columns(kept)

    def _grow(self, rows: int) -> None:
        self._stamp = widen(self._stamp, rows, 1)
        self._prod = widen(self._prod, rows, 1)
