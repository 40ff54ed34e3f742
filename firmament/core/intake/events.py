"""Applies a driver's events to a cluster.

A batch of events is first checked as a whole, so that an invalid event in it changes nothing. New tasks are added as
columns of arrays, however many events bring them. When a driver starts, it sends tens of thousands of events with one
task each, so as much as possible is done for many tasks at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, TypeVar

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.configuration import SizeLimits
from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    Event,
    InvalidEventError,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineSampled,
    MachineSampleRemoved,
    MachineUpserted,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, TaskClass
from firmament.core.rules.registry import find_malformed
from firmament.core.state import transitions, waiting
from firmament.core.state.classes import ClassTable
from firmament.core.state.cluster import Cluster
from firmament.core.state.task_description import (
    describe,
    enlist,
    group_new,
    rank,
    regroup,
    rename,
    store_stated_times,
    store_times,
)
from firmament.core.state.tasks import UNGROUPED, TaskPhase

TaskEvent = TypeVar("TaskEvent", bound=TasksSubmitted | TasksBound)
T = TypeVar("T")

MOST_KINDS = 1000
"""The most kinds of records per cluster; models read a handful."""


def apply_events(cluster: Cluster, events: Sequence[Event], now: float) -> None:
    """Apply events in order, all or none; raise ``InvalidEventError`` before anything has changed."""
    distinct = validate(events, cluster.classes)
    intake = TaskIntake(cluster, now, distinct=distinct)
    for event in events:
        if isinstance(event, (TasksSubmitted, TasksBound)):
            if not intake.apply(event):
                _apply_singly(cluster, event, intake, now)
        else:
            intake.flush()
            _apply(cluster, event)
    intake.flush()
    if not all(isinstance(event, (MachineSampled, TaskSampled)) for event in events):
        cluster.version += (
            # Reports of use do not count as changes, as no rule considers them, so the decisions of an open round
            # stay valid.
            1
        )


def _apply(cluster: Cluster, event: Event) -> None:
    match event:
        case MachineUpserted(machine):
            cluster.upsert_machine(machine)
        case MachineRemoved(name):
            cluster.remove_machine(name)
        case JobDefined(job):
            _define_job(cluster, job)
        case JobRemoved(id=job_id):
            cluster.jobs.remove(job_id)
            waiting.activate_members(cluster, job_id)
        case ClassDefined(number, content):
            cluster.classes.define(number, content)
        case ClassRemoved(number):
            cluster.classes.remove(number)
        case TaskRemoved(uid):
            task = cluster.tasks.row_of.get(uid)
            if task is not None:
                transitions.forget(cluster, task)
        case MachineSampled() | MachineSampleRemoved() | TaskSampled():
            cluster.reports.apply(event)
        case RecordUpserted(kind, name, payload):
            cluster.keep_record(kind, name, payload)
        case RecordRemoved(kind, name):
            cluster.drop_record(kind, name)


# --- Checks before any event is applied. Each event of a batch must be valid after the events before it. The cluster
# must stay within its limits, so that no driver uses up the memory of all drivers.


def validate(events: Sequence[Event], known: ClassTable) -> bool:
    """Raise ``InvalidEventError`` for the first event that could not be applied after those before it.

    Return whether no task occurs twice among those that the events submit or bind.
    """
    changed: dict[int, TaskClass | None] = {}
    # All events share one set of uids, as building it is the most expensive part.
    uids, count = set[str](), 0

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
    """Add the tasks of an event to ``named``, ``count`` in all; raise for an event that names a task twice."""
    named.update(uids)
    if len(named) < count:
        for uid, times in Counter(uids).items():
            _require(times == 1, f"tasks: {uid!r} is given twice in one event; send each task once")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidEventError(message)


def _task_class(number: int, content: TaskClass, former: TaskClass | None) -> None:
    """Check a class; ``former``: the content that its number has already, None for none."""
    owner = f"task class {number}"
    _require(
        former is None or former == content,
        f"{owner}: already defined with other content; use a new number",
    )
    malformed = find_malformed(content)
    _require(not malformed, f"{owner}: {malformed}")


class TooLargeClusterError(InvalidEventError):
    """Raised for events that would make the cluster larger than allowed; none of the events has been applied."""


def check_size(cluster: Cluster, events: Sequence[Event], limits: SizeLimits) -> None:
    """Raise ``TooLargeClusterError`` if ``events`` would make the cluster too large in any respect.

    Removals in the batch itself do not count: what a batch removes makes space only from the next batch on.
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
    """Check that ``named``, of at most ``count`` items, adds few enough; distinct items are counted only if needed."""
    if len(known) + count <= most:
        return
    new = sum(each not in known for each in set(named))
    if len(known) + new > most:
        raise TooLargeClusterError(
            f"{what}: {len(known)} are there, and {new} more would exceed {most} per cluster; remove some, or raise "
            "the section limits of the solver's configuration"
        )


# --- events about tasks ---------------------------------------------------------------------------------------------


def _apply_singly(
    cluster: Cluster, event: TasksSubmitted | TasksBound, intake: TaskIntake, now: float
) -> None:
    """Apply an event with some tasks that are known already."""
    cls = cluster.classes.row(event.task_class)
    for index, uid in enumerate(event.uids):
        task = cluster.tasks.row_of.get(uid)
        if task is None:
            intake.apply(select_task(event, index))
            continue
        intake.flush()
        if isinstance(event, TasksBound):
            _bind(cluster, task, cls, event, index, now)
        # Bound and assumed tasks keep their machine and description.
        elif cluster.tasks.state[task] == TaskPhase.PENDING:
            describe(cluster, task, cls, event, index)


def select_task(event: TaskEvent, index: int) -> TaskEvent:
    """Return the part of an event about several tasks that is about one of them."""
    if len(event.uids) == 1:
        return event
    columns = ("created",) if isinstance(event, TasksSubmitted) else ("assigned", "initialized", "created")
    of_one: dict[str, Any] = {
        name: getattr(event, name)[index : index + 1] for name in ("uids", "names", *columns)
    }
    return replace(event, **of_one)


def _bind(cluster: Cluster, task: int, cls: int, event: TasksBound, index: int, now: float) -> None:
    """Bind a task: if it is assumed on the machine, only its state changes; otherwise it comes to the machine."""
    if cluster.where(task) == event.machine and cluster.tasks.cls[task] == cls:
        if not event.assumed:
            transitions.find_bound(cluster, task, now)
        rename(cluster, task, event, index)
        enlist(cluster, task, event.job)
    else:
        enlist(cluster, task, event.job)
        waiting.activate_members(cluster, event.job)  # The gang may now need one waiting task less.
        transitions.arrive_bound(cluster, task, cls, event.machine, now)
        if event.assumed:
            transitions.await_bindings(cluster, np.array([task], dtype=np.int64))
    rank(cluster, task, event)
    regroup(cluster, task, event.spread_group)
    store_stated_times(cluster, task, event, index)


def _define_job(cluster: Cluster, job: Job) -> None:
    before = cluster.jobs.gang(job.id)
    cluster.jobs.define(job)
    if cluster.jobs.gang(job.id) != before:
        waiting.activate_members(cluster, job.id)


class TaskIntake:
    """Collects events about unknown tasks, and adds these tasks to the cluster in batches.

    The cluster is afterwards as if each event had been applied alone, in order. Before code applies another event, or
    reads a task that may be among the collected ones, it calls ``flush``. ``now``: the cluster's time. ``distinct``:
    no task is in two of the events.
    """

    def __init__(self, cluster: Cluster, now: float, *, distinct: bool) -> None:
        self._cluster = cluster
        self._now = now
        self._events: list[TasksSubmitted | TasksBound] = []  # All collected events are of one type.
        self._uids: set[str] | None = None if distinct else set()

    def apply(self, event: TasksSubmitted | TasksBound) -> bool:
        """Collect an event if all its tasks are new; otherwise flush, and return False."""
        if self._uids is not None and not self._uids.isdisjoint(event.uids):
            self.flush()
        if not self._cluster.tasks.row_of.keys().isdisjoint(event.uids):
            self.flush()
            return False
        if self._events and type(event) is not type(self._events[0]):
            self.flush()
        self._events.append(event)
        if self._uids is not None:
            self._uids.update(event.uids)
        return True

    def flush(self) -> None:
        """Add the collected tasks to the cluster."""
        if bound := [event for event in self._events if isinstance(event, TasksBound)]:
            _add_bound(self._cluster, bound, self._now)
        elif self._events:
            _add(self._cluster, self._events, _column(self._events, "created"), self._now)
        self._events.clear()
        if self._uids is not None:
            self._uids.clear()


def _add_bound(cluster: Cluster, events: Sequence[TasksBound], now: float) -> None:
    rows = _add(cluster, events, _column(events, "created"), now)
    sizes = [len(event.uids) for event in events]
    transitions.arrive_bound_all(cluster, rows, [event.machine for event in events], sizes, now)
    assumed = np.repeat([event.assumed for event in events], sizes)
    if assumed.any():
        transitions.await_bindings(cluster, rows[assumed])
    store_times(cluster, rows, _column(events, "assigned"), _column(events, "initialized"))


def _add(
    cluster: Cluster,
    events: Sequence[TasksSubmitted | TasksBound],
    created: Float64 | None,
    now: float,
) -> Int64:
    """Add the tasks of events as pending members of their jobs; return their rows: int64[N]."""
    sizes = [len(event.uids) for event in events]
    row_of_class = {number: cluster.classes.row(number) for number in {event.task_class for event in events}}
    uids = list(chain.from_iterable(event.uids for event in events))
    names = uids
    if any(event.names for event in events):
        names = list(chain.from_iterable(event.names or event.uids for event in events))
    rows = cluster.tasks.add_all(
        uids,
        names=names,
        jobs=list(chain.from_iterable(map(repeat, (event.job for event in events), sizes))),
        cls=np.repeat([row_of_class[event.task_class] for event in events], sizes),
        priority=np.repeat([event.priority for event in events], sizes),
        group_priority=_group_priorities(events, sizes),
        created=created,
        now=now,
    )
    if any(event.spread_group for event in events):
        group_new(cluster, rows, [event.spread_group for event in events], sizes)
    if any(event.job for event in events):
        numbers = rows.tolist()
        first = 0
        for event, size in zip(events, sizes, strict=True):
            cluster.jobs.enlist_all(numbers[first : first + size], event.job)
            first += size
        for job in cluster.jobs.gangs.intersection(event.job for event in events):
            waiting.activate_members(cluster, job)
    return rows


def _group_priorities(events: Sequence[TasksSubmitted | TasksBound], sizes: list[int]) -> Int64 | None:
    """Return the group priority of each task, int64[N], or None if no task has one."""
    stated = [event.group_priority for event in events]
    if all(each is None for each in stated):
        return None
    return np.repeat([UNGROUPED if each is None else each for each in stated], sizes)


def _column(events: Sequence[TasksSubmitted | TasksBound], field: str) -> Float64 | None:
    """Return a field of events for each task, float64[N]: 0 if an event does not state it; None if no event does."""
    given: list[Sequence[float]] = [getattr(event, field) for event in events]
    if not any(given):
        return None
    parts = (times or repeat(0.0, len(event.uids)) for event, times in zip(events, given, strict=True))
    return np.fromiter(chain.from_iterable(parts), dtype=np.float64)
