"""Tracks the state of the cluster that a bridge has sent to a solver.

Each file of a recording begins with the state that the bridge has sent so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from protos.firmament.v1 import scheduler_pb2 as pb


class TaskKind(NamedTuple):
    """The properties that all tasks of one submission share."""

    task_class: int
    job: str
    priority: int
    group_priority: int | None
    spread_group: str


class StreamTask(NamedTuple):
    """A task that waits or runs."""

    kind: TaskKind
    """Properties that the task shares with other tasks."""
    name: str
    """Name of the task for people."""
    created: float
    """When the task was created, in seconds since the epoch, 0 if unknown."""
    machine: str = ""
    """Machine on which the task runs, "" while it waits."""
    placed: float = 0.0
    """When the task got its machine, in seconds since the epoch, 0 while it waits."""
    assumed: bool = False
    """Whether the task's binding has begun and not been reported yet."""
    reported: bool = False
    """Whether the bridge reported the task as running, so that the solver did not place it."""


class StreamState:
    """The state of a cluster according to the messages of a stream, from its snapshot on.

    Texts and messages are stored as received. Properties that tasks share (`TaskKind`) are stored once.
    """

    def __init__(self) -> None:
        self.tasks: dict[str, StreamTask] = {}
        """The tasks that wait or run, by uid."""
        self._machines: dict[str, pb.Event] = {}
        self._jobs: dict[str, pb.Event] = {}
        self._classes: dict[int, pb.Event] = {}
        self._records: dict[tuple[str, str], pb.Event] = {}
        self._samples: dict[tuple[str, str], pb.Event] = {}
        self._kinds: dict[TaskKind, TaskKind] = {}

    def clear(self) -> None:
        """Forget all state, because a snapshot begins."""
        for part in (self.tasks, self._machines, self._jobs, self._classes, self._records, self._samples):
            part.clear()
        self._kinds.clear()

    def find_class(self, number: int) -> pb.TaskClass | None:
        """Return the class with a number, or None if no such class is defined."""
        found = self._classes.get(number)
        return None if found is None else found.task_class

    def note_sent(self, message: pb.ClientMessage, at: float) -> None:
        """Update the state by a message of the bridge, sent at ``at`` (seconds since the epoch)."""
        body = message.WhichOneof("body")
        if body == "snapshot_begin":
            self.clear()
        elif body == "reports":
            self.note_reports(message.reports.reports)
        elif body == "events":
            self.note_reports(message.events.reports)
            for event in message.events.events:
                self.note_event(event, at)

    def note_reports(self, reports: Iterable[pb.BindingReport]) -> None:
        """Update the state by reports of the bridge on bindings."""
        for report in reports:
            task = self.tasks.get(report.task)
            if task is not None and task.machine == report.machine:
                bound = task._replace(assumed=False)
                waits = task._replace(machine="", placed=0.0, assumed=False)
                self.tasks[report.task] = bound if report.bound else waits

    def note_round(self, result: pb.RoundResult, at: float) -> None:
        """Update the state by a round's placements; an evicted task stays until an event removes it."""
        for delta in result.deltas:
            if delta.kind == pb.Delta.PLACE and (task := self.tasks.get(delta.task)) is not None:
                self.tasks[delta.task] = task._replace(machine=delta.machine, placed=at, assumed=True)

    def note_event(self, event: pb.Event, at: float) -> None:
        """Update the state by an event of the bridge."""
        match event.WhichOneof("body"):
            case "machine":
                self._machines[event.machine.name] = event
            case "machine_removed":
                self._machines.pop(event.machine_removed, None)
                self._samples.pop(("machine", event.machine_removed), None)
            case "job":
                self._jobs[event.job.id] = event
            case "job_removed":
                self._jobs.pop(event.job_removed, None)
            case "task_class":
                self._classes[event.task_class.id] = event
            case "class_removed":
                self._classes.pop(event.class_removed, None)
            case "tasks":
                self._submit(event.tasks)
            case "tasks_updated":
                for batch in event.tasks_updated.batches:
                    self._submit(batch)
            case "task_removed":
                self.tasks.pop(event.task_removed, None)
                self._samples.pop(("task", event.task_removed), None)
            case "bound":
                self._bind(event.bound, at)
            case _:
                self._note_fact(event)

    def _note_fact(self, event: pb.Event) -> None:
        match event.WhichOneof("body"):
            case "record":
                self._records[event.record.key.kind, event.record.key.name] = event
            case "record_removed":
                self._records.pop((event.record_removed.kind, event.record_removed.name), None)
            case "machine_sample":
                self._samples["machine", event.machine_sample.machine] = event
            case "machine_sample_removed":
                self._samples.pop(("machine", event.machine_sample_removed), None)
            case "task_sample":
                self._samples["task", event.task_sample.task] = event

    def _submit(self, batch: pb.TaskBatch) -> None:
        kind = self._kind(batch)
        for place, uid in enumerate(batch.uids):
            name = batch.names[place] if batch.names else ""
            created = batch.created[place] if batch.created else 0.0
            known = self.tasks.get(uid)
            if known is not None:
                self.tasks[uid] = known._replace(kind=kind)
            else:
                self.tasks[uid] = StreamTask(kind, name, created)

    def _bind(self, bound: pb.BoundTasks, at: float) -> None:
        kind = self._kind(bound)
        for place, uid in enumerate(bound.uids):
            assigned = bound.assigned[place] if bound.assigned else 0.0
            known = self.tasks.get(uid)
            name = bound.names[place] if bound.names else ""
            if known is not None and known.machine == bound.machine:
                assigned = assigned or known.placed
            created = bound.created[place] if bound.created else 0.0
            task = known or StreamTask(kind, name, created)
            self.tasks[uid] = task._replace(
                kind=kind,
                machine=bound.machine,
                placed=assigned or at,
                assumed=bound.assumed,
                reported=known is None or not known.machine or known.reported,
            )

    def _kind(self, alike: pb.TaskBatch | pb.BoundTasks) -> TaskKind:
        group = alike.group_priority if alike.HasField("group_priority") else None
        kind = TaskKind(alike.task_class, alike.job, alike.priority, group, alike.spread_group)
        return self._kinds.setdefault(kind, kind)

    def list_events(self) -> Iterator[pb.Event]:
        """Yield events that pass the whole state to a solver that knows nothing yet."""
        yield from self._machines.values()
        yield from self._jobs.values()
        yield from self._classes.values()
        yield from self._list_tasks()
        yield from self._records.values()
        yield from self._samples.values()

    def _list_tasks(self) -> Iterator[pb.Event]:
        groups: dict[tuple[TaskKind, str, bool], list[str]] = {}
        for uid, task in self.tasks.items():
            groups.setdefault((task.kind, task.machine, task.assumed), []).append(uid)
        for (kind, machine, assumed), uids in groups.items():
            tasks = [self.tasks[uid] for uid in uids]
            names = [task.name for task in tasks]
            common: dict[str, Any] = {
                "task_class": kind.task_class,
                "job": kind.job,
                "priority": kind.priority,
                "group_priority": kind.group_priority,
                "spread_group": kind.spread_group,
                "uids": uids,
                "names": names if any(names) else [],
            }
            created = [task.created for task in tasks]
            common["created"] = created if any(created) else []
            if machine:
                assigned = [task.placed for task in tasks]
                yield pb.Event(
                    bound=pb.BoundTasks(machine=machine, assumed=assumed, assigned=assigned, **common)
                )
            else:
                yield pb.Event(tasks=pb.TaskBatch(**common))
