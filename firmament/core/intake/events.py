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
from firmament.core.intake.bulk_insert import TaskIntake, rouse
from firmament.core.intake.validation import validate
from firmament.core.model import Job
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, State


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
            rouse(cluster, job_id)
        case ClassDefined(number, content):
            cluster.classes.define(number, content)
        case ClassRemoved(number):
            cluster.classes.remove(number)
        case TaskRemoved(uid):
            _remove_task(cluster, uid)
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
        else:
            _resubmit(cluster, task, cls, event, index)


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


def _resubmit(cluster: Cluster, task: int, cls: int, event: TasksSubmitted, index: int) -> None:
    """A task that waits is described anew; one that has a machine keeps both."""
    tasks = cluster.tasks
    if tasks.state[task] != State.PENDING:
        return
    reranked = _rank(cluster, task, event)  # in any case, whatever else has changed
    changed = reranked or tasks.cls[task] != cls or tasks.refused[task]
    tasks.cls[task] = cls
    tasks.name[task] = event.names[index] if event.names else event.uids[index]
    _enlist(cluster, task, event.job)
    _regroup(cluster, task, event.spread_group)
    if changed:
        tasks.parked[task] = tasks.refused[task] = False
        tasks.revised[task] = True


def _bind(cluster: Cluster, task: int, cls: int, event: TasksBound, index: int, now: float) -> None:
    """A task that was assumed where it is now only changes its state; any other comes to its machine."""
    tasks = cluster.tasks
    if cluster.where(task) == event.machine and tasks.cls[task] == cls:
        cluster.arrive(task, now)
        tasks.state[task], tasks.owed[task] = State.BOUND, False
        _rank(cluster, task, event)
        tasks.name[task] = event.names[index] if event.names else event.uids[index]
        _enlist(cluster, task, event.job)
        _regroup(cluster, task, event.spread_group)
        _date(cluster, task, event, index)
        return
    _move_off(cluster, task, event, cls)
    tasks.assigned[task] = now
    cluster.number_arrival(task)
    _date(cluster, task, event, index)
    if cluster.classes.rows[cls].content.terminating:
        tasks.leaving[task] = True
    tasks.state[task] = State.BOUND
    cluster.put(task, event.machine)


def _move_off(cluster: Cluster, task: int, event: TasksBound, cls: int) -> None:
    """Take a task off where it was thought to be: it is of another class (row), or on another machine."""
    tasks = cluster.tasks
    told_to_go = bool(tasks.leaving[task]) and cluster.where(task) == event.machine
    cluster.vacate(task)
    _enlist(cluster, task, event.job)
    _regroup(cluster, task, event.spread_group)
    rouse(cluster, event.job)  # a gang may now need one less
    tasks.leaving[task], tasks.owed[task] = told_to_go, False
    tasks.cls[task] = cls
    _rank(cluster, task, event)
    tasks.dated[task] = tasks.parked[task] = tasks.refused[task] = False
    tasks.message[task] = ""


def _rank(cluster: Cluster, task: int, event: TasksSubmitted | TasksBound) -> bool:
    """Take over how important an event says that a task is; returns whether that is new."""
    tasks = cluster.tasks
    group_priority = UNGROUPED if event.group_priority is None else event.group_priority
    before = int(tasks.priority[task]), int(tasks.group_priority[task])
    tasks.priority[task], tasks.group_priority[task] = event.priority, group_priority
    return before != (event.priority, group_priority)


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
        _regroup(cluster, task, "")
        tasks.remove(task)
        cluster.task_samples.reset(task)


def _regroup(cluster: Cluster, task: int, group: str) -> None:
    """Let a task belong to a group of tasks that would rather be apart; empty: to none."""
    number = cluster.spread_groups.join(group)
    cluster.spread_groups.leave(int(cluster.tasks.spread[task]))
    cluster.tasks.spread[task] = number


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
        rouse(cluster, job)


def _define_job(cluster: Cluster, job: Job) -> None:
    before = cluster.jobs.gang(job.id)
    cluster.jobs.define(job)
    if cluster.jobs.gang(job.id) != before:
        rouse(cluster, job.id)
