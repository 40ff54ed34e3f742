"""Sets aside classes that make rounds fail, so that the tasks of all other classes are placed.

A class may pass validation and still make a model or a rule raise an exception; then every round would fail as long
as its tasks wait. Tasks of a class that makes rounds fail therefore wait, with a reason, like tasks refused for good,
until the class is defined again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.events import ClassDefined, Event
from firmament.core.model import TaskClass
from firmament.core.results import Unscheduled
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import readmit, set_aside

T = TypeVar("T")


class SetAside:
    """The classes that are set aside, with the reasons (``why``); ``unreported``: new reasons, by uid."""

    def __init__(self) -> None:
        self.why: dict[TaskClass, str] = {}
        self.unreported: dict[str, str] = {}

    def add(self, cluster: Cluster, contents: Iterable[TaskClass], why: str) -> None:
        """Set classes aside, and forget classes that no longer exist."""
        known = {row.content for row in cluster.classes.rows}
        self.why = {content: text for content, text in self.why.items() if content in known}
        self.why.update(dict.fromkeys(contents, why))

    def note_defined(self, cluster: Cluster, events: Sequence[Event]) -> None:
        """Let the classes that ``events`` have defined again take part in rounds again."""
        again = {event.task_class for event in events if isinstance(event, ClassDefined)} & self.why.keys()
        if again:
            rows = cluster.tasks.in_state(TaskPhase.PENDING)
            rows = rows[_find_tasks(cluster, rows, again)]
            readmit(cluster, rows)
            for content in again:
                del self.why[content]

    def choose(self, cluster: Cluster, waiting: Int64, only: frozenset[TaskClass] | None) -> Int64:
        """Return the ``waiting`` tasks (rows) that take part in a round, and mark tasks of failing classes refused.

        ``only``: also leave out all tasks of other classes, without a reason.
        """
        if self.why:
            tasks, aside = cluster.tasks, _find_tasks(cluster, waiting, self.why.keys())
            for row in waiting[aside & (tasks.state[waiting] == TaskPhase.PENDING)].tolist():
                why = self.why[cluster.classes.rows[int(tasks.cls[row])].content]
                set_aside(cluster, row, why)
                self.unreported[tasks.uid[row]] = why
            waiting = waiting[~aside]
        return waiting if only is None else waiting[_find_tasks(cluster, waiting, only)]

    def take_notices(self, cluster: Cluster) -> list[Unscheduled]:
        """Return the messages for tasks that were set aside since the last call and still are."""
        found: dict[str, list[str]] = {}
        for uid, why in self.unreported.items():
            task = cluster.tasks.row_of.get(uid)
            if task is not None and cluster.tasks.refused[task]:
                found.setdefault(why, []).append(uid)
        self.unreported.clear()
        return [Unscheduled(tuple(uids), why) for why, uids in found.items()]


def waiting_classes(cluster: Cluster) -> list[TaskClass]:
    """Return the classes of the tasks that wait to be placed, in order of their rows."""
    tasks = cluster.tasks
    pending = tasks.in_state(TaskPhase.PENDING)
    rows = np.unique(tasks.cls[pending[~tasks.unschedulable[pending]]]).tolist()
    return [cluster.classes.rows[row].content for row in rows]


def find_culprits(candidates: Sequence[T], fails: Callable[[Sequence[T]], bool], budget: int) -> list[T]:
    """Return those of ``candidates`` that fail alone, given that all together fail; ``fails`` tries a group of them.

    The result is empty if ``budget`` trials do not suffice, or if all candidates fail alone: then no single class is
    the cause.
    """
    found: list[T] = []
    rest = [list(candidates)]
    while rest:
        group = rest.pop()
        if len(group) == 1:
            found += group
            continue
        for half in (group[len(group) // 2 :], group[: len(group) // 2]):
            budget -= 1
            if budget < 0:
                return []
            if half and fails(half):
                rest.append(half)
    return found if len(found) < len(candidates) else []


def _find_tasks(cluster: Cluster, rows: Int64, contents: Iterable[TaskClass]) -> Bool:
    """Return which of the tasks ``rows`` are of one of the classes ``contents``: bool[N]."""
    wanted = set(contents)
    cls = cluster.tasks.cls[rows]
    chosen = [each for each in np.unique(cls).tolist() if cluster.classes.rows[each].content in wanted]
    return np.isin(cls, chosen)
