"""What a solver has been told of hostile tenants, so that batches can refer to it, and take it back in the end."""

from __future__ import annotations

from random import Random

from protos.firmament.v1 import scheduler_pb2 as pb

MOST_TASKS = 50
MOST_CLASSES = 50


class Known:
    """Updated by what the solver took. ``tasks`` in the order in which they came."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: the solver knows nothing."""
        self.machines: set[str] = set()
        self.jobs: set[str] = set()
        self.classes: set[int] = set()
        self.tasks: dict[str, None] = {}
        self.records: set[tuple[str, str]] = set()

    def took(self, batch: pb.EventBatch) -> None:
        """Take note of a batch that was applied."""
        for event in batch.events:
            body = str(event.WhichOneof("body"))
            if body in ("tasks", "bound"):
                self.tasks.update(dict.fromkeys(getattr(event, body).uids))
            elif body == "tasks_updated":
                for each in event.tasks_updated.batches:
                    self.tasks.update(dict.fromkeys(each.uids))
            elif body == "task_removed":
                self.tasks.pop(event.task_removed, None)
            else:
                self._described(event, body)

    def _described(self, event: pb.Event, body: str) -> None:
        """Take note of an event about anything but tasks."""
        match body:
            case "machine":
                self.machines.add(event.machine.name)
            case "machine_removed":
                self.machines.discard(event.machine_removed)
            case "job":
                self.jobs.add(event.job.id)
            case "job_removed":
                self.jobs.discard(event.job_removed)
            case "task_class":
                self.classes.add(event.task_class.id)
            case "class_removed":
                self.classes.discard(event.class_removed)
            case "record":
                self.records.add((event.record.key.kind, event.record.key.name))
            case "record_removed":
                self.records.discard((event.record_removed.kind, event.record_removed.name))

    def surplus(self, random: Random) -> list[pb.Event]:
        """The events that end what there is too much of."""
        tasks = [*self.tasks][: max(0, len(self.tasks) - MOST_TASKS)]
        classes = sorted(self.classes)[: max(0, len(self.classes) - MOST_CLASSES)]
        ended = [pb.Event(task_removed=uid) for uid in tasks]
        ended += [pb.Event(class_removed=number) for number in classes]
        if len(self.machines) > 12:
            ended.append(pb.Event(machine_removed=random.choice(sorted(self.machines))))
        if len(self.jobs) > 12:
            ended.append(pb.Event(job_removed=random.choice(sorted(self.jobs))))
        if len(self.records) > 60:
            ended.append(_record_removed(*random.choice(sorted(self.records))))
        return ended

    def removals(self) -> list[pb.Event]:
        """The events that take everything back."""
        return [
            *(pb.Event(task_removed=uid) for uid in self.tasks),
            *(pb.Event(class_removed=number) for number in sorted(self.classes)),
            *(pb.Event(job_removed=job) for job in sorted(self.jobs)),
            *(pb.Event(machine_removed=name) for name in sorted(self.machines)),
            *(_record_removed(*key) for key in sorted(self.records)),
        ]


def _record_removed(kind: str, name: str) -> pb.Event:
    return pb.Event(record_removed=pb.RecordKey(kind=kind, name=name))
