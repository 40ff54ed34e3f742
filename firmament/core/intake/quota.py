"""How much one cluster may consist of: whoever describes it must not use up the memory of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from firmament.core.configuration import Quota
from firmament.core.events import (
    ClassDefined,
    Event,
    InvalidEventError,
    JobDefined,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)

if TYPE_CHECKING:
    from firmament.core.state.cluster import Cluster

T = TypeVar("T")

MOST_KINDS = 1000
"""Kinds of records per cluster. Models read a handful."""


class QuotaExceededError(InvalidEventError):
    """Events that would make the cluster larger than it may be; nothing of them has been applied."""


def check_quota(cluster: Cluster, events: Sequence[Event], quota: Quota) -> None:
    """Raise ``QuotaExceededError`` if there would be too much of something after all of ``events``.

    What they remove does not count: room that is made in one batch can be used from the next one on.
    """
    kinds = Counter(map(type, events))
    if kinds[MachineUpserted]:
        machines = (event.machine.name for event in events if isinstance(event, MachineUpserted))
        _check("machines", quota.machines, cluster.machines.row_of, kinds[MachineUpserted], machines)
    if kinds[ClassDefined]:
        numbers = (event.id for event in events if isinstance(event, ClassDefined))
        _check("classes", quota.classes, cluster.classes.numbers, kinds[ClassDefined], numbers)
    if kinds[JobDefined]:
        jobs = (event.job.id for event in events if isinstance(event, JobDefined))
        _check("jobs", quota.tasks, cluster.jobs.ids, kinds[JobDefined], jobs)
    if kinds[TasksSubmitted] or kinds[TasksBound]:
        named = [event.uids for event in events if isinstance(event, (TasksSubmitted, TasksBound))]
        tasks = (uid for uids in named for uid in uids)
        _check("tasks", quota.tasks, cluster.tasks.row_of, sum(map(len, named)), tasks)
    if kinds[RecordUpserted]:
        records = {(event.kind, event.name) for event in events if isinstance(event, RecordUpserted)}
        _check("records", quota.records, cluster.records, len(records), records)
        record_kinds = {kind for kind, _ in records}
        _check("kinds of records", MOST_KINDS, cluster.records.payloads, len(record_kinds), record_kinds)


def _check(what: str, most: int, known: Collection[T], count: int, named: Iterable[T]) -> None:
    """``named`` are at most ``count`` different ones; they are gone through only where that might be too many."""
    if len(known) + count <= most:
        return
    new = sum(each not in known for each in set(named))
    if len(known) + new > most:
        raise QuotaExceededError(
            f"{what}: {len(known)} are there, and {new} more would exceed {most} per cluster; remove some, or raise "
            "the section limits of the solver's configuration"
        )
