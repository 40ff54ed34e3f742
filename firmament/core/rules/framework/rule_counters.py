"""Keeps the counters of a round's rules: how many tasks of some classes are in each domain.

Rules whose counters are equal share one counter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.ruleset import Counter
from firmament.core.model import TaskSelector
from firmament.core.state.class_selectors import ClassSelector
from firmament.core.state.cluster import Cluster
from firmament.core.state.domains import Domains, DomainsByKey
from firmament.core.state.tasks import TaskPhase


class RuleCounters:
    """The counters of tasks per domain in a round, numbered in the order in which rules first ask for them.

    ``waiting``: rows of the waiting classes. ``adds``: by row of a waiting class, the numbers of the counters that
    count its tasks. ``domains_by_key``: the domains of machines.
    """

    def __init__(
        self,
        residents: ResidentTasks,
        selector: ClassSelector,
        domains_by_key: DomainsByKey,
        waiting: Collection[int],
    ) -> None:
        self._residents = residents
        self._selector = selector
        self.domains_by_key = domains_by_key
        self.waiting = waiting
        self._number: dict[tuple[object, ...], int] = {}
        self.counters: list[Counter] = []
        self.adds: dict[int, list[int]] = {}

    def counter(self, mark: tuple[object, ...], rows: Sequence[int], topology: Domains, domain: Int64) -> int:
        """Return the number of the counter for tasks of the classes in ``rows``; create the counter if it is new.

        ``mark``: a key that is equal for equal counters. ``domain``: int64[M], the domain of each machine in the
        topology, -1 for machines whose tasks do not count.
        """
        number = self._number.get(mark)
        if number is None:
            number = self._number[mark] = len(self.counters)
            start = _count_per_domain(self._residents.machines(rows), topology, domain)
            settled = start
            if start.any():
                settled = _count_per_domain(self._residents.machines(rows, settled=True), topology, domain)
            self.counters.append(Counter(domain, start, settled, topology.coarse))
            for row in rows:
                if row in self.waiting:
                    self.adds.setdefault(row, []).append(number)
        return number

    def get_counter(self, selectors: Iterable[TaskSelector], key: str) -> int:
        """Return the number of the counter for tasks that all ``selectors`` match, per domain of the label ``key``."""
        return self.of_classes(self.matching_all(tuple(dict.fromkeys(selectors))).tolist(), key)

    def of_classes(self, rows: Sequence[int], key: str) -> int:
        """Return the number of the counter for tasks of the classes in ``rows``, per domain of the label ``key``."""
        topology = self.domains_by_key.get(key)
        return self.counter(("classes", tuple(rows), key), rows, topology, topology.domain)

    def get_weighted_counter(self, weights: Mapping[int, int], key: str) -> int:
        """Return the number of the counter that adds ``weights`` of its class (row) for each task.

        No task of the counted classes waits.
        """
        mark = ("weights", tuple(sorted(weights.items())), key)
        number = self._number.get(mark)
        if number is None:
            number = self._number[mark] = len(self.counters)
            topology = self.domains_by_key.get(key)
            machines = [self._residents.machines([row]) for row in weights]
            times = np.repeat(list(weights.values()), list(map(len, machines)))
            where = topology.domain[np.concatenate(machines)]
            known = where >= 0
            start = np.bincount(where[known], weights=times[known], minlength=topology.count).astype(np.int64)
            self.counters.append(Counter(topology.domain, start, start, topology.coarse))
        return number

    def matching_all(self, selectors: Sequence[TaskSelector]) -> Int64:
        """Return the rows of the classes that all of ``selectors`` match."""
        rows = self._selector.matching(selectors[0])
        for selector in selectors[1:]:
            if not len(rows):
                break
            rows = np.intersect1d(rows, self._selector.matching(selector), assume_unique=True)
        return rows


def _count_per_domain(machines: Int64, topology: Domains, domain: Int64) -> Int64:
    where = domain[machines]
    return np.bincount(where[where >= 0], minlength=topology.count).astype(np.int64)


# --- The tasks that are on machines when a round begins, by class.


MANY = 32
"""With at least this number of classes, filtering all tasks is faster than joining the tasks of each class."""


_SHORT = 2**16
"""Up to this number of class rows, rows are sorted as 16-bit numbers."""


class ResidentTasks:
    """Bound and assumed tasks on known machines, grouped by the row of their class."""

    def __init__(self, cluster: Cluster, *, without: int = -1) -> None:
        """``without``: row of a task that is not counted; -1 for none."""
        tasks = cluster.tasks
        on = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
        on = on[on != without]
        rows = tasks.cls[on]
        counts = np.bincount(rows)
        if len(counts) <= _SHORT:
            rows = rows.astype(np.uint16)  # numpy sorts 16-bit numbers by radix, ten times as fast.
        on = on[np.argsort(rows, kind="stable")]
        self.classes = np.flatnonzero(counts)
        """int64: rows of the classes that have tasks on machines, ascending."""
        self._tasks = on
        self._bounds = np.cumsum(np.r_[0, counts])
        self._machine = tasks.machine[on]
        self._settled = tasks.state[on] == TaskPhase.BOUND

    def machines(self, classes: Iterable[int], *, settled: bool = False) -> Int64:
        """Return the machine (row) of every task of ``classes``; if ``settled``, only of bound tasks."""
        rows = self._list_present(classes)
        if len(rows) > MANY:
            member = np.zeros(len(self._bounds) - 1, dtype=np.bool_)
            member[rows] = True
            among = np.repeat(member, np.diff(self._bounds))
            return self._machine[among & self._settled if settled else among]
        parts = []
        for row in rows:
            span = self._span(row)
            machine = self._machine[span]
            parts.append(machine[self._settled[span]] if settled else machine)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def tasks(self, classes: Iterable[int]) -> Int64:
        """Return the row of every task of ``classes`` that is on a machine."""
        parts = [self._tasks[self._span(row)] for row in self._list_present(classes)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _list_present(self, classes: Iterable[int]) -> list[int]:
        """Return ``classes`` without those that are newer than every class that has tasks on machines."""
        known = len(self._bounds) - 1
        return [row for row in classes if row < known]

    def _span(self, row: int) -> slice:
        """Return the range of indexes at which the tasks of a class are stored."""
        return slice(int(self._bounds[row]), int(self._bounds[row + 1]))
