"""Keeps the machines of a cluster as columns of arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.model import Machine
from firmament.core.resources import ResourceIndex, SaturatingSums, widen
from firmament.core.selectors.label_columns import LabelColumn, LabelIndex
from firmament.core.selectors.machine_contents import ImageIndex, StorageIndex
from firmament.core.selectors.node_selector_operators import Selectors
from firmament.core.selectors.taints import TaintIndex
from firmament.core.usage.samples import MachineSamples

_BY_RESOURCE = ("_capacity", "_total", "_unstated")
_FIELDS = frozenset(each.name for each in fields(Machine))
VERSIONED_FIELDS = _FIELDS - {"total", "images", "attached", "storage"}
"""Fields of `Machine` whose changes increase ``static_version``; of ``allocatable``, only which resources there are."""

STATED_FIELDS = VERSIONED_FIELDS - {"name", "allocatable"}
"""The fields in `VERSIONED_FIELDS` that a machine may leave empty."""

_seen_by_rules = attrgetter(*sorted(STATED_FIELDS))

_ROWS = 64


class RowStamps:
    """For each row, a number (stamp) that says when the row last changed: changes are counted.

    Code that caches results computed from rows stores a ``mark``, and later compares the mark with the ``stamps``.
    """

    def __init__(self) -> None:
        self._stamp: Int64 = np.zeros(_ROWS, dtype=np.int64)
        self._now = 1
        self.count = 0
        """The number of changes so far."""

    def touch(self, row: int) -> None:
        """Record that a row has changed, or is new."""
        if row >= len(self._stamp):
            self._stamp = np.concatenate([self._stamp, np.zeros(max(row + 1, len(self._stamp)), np.int64)])
        self._stamp[row] = self._now
        self.count += 1

    def touch_all(self, rows: Int64) -> None:
        """Record that existing rows have changed."""
        self._stamp[rows] = self._now
        self.count += 1

    def mark(self) -> int:
        """Return a mark: earlier changes have stamps of at most this number, later changes higher stamps."""
        self._now += 1
        return self._now - 1

    def stamps(self, count: int) -> Int64:
        """Return the stamp of each row's last change, which is above all marks made before the change: int64[count]."""
        return self._stamp[:count]


@dataclass(frozen=True, slots=True)
class Described:
    """The name, labels and annotations of each machine, as of one ``static_version`` of the table."""

    version: int
    names: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]
    annotations: tuple[Mapping[str, str], ...]


class DirtySet:
    """Rows of machines on which tasks may fit now that did not fit before.

    ``everywhere``: tasks may fit on any machine.

    ``touched``: rows of classes whose tasks came to a machine or left one other than by a round's decision.
    ``domains_changed``: machines or namespaces may count differently for rules between tasks.
    """

    def __init__(self) -> None:
        self.machines: set[int] = set()
        self.touched: set[int] = set()
        self.everywhere = self.domains_changed = False

    def rows(self) -> Int64:
        """Return the rows of single marked machines, ascending, even if ``everywhere`` is set."""
        return np.sort(np.fromiter(self.machines, dtype=np.int64, count=len(self.machines)))

    @property
    def any_machine(self) -> bool:
        """Whether a task may fit on some machine where it did not fit before."""
        return self.everywhere or bool(self.machines)

    def clear(self) -> None:
        """Drop all marks, after waiting tasks have been checked against the marked machines."""
        self.machines.clear()
        self.touched.clear()
        self.everywhere = self.domains_changed = False


class MachineTable:
    """The machines in consecutive rows; when one is removed, the last row moves into its place.

    ``capacity``, ``used``: int64[M, K]. ``used`` is what bound and assumed tasks request, and exceeds ``capacity`` on
    overcommitted machines. ``unstated``: what cost models assume that tasks need beyond their requests.
    ``static_version`` grows in three cases: when a field of `VERSIONED_FIELDS` changes (labels, taints, cordons,
    readiness, ...), when rows move, and when a resource is offered for the first time or no longer offered. Results
    computed from `VERSIONED_FIELDS` are valid only for the version at which they were computed. ``stated``: for each
    field of `STATED_FIELDS`, the number of machines that state something there. ``changes``: stamps of all that cost
    models see of a single machine: description, tasks, reports of use. ``attached``: names of the machines to which
    each shared volume is attached.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self.resources = resources
        self.specs: list[Machine] = []
        self.row_of: dict[str, int] = {}
        self.attached: dict[str, set[str]] = {}
        self.stated: Counter[str] = Counter()
        self.labels = LabelIndex()
        self.taints = TaintIndex()
        self.images = ImageIndex()
        self.storage = StorageIndex()
        self.static_version = 0
        self._names = LabelColumn([])
        # All names are in one list, because asking ten thousand machines one by one is slow.
        self._named: list[str] = []
        self._annotations: list[Mapping[str, str]] = []
        self._capacity = np.zeros((64, len(resources)), dtype=np.int64)
        self._used = SaturatingSums(64, len(resources))
        self._unstated = np.zeros((64, len(resources)), dtype=np.int64)
        self._running = np.zeros((64, 1), dtype=np.int64)
        self._flags = np.zeros((64, 2), dtype=np.int64)
        self._total = np.zeros((64, len(resources)), dtype=np.int64)
        self.samples = MachineSamples(resources)
        self.changes = RowStamps()
        self._described = Described(-1, (), (), ())

    def __len__(self) -> int:
        return len(self.specs)

    # --- columns of the table ------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The machines' names, in order of rows."""
        return self.describe().names

    def describe(self) -> Described:
        """Return names, labels and annotations of the machines, in order of rows; recomputed only after changes."""
        if self._described.version != self.static_version:
            self._described = Described(
                self.static_version,
                tuple(self._named),
                tuple(self.labels.rows),
                tuple(self._annotations),
            )
        return self._described

    @property
    def capacity(self) -> Int64:
        """int64[M, K], what each machine has for tasks in all."""
        self._fit()
        return self._capacity[: len(self.specs)]

    @property
    def used(self) -> Int64:
        """int64[M, K], what bound and assumed tasks request in all, at most `CEILING`."""
        self._fit()
        return self._used.cells[: len(self.specs)]

    def compute_used_without(self, row: int, request: Int64) -> Int64:
        """Return ``used`` without one task with ``request`` on ``row``: int64[M, K]."""
        used = self.used.copy()
        used[row] = self._used.subtract(row, request)
        return used

    @property
    def beyond_measure(self) -> Int64:
        """Rows of the machines whose tasks request more of something than ``used`` can show, ascending.

        A machine beyond measure would be full even if only the part that ``used`` shows were requested.
        """
        return self._used.beyond

    @property
    def unstated(self) -> Int64:
        """int64[M, K], what bound and assumed tasks are assumed to need in addition to their requests."""
        self._fit()
        return self._unstated[: len(self.specs)]

    @property
    def running(self) -> Int64:
        """int64[M], the number of bound and assumed tasks."""
        return self._running[: len(self.specs), 0]

    @property
    def cordoned(self) -> Bool:
        """bool[M], whether the machine is marked unschedulable."""
        return self._flags[: len(self.specs), 0] != 0

    @property
    def not_ready(self) -> Bool:
        """bool[M], whether the machine is not ready."""
        return self._flags[: len(self.specs), 1] != 0

    @property
    def total(self) -> Int64:
        """int64[M, K], what the hardware has, including the system's part."""
        self._fit()
        return self._total[: len(self.specs)]

    @property
    def usage(self) -> Float64:
        """float64[M, K], the last measured use, as a new array; NaN rows for machines without a report."""
        rows = len(self.specs)
        if not self.samples.last_change or not (measured := self.samples.find_measured(rows)).any():
            return np.full((rows, len(self.resources)), np.nan)
        return np.where(measured[:, None], self.samples.usage(rows), np.nan)

    @property
    def usage_time(self) -> Float64:
        """float64[M], the time of the last report, as a new array; NaN for never."""
        rows = len(self.specs)
        return self.samples.time(rows).copy() if self.samples.last_change else np.full(rows, np.nan)

    def find_named(self, names: Iterable[str]) -> Bool:
        """Return which machines have one of ``names``: bool[M]."""
        found = np.zeros(len(self.specs), dtype=np.bool_)
        found[[self.row_of[name] for name in names if name in self.row_of]] = True
        return found

    def selectors(self) -> Selectors:
        """Return an object that matches selectors against the present rows."""
        return Selectors(self.labels, self._names)

    # --- changes of the table ------------------------------------------------------------------------------------

    def upsert(self, machine: Machine) -> int:
        """Add or replace a machine; return its row."""
        row = self.row_of.get(machine.name)
        if row is None:
            row = len(self.specs)
            self.row_of[machine.name] = row
            self.specs.append(machine)
            self._named.append(machine.name)
            self._annotations.append(machine.annotations)
            self._fit(row + 1)
            self._used.clear(row)
            self._unstated[row] = 0
            self._running[row] = 0
            former, changed = None, True
        else:
            former = self.specs[row]
            changed = _seen_by_rules(former) != _seen_by_rules(machine)
            self._detach(former)
            self.specs[row] = machine
            self._annotations[row] = machine.annotations
        self._offer(former, machine)
        self._fit()
        self._capacity[row] = self.resources.vector(machine.allocatable)
        self._total[row] = self.resources.vector({**machine.allocatable, **machine.total})
        self._flags[row] = (machine.unschedulable, machine.not_ready)
        if changed:
            self.labels.set(row, machine.labels)
            if machine.taints or self.taints.groups:
                self.taints.set(row, machine.taints)
            self._names.set(row, machine.name)
            self.static_version += 1
            self._state(former, machine)
        if machine.images or self.images.rows:
            self.images.set(row, machine.images)
        if machine.storage or self.storage.rows:
            self.storage.set(row, machine.storage)
        for volume in machine.attached:
            self.attached.setdefault(volume, set()).add(machine.name)
        self.changes.touch(row)
        return row

    def remove(self, row: int) -> int:
        """Remove a row; return the row whose machine takes its place (the former last one), or -1 if none does."""
        last = len(self.specs) - 1
        self._offer(self.specs[row], None)
        del self.row_of[self.specs[row].name]
        self._detach(self.specs[row])
        self._state(self.specs[row], None)
        self.labels.remove(row)
        self.images.remove(last, row)
        self.storage.remove(last, row)
        self.taints.remove(last, row)
        moved, name, annotations = self.specs.pop(), self._named.pop(), self._annotations.pop()
        self.static_version += 1
        self._names.set(last, None)
        if row == last:
            self.samples.reset(row)
            self._used.clear(row)
            return -1
        for array in (self._capacity, self._total, self._unstated, self._running, self._flags):
            array[row] = array[last]
        self._used.move(last, row)
        self.samples.move(last, row)
        self.specs[row], self._named[row], self._annotations[row] = moved, name, annotations
        self.row_of[moved.name] = row
        self._names.set(row, moved.name)
        self.changes.touch(row)
        return last

    def _state(self, former: Machine | None, machine: Machine | None) -> None:
        """Update ``stated`` from ``former`` (None: new machine) to ``machine`` (None: removed machine)."""
        for spec, sign in ((former, -1), (machine, 1)):
            for field in STATED_FIELDS if spec is not None else ():
                if getattr(spec, field):
                    self.stated[field] += sign
                    if not self.stated[field]:
                        del self.stated[field]

    def _detach(self, machine: Machine) -> None:
        for volume in machine.attached:
            machines = self.attached.get(volume, set())
            machines.discard(machine.name)
            if not machines:
                self.attached.pop(volume, None)

    def book(self, row: int, request: Int64, unstated: Int64, count: int) -> None:
        """Book (``count`` 1) or release (-1) a task on a row.

        ``request``, ``unstated``: int64[<= K].
        """
        self._fit()
        self._used.add(row, request, count)
        if unstated.any():
            self._unstated[row, : len(unstated)] += unstated * count
        self._running[row] += count
        self.changes.touch(row)

    def book_all(self, rows: Int64, requests: Int64, unstated: Int64, count: int = 1) -> None:
        """Book (``count`` 1) or release (-1) one task per entry; ``rows``: int64[N], the other arrays: int64[N, K]."""
        self._fit()
        self._used.add_all(rows, requests, count=count)
        for column in np.flatnonzero(unstated.any(axis=0)).tolist():
            np.add.at(self._unstated[:, column], rows, count * unstated[:, column])
        np.add.at(self._running[:, 0], rows, count)
        self.changes.touch_all(rows)

    def book_new(self, rows: Int64, requests: Int64, first: int) -> None:
        """Book what tasks on machines request of resources that have just got columns.

        ``rows``: int64[N], the tasks' machines. ``requests``: int64[N, K - ``first``], the columns from ``first`` on.
        """
        self._fit()
        self._used.add_all(rows, requests, first)
        self.changes.touch_all(rows)

    def keep_columns(self, kept: Int64) -> None:
        """Keep only some columns; ``kept``: their former indices."""
        for name in _BY_RESOURCE:
            setattr(self, name, widen(getattr(self, name), 0, int(kept.max()) + 1).take(kept, axis=1))
        self._used.keep_columns(kept)
        self.samples.keep_columns(kept)
        self.static_version += 1

    def _offer(self, former: Machine | None, machine: Machine | None) -> None:
        """Update the offered resources from ``former`` (None: new machine) to ``machine`` (None: removed machine)."""
        if former and machine and (former.allocatable, former.total) == (machine.allocatable, machine.total):
            return
        before = self.resources.version
        if machine is not None:
            self.resources.add_machine(_list_offered(machine))
        if former is not None:
            self.resources.remove_machine(_list_offered(former))
        if self.resources.version != before:
            self.static_version += 1

    def _fit(self, rows: int = 0) -> None:
        """Enlarge the arrays for ``rows`` rows, and for all resources."""
        columns = len(self.resources)
        if rows > self._capacity.shape[0] or columns > self._capacity.shape[1]:
            for name in (*_BY_RESOURCE, "_running", "_flags"):
                setattr(self, name, widen(getattr(self, name), rows, columns if name in _BY_RESOURCE else 0))
            self._used.fit(rows, columns)


def _list_offered(machine: Machine) -> set[str]:
    """Return the resources that a machine names, even with amount 0, as a task may request 0 of them."""
    return {*machine.allocatable, *machine.total}
