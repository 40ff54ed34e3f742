"""Compact events: tasks of one class, job, importance and group to be kept apart travel together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poseidon.pods.tasks import Task


def submitted(tasks: Iterable[Task]) -> Iterator[pb.Event]:
    """Yield one event per class, job, importance and group to be kept apart, in order of first appearance."""
    batches: dict[tuple[int, str, int, int | None, str], list[Task]] = {}
    for task in tasks:
        key = task.task_class, task.job, task.priority, task.group_priority, task.spread
        batches.setdefault(key, []).append(task)
    for (task_class, job, priority, group_priority, spread), members in batches.items():
        event = pb.Event()
        # Filled in place: a message that is handed to a constructor is copied, and there may be a hundred thousand.
        batch = event.tasks
        batch.task_class, batch.job, batch.priority, batch.spread_group = task_class, job, priority, spread
        if group_priority is not None:
            batch.group_priority = group_priority
        batch.uids.extend([task.uid for task in members])
        batch.names.extend([task.name for task in members])
        batch.created.extend([task.created for task in members])
        yield event


def bound(placed: Iterable[tuple[Task, str, bool]]) -> Iterator[pb.Event]:
    """Yield one event per machine, class, job, importance and group, in order of appearance.

    ``placed``: tasks, their machines, and whether their bindings are still under way.
    """
    batches: dict[tuple[str, int, str, int, int | None, str, bool], list[Task]] = {}
    for task, machine, assumed in placed:
        key = machine, task.task_class, task.job, task.priority, task.group_priority, task.spread, assumed
        batches.setdefault(key, []).append(task)
    for (machine, task_class, job, priority, group_priority, spread, assumed), members in batches.items():
        event = pb.Event()
        batch = event.bound
        batch.machine, batch.task_class, batch.job, batch.priority = machine, task_class, job, priority
        batch.spread_group, batch.assumed = spread, assumed
        if group_priority is not None:
            batch.group_priority = group_priority
        batch.uids.extend([task.uid for task in members])
        batch.names.extend([task.name for task in members])
        for times, known in (
            (batch.assigned, [task.scheduled for task in members]),
            (batch.initialized, [task.initialized for task in members]),
        ):
            if any(known):
                times.extend(known)
        yield event
