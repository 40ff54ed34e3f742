"""Checks events before any of them is applied, so that a bad one in a batch changes nothing.

Each event must fit the cluster as it is by then, and the cluster must not grow beyond its limits, so that no
driver uses up the memory of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from firmament.core.configuration import SizeLimits
from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    Event,
    InvalidEventError,
    JobDefined,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import TaskClass
from firmament.core.rules.registry import find_malformed
from firmament.core.state.classes import ClassTable
from firmament.core.state.cluster import Cluster

T = TypeVar("T")


def validate(events: Sequence[Event], known: ClassTable) -> bool:
    """Raise ``InvalidEventError`` for the first event that could not be applied after those before it.

    Returns whether all events that submit or bind tasks name different ones.
    """
    changed: dict[int, TaskClass | None] = {}
    uids, count = set[str](), 0  # one set for all, as it is the dearest part of looking at an event

    def content_of(number: int) -> TaskClass | None:
        return changed[number] if number in changed else known.content(number)

    for event in events:
        match event:
            case ClassDefined(number, content):
                _task_class(number, content, content_of(number))
                changed[number] = content
            case ClassRemoved(number):
                defined = content_of(number) is not None
                _require(defined, f"task class {number}: removed, but it is not defined; remove a class once")
                changed[number] = None
            case TasksSubmitted() | TasksBound():
                if content_of(event.task_class) is None:
                    raise InvalidEventError(
                        f"tasks: task class {event.task_class} is not defined; define a class before its tasks"
                    )
                count += len(event.uids)
                _note_named(event.uids, uids, count)
    return len(uids) == count


def _note_named(uids: Sequence[str], named: set[str], count: int) -> None:
    """Add the tasks of an event to ``named``, ``count`` in all; refuse an event that gives a task twice."""
    named.update(uids)
    if len(named) < count:
        for uid, times in Counter(uids).items():
            _require(times == 1, f"tasks: {uid!r} is given twice in one event; send each task once")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidEventError(message)


def _task_class(number: int, content: TaskClass, former: TaskClass | None) -> None:
    """Check a class; ``former``: what its number stands for already."""
    owner = f"task class {number}"
    _require(
        former is None or former == content,
        f"{owner}: already defined with other content; use a new number",
    )
    malformed = find_malformed(content)
    _require(not malformed, f"{owner}: {malformed}")


MOST_KINDS = 1000
"""Kinds of records per cluster. Models read a handful."""


class TooLargeClusterError(InvalidEventError):
    """Events that would make the cluster larger than it may be; nothing of them has been applied."""


def check_size(cluster: Cluster, events: Sequence[Event], limits: SizeLimits) -> None:
    """Raise ``TooLargeClusterError`` if there would be too much of something after all of ``events``.

    Removals in the same batch do not count: room that a batch makes can be used from the next batch on.
    """
    kinds = Counter(map(type, events))
    if kinds[MachineUpserted]:
        machines = (event.machine.name for event in events if isinstance(event, MachineUpserted))
        _check("machines", limits.machines, cluster.machines.row_of, kinds[MachineUpserted], machines)
    if kinds[ClassDefined]:
        numbers = (event.id for event in events if isinstance(event, ClassDefined))
        _check("classes", limits.classes, cluster.classes.numbers, kinds[ClassDefined], numbers)
    if kinds[JobDefined]:
        jobs = (event.job.id for event in events if isinstance(event, JobDefined))
        _check("jobs", limits.tasks, cluster.jobs.ids, kinds[JobDefined], jobs)
    if kinds[TasksSubmitted] or kinds[TasksBound]:
        named = [event.uids for event in events if isinstance(event, (TasksSubmitted, TasksBound))]
        tasks = (uid for uids in named for uid in uids)
        _check("tasks", limits.tasks, cluster.tasks.row_of, sum(map(len, named)), tasks)
    if kinds[RecordUpserted]:
        records = {(event.kind, event.name) for event in events if isinstance(event, RecordUpserted)}
        _check("records", limits.records, cluster.records, len(records), records)
        record_kinds = {kind for kind, _ in records}
        _check("kinds of records", MOST_KINDS, cluster.records.payloads, len(record_kinds), record_kinds)


def _check(what: str, most: int, known: Collection[T], count: int, named: Iterable[T]) -> None:
    """Check that ``named`` has at most ``count`` different items; count them only if there might be too many."""
    if len(known) + count <= most:
        return
    new = sum(each not in known for each in set(named))
    if len(known) + new > most:
        raise TooLargeClusterError(
            f"{what}: {len(known)} are there, and {new} more would exceed {most} per cluster; remove some, or raise "
            "the section limits of the solver's configuration"
        )
