"""Applies events to a cluster: what each kind of event changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    Event,
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
from firmament.core.intake.bulk_insert import TaskIntake
from firmament.core.intake.validation import validate
from firmament.core.model import Job
from firmament.core.state import transitions, waiting
from firmament.core.state.cluster import Cluster
from firmament.core.state.task_description import date, describe, enlist, rank, regroup, rename
from firmament.core.state.tasks import State


def apply_events(cluster: Cluster, events: Sequence[Event], now: float) -> None:
    """Apply events in order, all or none; raises ``InvalidEventError`` before anything has changed."""
    distinct = validate(events, cluster.classes)
    intake = TaskIntake(cluster, now, distinct=distinct)
    for event in events:
        if isinstance(event, (TasksSubmitted, TasksBound)):
            if not intake.take(event):
                _apply_singly(cluster, event, intake, now)
        else:
            intake.flush()
            _apply(cluster, event)
    intake.flush()
    if not all(isinstance(event, (MachineSampled, TaskSampled)) for event in events):
        cluster.version += 1  # no rule looks at use, so decisions in the making stand


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
            waiting.rouse(cluster, job_id)
        case ClassDefined(number, content):
            cluster.classes.define(number, content)
        case ClassRemoved(number):
            cluster.classes.remove(number)
        case TaskRemoved(uid):
            task = cluster.tasks.row_of.get(uid)
            if task is not None:
                transitions.forget(cluster, task)
        case MachineSampled() | MachineSampleRemoved() | TaskSampled():
            cluster.take_report(event)
        case RecordUpserted(kind, name, payload):
            cluster.keep_record(kind, name, payload)
        case RecordRemoved(kind, name):
            cluster.drop_record(kind, name)


# --- tasks ----------------------------------------------------------------------------------------------------------


def _apply_singly(
    cluster: Cluster, event: TasksSubmitted | TasksBound, intake: TaskIntake, now: float
) -> None:
    """Apply an event some of whose tasks are known already."""
    cls = cluster.classes.row(event.task_class)
    for index, uid in enumerate(event.uids):
        task = cluster.tasks.row_of.get(uid)
        if task is None:
            intake.take(_alone(event, index))
            continue
        intake.flush()
        if isinstance(event, TasksBound):
            _bind(cluster, task, cls, event, index, now)
        elif cluster.tasks.state[task] == State.PENDING:  # one that has a machine keeps it, and what it is
            describe(cluster, task, cls, event, index)


def _alone(event: TasksSubmitted | TasksBound, index: int) -> TasksSubmitted | TasksBound:
    """The part of an event that is about one of its tasks."""
    one = slice(index, index + 1)
    if isinstance(event, TasksBound):
        return replace(
            event,
            uids=event.uids[one],
            names=event.names[one],
            assigned=event.assigned[one],
            initialized=event.initialized[one],
        )
    return replace(event, uids=event.uids[one], names=event.names[one], created=event.created[one])


def _bind(cluster: Cluster, task: int, cls: int, event: TasksBound, index: int, now: float) -> None:
    """A task that was assumed where it is now only changes its state; any other comes to its machine."""
    if cluster.where(task) == event.machine and cluster.tasks.cls[task] == cls:
        transitions.find_bound(cluster, task, now)
        rename(cluster, task, event, index)
        enlist(cluster, task, event.job)
    else:
        enlist(cluster, task, event.job)
        waiting.rouse(cluster, event.job)  # a gang may now need one less
        transitions.arrive_bound(cluster, task, cls, event.machine, now)
    rank(cluster, task, event)
    regroup(cluster, task, event.spread_group)
    date(cluster, task, event, index)


# --- jobs -----------------------------------------------------------------------------------------------------------


def _define_job(cluster: Cluster, job: Job) -> None:
    before = cluster.jobs.gang(job.id)
    cluster.jobs.define(job)
    if cluster.jobs.gang(job.id) != before:
        waiting.rouse(cluster, job.id)
