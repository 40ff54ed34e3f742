"""Compact events: tasks of one class, job and priority travel together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poseidon.translate.pod import Task


def submitted(tasks: Iterable[Task]) -> Iterator[pb.Event]:
    """Yield one event per class, job and priority, in order of first appearance."""
    batches: dict[tuple[int, str, int], list[Task]] = {}
    for task in tasks:
        batches.setdefault((task.task_class, task.job, task.priority), []).append(task)
    for (task_class, job, priority), members in batches.items():
        event = pb.Event()
        # Filled in place: a message that is handed to a constructor is copied, and there may be a hundred thousand.
        batch = event.tasks
        batch.task_class, batch.job, batch.priority = task_class, job, priority
        batch.uids.extend([task.uid for task in members])
        batch.names.extend([task.name for task in members])
        batch.created.extend([task.created for task in members])
        yield event


def bound(placed: Iterable[tuple[Task, str]]) -> Iterator[pb.Event]:
    """Yield one event per machine, class, job and priority of ``(task, machine)``, in order of appearance."""
    batches: dict[tuple[str, int, str, int], list[Task]] = {}
    for task, machine in placed:
        batches.setdefault((machine, task.task_class, task.job, task.priority), []).append(task)
    for (machine, task_class, job, priority), members in batches.items():
        event = pb.Event()
        batch = event.bound
        batch.machine, batch.task_class, batch.job, batch.priority = machine, task_class, job, priority
        batch.uids.extend([task.uid for task in members])
        batch.names.extend([task.name for task in members])
        for times, known in (
            (batch.assigned, [task.scheduled for task in members]),
            (batch.initialized, [task.initialized for task in members]),
        ):
            if any(known):
                times.extend(known)
        yield event
