"""Compact events: tasks of one class, job and priority travel together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poseidon.translate.pod import Task


def submitted(tasks: Iterable[Task]) -> Iterator[pb.Event]:
    """Yield one event per class, job and priority, in order of first appearance."""
    batches: dict[tuple[int, str, int], pb.TaskBatch] = {}
    for task in tasks:
        key = (task.task_class, task.job, task.priority)
        batch = batches.get(key)
        if batch is None:
            batch = pb.TaskBatch(task_class=task.task_class, job=task.job, priority=task.priority)
            batches[key] = batch
        batch.uids.append(task.uid)
        batch.names.append(task.name)
        batch.created.append(task.created)
    for batch in batches.values():
        yield pb.Event(tasks=batch)


def bound(placed: Iterable[tuple[Task, str]]) -> Iterator[pb.Event]:
    """Yield one event per machine, class, job and priority of ``(task, machine)``, in order of appearance."""
    batches: dict[tuple[str, int, str, int], pb.BoundTasks] = {}
    for task, machine in placed:
        key = (machine, task.task_class, task.job, task.priority)
        batch = batches.get(key)
        if batch is None:
            batch = pb.BoundTasks(
                machine=machine, task_class=task.task_class, job=task.job, priority=task.priority
            )
            batches[key] = batch
        batch.uids.append(task.uid)
        batch.names.append(task.name)
        batch.assigned.append(task.scheduled)
        batch.initialized.append(task.initialized)
    for batch in batches.values():
        for times in (batch.assigned, batch.initialized):
            if not any(times):
                del times[:]
        yield pb.Event(bound=batch)
