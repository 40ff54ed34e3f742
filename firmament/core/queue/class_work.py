"""Estimates how much work a round has with a class, by what its tasks state.

The unit is one *look* at one machine. Rules say how often a round looks at every machine because of what tasks state.
In addition, a class takes time that does not depend on the number of machines, and more time if machines are refused to
it. Each waiting class that a term about other tasks selects is more work. The weights are measured, on the kinds of
`python -m benchmarks hostile`, and within a factor of three of each other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.rules.registry import (
    NodeRules,
    count_looks_at_others,
    count_pairing,
    list_stating_rules,
)
from firmament.core.state.cluster import Cluster

ORDINARY = 64
"""Most looks at each machine for an ordinary class. Ten rules of any kind take fewer."""

PAIR = 1_000
"""Looks at a machine for each waiting class that a term of another waiting class selects."""

_SAMPLE = 4
"""Number of a class's terms that are checked for how many classes they select; the others are assumed to be alike."""

TASKS_PER_LOOK = 8
"""How many tasks of an expensive class, which are placed one by one, are as much work as the class itself."""

_OF_BEING_CHOOSY = 40
"""Additional looks at each machine for a class that some machines refuse, whatever the rules are."""

PLAIN_LOOKS = 6_000
"""How often a round of classes without rules checks machines for one class, in all: on 10,000 machines less than once
each.
"""

_OF_A_GROUP, _AT_MACHINES_OF_A_GROUP = 150_000, 10
"""Looks at one machine for a group over a tree, in all, and at each machine in addition."""

_LOOKS_LIKE_A_CLASS = 16
"""This many looks for rules about other tasks take as much machine-independent time as one more class."""


class ClassWork:
    """Estimates how many evaluations of all machines the classes of a cluster take.

    ``looks``: int64[C] by class row, each class alone; ``terms``: int64[C], number of its terms about other tasks.
    ``class_looks``: looks at one machine for a class, independent of the number of machines.
    """

    def __init__(self, cluster: Cluster, rules: NodeRules, class_looks: int) -> None:
        self._cluster, self._rules = cluster, rules
        self._class_looks = class_looks
        self.looks = self.terms = self._choosy = self._fixed = np.empty(0, dtype=np.int64)

    def estimate_new(self) -> None:
        """Estimate the classes that have been defined since the last call."""
        rows, known = self._cluster.classes.rows, len(self.looks)
        count = len(rows) - known
        if not count:
            return
        common = self._rules.count_common_looks([row.content for row in rows[known:]])
        self.looks = np.append(self.looks, common)
        self.terms = np.append(self.terms, np.zeros(count, dtype=np.int64))
        self._choosy = np.append(self._choosy, np.zeros(count, dtype=np.int64))
        self._fixed = np.append(self._fixed, np.ones(count, dtype=np.int64))
        stating = list_stating_rules(self._cluster, self._rules)
        for row in stating[bisect_left(stating, known) :]:  # most classes of a large burst state no rule
            content = rows[row].content
            self.looks[row] = self._rules.count_looks(content)
            self.terms[row] = count_pairing(content)
            self._choosy[row] = self._rules.is_choosy(content)
            self._fixed[row] += count_looks_at_others(content) // _LOOKS_LIKE_A_CLASS

    def forget(self) -> None:
        """Forget everything, as rows now stand for other classes."""
        self.looks = self.terms = self._choosy = self._fixed = self.looks[:0]

    def list_extra(self, machines: int) -> Int64:
        """Return for each class the evaluations of ``machines`` machines that it takes in addition to its rules:
        int64[C].
        """
        return self._choosy * _OF_BEING_CHOOSY + self._fixed * self._class_looks // max(1, machines)

    def find_plain(self) -> Bool:
        """Return which classes state no rule at all: bool[C]."""
        plain: Bool = (self.looks <= 1) & (self._choosy == 0) & (self.terms == 0)
        return plain

    def count_among(self, row: int, present: Bool) -> int:
        """Return the evaluations of all machines that a class takes in addition because its terms select some of the
        classes ``present`` (bool[C]).
        """
        return self.count_selected(row, present) * PAIR // max(1, len(self._cluster.machines))

    def count_selected(self, row: int, present: Bool) -> int:
        """Estimate how many pairs there are of a term of class ``row`` and a class in ``present`` (bool[C]) that this
        term selects.

        A sample of the terms is counted, and stands for all.
        """
        if not self.terms[row]:
            return 0
        selector = self._cluster.selector()
        held = selector.list_terms(row)
        some = held[:_SAMPLE]
        found = sum(int(np.count_nonzero(present[selector.find_selected(term)])) for term in some)
        return found * len(held) // len(some)


def count_group_looks(machines: int) -> int:
    """Return the evaluations of ``machines`` machines that a group over a tree takes in addition to its tasks."""
    return _AT_MACHINES_OF_A_GROUP + _OF_A_GROUP // max(1, machines)


def estimate_work(looks: Int64, counts: Int64, expensive: Bool) -> Int64:
    """Return the evaluations that ``counts`` tasks of each class take: int64[C]."""
    again = np.where(expensive, counts // TASKS_PER_LOOK, 0)
    work: Int64 = np.where(counts > 0, looks * (1 + again), 0)
    return work


@dataclass(frozen=True, slots=True)
class Unit:
    """Tasks that are tried together: of one class, or of a gang."""

    namespace: str
    """Namespace of the tasks."""
    rows: Int64
    """Rows of the tasks."""
    looks: int
    """Looks at all machines for the class or gang itself."""
    per_task: float
    """Looks at all machines for each task."""
    put_off: int
    """Number of the round that first put off one of the tasks."""
    priority: int
    """Priority of the tasks."""
    first: int
    """The first row."""
    whole: bool
    """Whether all must be tried together."""

    def work(self, count: int) -> int:
        """Return the evaluations that ``count`` of the tasks take, at least one."""
        return self.looks + int((count - 1) * self.per_task)

    def affordable(self, most: int) -> int:
        """Return how many of the tasks can be tried with ``most`` evaluations; for a gang all or none."""
        count = len(self.rows)
        if self.work(count) <= most:
            return count
        if self.whole or self.looks > most:
            return 0
        return 1 + int((most - self.looks) / self.per_task)


def unit_of_gang(
    cluster: Cluster,
    namespace: str,
    rows: Int64,
    since: Int64,
    looks: Int64,
    expensive: Bool,
    of_group: int,
) -> Unit:
    """Return a gang's tasks (int64[N] rows) as a unit, with ``of_group`` looks in addition to those for its classes.

    The other parameters are as in ``units_of_classes``.
    """
    tasks = cluster.tasks
    classes = np.unique(tasks.cls[rows])
    found = looks[classes]
    return Unit(
        namespace=namespace,
        rows=rows[np.lexsort((tasks.sequence[rows], since))],
        looks=int(found.sum()) + of_group,
        per_task=float(found.mean()) / TASKS_PER_LOOK if expensive[classes].any() else 0.0,
        put_off=int(since.min()),
        priority=int(tasks.priority[rows].max()),
        first=int(tasks.sequence[rows].min()),
        whole=True,
    )


def units_of_classes(
    cluster: Cluster,
    rows: Int64,
    namespaces: tuple[Sequence[str], Int64],
    since: Int64,
    looks: Int64,
    expensive: Bool,
) -> list[Unit]:
    """Return a unit for each namespace and class of tasks (int64[N] rows) that belong to no gang.

    ``namespaces``: names, and int64[N] indices into these; ``since``: int64[N], the round that first put each task off;
    ``looks`` and ``expensive``: by class row. There may be thousands of classes, so only the last step is a loop.
    """
    if not len(rows):
        return []
    tasks, (names, namespace) = cluster.tasks, namespaces
    order = np.lexsort((tasks.sequence[rows], since, tasks.cls[rows], namespace))
    rows, since, namespace = rows[order], since[order], namespace[order]
    cls, sequence = tasks.cls[rows], tasks.sequence[rows]
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = (cls[1:] != cls[:-1]) | (namespace[1:] != namespace[:-1])
    at = np.flatnonzero(begins)
    of = cls[at]
    columns = (
        namespace[at],
        at,
        np.append(at[1:], len(rows)),
        looks[of],
        np.where(expensive[of], looks[of] / TASKS_PER_LOOK, 0.0),
        since[at],
        np.maximum.reduceat(tasks.priority[rows], at),
        np.minimum.reduceat(sequence, at),
    )
    return [
        Unit(names[name], rows[begin:end], work, per_task, first_put_off, priority, first, whole=False)
        for name, begin, end, work, per_task, first_put_off, priority, first in zip(
            *[column.tolist() for column in columns], strict=True
        )
    ]
