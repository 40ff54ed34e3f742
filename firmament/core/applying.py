"""Applies events to a cluster: what each kind of event changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from firmament.core.cluster import Cluster
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
from firmament.core.model import Job
from firmament.core.tasks import State
from firmament.core.validation import validate


def apply_events(cluster: Cluster, events: Sequence[Event], now: float) -> None:
    """Apply events in order, all or none; raises ``InvalidEventError`` before anything has changed."""
    validate(events, cluster.classes)
    for event in events:
        _apply(cluster, event, now)
    if not all(isinstance(event, (MachineSampled, TaskSampled)) for event in events):
        cluster.version += 1  # no rule looks at use, so decisions in the making stand


def _apply(cluster: Cluster, event: Event, now: float) -> None:  # noqa: C901 - one case per kind of event
    match event:
        case MachineUpserted(machine):
            cluster.upsert_machine(machine)
        case MachineRemoved(name):
            cluster.remove_machine(name)
        case JobDefined(job):
            _define_job(cluster, job)
        case JobRemoved(id=job_id):
            cluster.jobs.remove(job_id)
            _rouse(cluster, job_id)
        case ClassDefined(number, content):
            cluster.classes.define(number, content)
            cluster.resources.vector(content.requests)  # its resources have columns before any round looks
        case ClassRemoved(number):
            cluster.classes.remove(number)
        case TasksSubmitted():
            _submit(cluster, event, now)
        case TasksBound():
            _bind(cluster, event, now)
        case TaskRemoved(uid):
            _remove_task(cluster, uid)
        case MachineSampled() | MachineSampleRemoved() | TaskSampled():
            cluster.take_report(event)
        case RecordUpserted(kind, name, payload):
            cluster.keep_record(kind, name, payload)
        case RecordRemoved(kind, name):
            cluster.drop_record(kind, name)


# --- tasks ----------------------------------------------------------------------------------------------------------


def _submit(cluster: Cluster, event: TasksSubmitted, now: float) -> None:
    tasks = cluster.tasks
    cls = cluster.classes.row(event.task_class)
    for index, uid in enumerate(event.uids):
        name = event.names[index] if event.names else uid
        task = tasks.row_of.get(uid)
        if task is None:
            created = event.created[index] if event.created else 0.0
            task = tasks.add(
                uid, name=name, job=event.job, cls=cls, priority=event.priority, created=created, now=now
            )
            _enlist(cluster, task, event.job)
        elif tasks.state[task] == State.PENDING:
            changed = tasks.cls[task] != cls or tasks.priority[task] != event.priority or tasks.refused[task]
            tasks.cls[task], tasks.priority[task] = cls, event.priority
            tasks.name[task] = name
            _enlist(cluster, task, event.job)
            if changed:
                tasks.parked[task] = tasks.refused[task] = False
                tasks.revised[task] = True


def _bind(cluster: Cluster, event: TasksBound, now: float) -> None:
    """Tasks that were assumed where they are now only change their state; any others come to their machine."""
    tasks = cluster.tasks
    cls = cluster.classes.row(event.task_class)
    terminating = cluster.classes.rows[cls].content.terminating
    for index, uid in enumerate(event.uids):
        name = event.names[index] if event.names else uid
        task = tasks.row_of.get(uid)
        if task is None:
            task = tasks.add(
                uid, name=name, job=event.job, cls=cls, priority=event.priority, created=0.0, now=now
            )
            _enlist(cluster, task, event.job)
        elif cluster.where(task) == event.machine and tasks.cls[task] == cls:
            cluster.arrive(task, now)
            tasks.state[task], tasks.priority[task] = State.BOUND, event.priority
            tasks.name[task] = name
            _enlist(cluster, task, event.job)
            _date(cluster, task, event, index)
            continue
        else:
            _move_off(cluster, task, event, cls)
        tasks.assigned[task] = now
        cluster.number_arrival(task)
        _date(cluster, task, event, index)
        if terminating:
            tasks.leaving[task] = True
        tasks.state[task] = State.BOUND
        cluster.put(task, event.machine)


def _move_off(cluster: Cluster, task: int, event: TasksBound, cls: int) -> None:
    """Take a task off where it was thought to be: it is of another class (row), or on another machine."""
    tasks = cluster.tasks
    told_to_go = bool(tasks.leaving[task]) and cluster.where(task) == event.machine
    cluster.vacate(task)
    _enlist(cluster, task, event.job)
    _rouse(cluster, event.job)  # a gang may now need one less
    tasks.leaving[task] = told_to_go
    tasks.cls[task], tasks.priority[task] = cls, event.priority
    tasks.dated[task] = tasks.parked[task] = tasks.refused[task] = False
    tasks.message[task] = ""


def _date(cluster: Cluster, task: int, event: TasksBound, index: int) -> None:
    """Take over what an event knows of a task's times."""
    if event.assigned and event.assigned[index]:
        cluster.tasks.assigned[task] = event.assigned[index]
        cluster.tasks.dated[task] = True
    if event.initialized:
        cluster.tasks.initialized[task] = event.initialized[index]


def _remove_task(cluster: Cluster, uid: str) -> None:
    tasks = cluster.tasks
    task = tasks.row_of.get(uid)
    if task is not None:
        cluster.vacate(task)
        cluster.jobs.discharge(task, tasks.job[task])
        tasks.remove(task)
        cluster.task_samples.reset(task)


# --- jobs -----------------------------------------------------------------------------------------------------------


def _enlist(cluster: Cluster, task: int, job: str) -> None:
    """Let a task belong to a job. A gang that waits for members is looked at again when one arrives."""
    tasks = cluster.tasks
    if tasks.job[task] != job:
        cluster.jobs.discharge(task, tasks.job[task])
        tasks.job[task] = job
        tasks.revised[task] = True
        tasks.parked[task] = tasks.refused[task]
    cluster.jobs.enlist(task, job)
    if cluster.jobs.gang(job) is not None and tasks.revised[task]:
        _rouse(cluster, job)


def _define_job(cluster: Cluster, job: Job) -> None:
    before = cluster.jobs.gang(job.id)
    cluster.jobs.define(job)
    if cluster.jobs.gang(job.id) != before:
        _rouse(cluster, job.id)


def _rouse(cluster: Cluster, job: str) -> None:
    """Unpark the waiting members of a job: there may be enough of them now, or it may be no gang any more."""
    if not job:
        return
    members = np.array(cluster.jobs.members(job), dtype=np.int64)
    cluster.tasks.parked[members[~cluster.tasks.refused[members]]] = False
