"""Estimates how much work a class causes in a round, by what its tasks state.

The unit of work is one *check*: one comparison of a class with one machine. Rules say how often a round checks every
machine because of what tasks state. In addition, a class takes time that does not depend on the number of machines,
and more time if rules refuse machines to it. Each waiting class that a term about other tasks selects adds work. The
weights were measured with the kinds of tasks of `python -m benchmarks hostile`; the times that checks really take
differ by at most a factor of three.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.rules.registry import (
    NodeRules,
    count_checks_of_pod_rules,
    count_pairing,
    list_stating_rules,
)
from firmament.core.state.cluster import Cluster

ORDINARY = 64
"""A class with at most this many checks of each machine is ordinary; all others are expensive. Ten rules of any kind
take fewer checks."""

PAIR = 1_000
"""Checks of one machine for each waiting class that a term of another waiting class selects."""

_SAMPLE = 4
"""How many terms of a class are examined to count the classes that they select.

The other terms are assumed to select as many.
"""

TASKS_PER_CHECK = 8
"""How many tasks of an expensive class, which are placed one by one, cause as much work as the class itself."""

_OF_BEING_CHOOSY = 40
"""Additional checks of each machine for a class to which rules refuse some machines, whatever the rules are."""

PLAIN_CHECKS = 6_000
"""How many checks of machines a round takes in all for a class without rules: on 10,000 machines, less than one check
per machine.
"""

_OF_A_GROUP, _AT_MACHINES_OF_A_GROUP = 150_000, 10
"""For a group over a tree: the checks of single machines that it takes in all, and the additional checks of each
machine."""

_CHECKS_LIKE_A_CLASS = 16
"""This many checks for rules about other tasks take as much machine-independent time as one more class."""


class ClassWork:
    """Estimates how many checks of all machines the classes of a cluster take.

    ``checks``: int64[C] by class row, for each class alone. ``terms``: int64[C], the number of each class's terms
    about other tasks. ``class_checks``: the time of a class that does not depend on the number of machines, expressed
    as checks of one machine.
    """

    def __init__(self, cluster: Cluster, rules: NodeRules, class_checks: int) -> None:
        self._cluster, self._rules = cluster, rules
        self._class_checks = class_checks
        self.checks = self.terms = self._choosy = self._fixed = np.empty(0, dtype=np.int64)

    def estimate_new(self) -> None:
        """Estimate the work of classes that have been defined since the last call."""
        rows, known = self._cluster.classes.rows, len(self.checks)
        count = len(rows) - known
        if not count:
            return
        common = self._rules.count_common_checks([row.content for row in rows[known:]])
        self.checks = np.append(self.checks, common)
        self.terms = np.append(self.terms, np.zeros(count, dtype=np.int64))
        self._choosy = np.append(self._choosy, np.zeros(count, dtype=np.int64))
        self._fixed = np.append(self._fixed, np.ones(count, dtype=np.int64))
        stating = list_stating_rules(self._cluster, self._rules)
        for row in stating[bisect_left(stating, known) :]:  # Most classes of a large burst state no rule.
            content = rows[row].content
            self.checks[row] = self._rules.count_checks(content)
            self.terms[row] = count_pairing(content)
            self._choosy[row] = self._rules.is_choosy(content)
            self._fixed[row] += count_checks_of_pod_rules(content) // _CHECKS_LIKE_A_CLASS

    def forget(self) -> None:
        """Forget all estimates, because rows now stand for other classes."""
        self.checks = self.terms = self._choosy = self._fixed = self.checks[:0]

    def list_extra(self, machines: int) -> Int64:
        """Return how many checks each class takes at ``machines`` machines in addition to its rules: int64[C]."""
        return self._choosy * _OF_BEING_CHOOSY + self._fixed * self._class_checks // max(1, machines)

    def find_plain(self) -> Bool:
        """Return which classes state no rule at all: bool[C]."""
        plain: Bool = (self.checks <= 1) & (self._choosy == 0) & (self.terms == 0)
        return plain

    def count_among(self, row: int, present: Bool) -> int:
        """Return the additional checks of a class for terms that select some of the classes ``present`` (bool[C])."""
        return self.count_selected(row, present) * PAIR // max(1, len(self._cluster.machines))

    def count_selected(self, row: int, present: Bool) -> int:
        """Estimate how many pairs of a term and a selected class there are, for the terms of class ``row``.

        ``present``: bool[C], the classes that count.

        A sample of the terms is examined, and stands for all terms.
        """
        if not self.terms[row]:
            return 0
        selector = self._cluster.selector()
        held = selector.list_terms(row)
        some = held[:_SAMPLE]
        found = sum(int(np.count_nonzero(present[selector.find_selected(term)])) for term in some)
        return found * len(held) // len(some)


def count_group_checks(machines: int) -> int:
    """Return how many checks a group over a tree takes at ``machines`` machines in addition to its tasks."""
    return _AT_MACHINES_OF_A_GROUP + _OF_A_GROUP // max(1, machines)


def estimate_work(checks: Int64, counts: Int64, expensive: Bool) -> Int64:
    """Return how many checks ``counts`` tasks of each class take: int64[C]."""
    again = np.where(expensive, counts // TASKS_PER_CHECK, 0)
    work: Int64 = np.where(counts > 0, checks * (1 + again), 0)
    return work


@dataclass(frozen=True, slots=True)
class Unit:
    """Tasks that are tried together: those of one class, or those of a gang."""

    namespace: str
    """Namespace of the tasks."""
    rows: Int64
    """The tasks' rows in the task table."""
    checks: int
    """Checks of all machines for the class or gang itself."""
    per_task: float
    """Checks of all machines for each task of the unit."""
    put_off: int
    """The number of the round that first put off one of the unit's tasks."""
    priority: int
    """Priority of the tasks."""
    first: int
    """The first row of the unit's tasks."""
    whole: bool
    """Whether all tasks of the unit must be tried together."""

    def work(self, count: int) -> int:
        """Return how many checks ``count`` of the tasks take; at least one."""
        return self.checks + int((count - 1) * self.per_task)

    def affordable(self, most: int) -> int:
        """Return how many of the tasks can be tried with ``most`` checks; for a gang, all or none."""
        count = len(self.rows)
        if self.work(count) <= most:
            return count
        if self.whole or self.checks > most:
            return 0
        return 1 + int((most - self.checks) / self.per_task)


def unit_of_gang(
    cluster: Cluster,
    namespace: str,
    rows: Int64,
    since: Int64,
    checks: Int64,
    expensive: Bool,
    of_group: int,
) -> Unit:
    """Return a gang's tasks (int64[N] rows) as a unit, with ``of_group`` checks in addition to those for its classes.

    The parameters not named here are as in ``units_of_classes``.
    """
    tasks = cluster.tasks
    classes = np.unique(tasks.cls[rows])
    found = checks[classes]
    return Unit(
        namespace=namespace,
        rows=rows[np.lexsort((tasks.sequence[rows], since))],
        checks=int(found.sum()) + of_group,
        per_task=float(found.mean()) / TASKS_PER_CHECK if expensive[classes].any() else 0.0,
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
    checks: Int64,
    expensive: Bool,
) -> list[Unit]:
    """Return a unit for each namespace and class of tasks (int64[N] rows) that belong to no gang.

    ``namespaces``: names, and int64[N] indices into these names. ``since``: int64[N], the round that first put off
    each task. ``checks`` and ``expensive``: by class row. A cluster may have thousands of classes, so only the last
    step is a loop.
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
        checks[of],
        np.where(expensive[of], checks[of] / TASKS_PER_CHECK, 0.0),
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
