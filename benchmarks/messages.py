"""Converts scenario events to protocol messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksBound, TasksSubmitted
from protos.firmament.v1 import scheduler_pb2 as pb

EVENTS_PER_BATCH = 2000


def event_message(event: Event) -> pb.Event:
    """Return an event as a protocol message; raises ``TypeError`` for kinds that scenarios do not have."""
    match event:
        case MachineUpserted(machine):
            amounts = [
                pb.Quantity(resource=name, amount=amount) for name, amount in machine.allocatable.items()
            ]
            return pb.Event(machine=pb.Machine(name=machine.name, labels=machine.labels, allocatable=amounts))
        case ClassDefined(number, content):
            requests = [pb.Quantity(resource=name, amount=amount) for name, amount in content.requests]
            return pb.Event(
                task_class=pb.TaskClass(id=number, requests=requests, labels=dict(content.labels))
            )
        case TasksBound():
            return pb.Event(
                bound=pb.BoundTasks(machine=event.machine, task_class=event.task_class, uids=event.uids)
            )
        case TasksSubmitted():
            batch = pb.TaskBatch(
                task_class=event.task_class, uids=event.uids, spread_group=event.spread_group
            )
            return pb.Event(tasks=batch)
        case _:
            raise TypeError(f"scenarios have no {type(event).__name__}")


def batches(events: Iterable[Event], first_sequence: int) -> Iterator[pb.ClientMessage]:
    """Yield events in batches, numbered from ``first_sequence``."""
    messages = [event_message(event) for event in events]
    for number, begin in enumerate(range(0, len(messages), EVENTS_PER_BATCH)):
        chunk = messages[begin : begin + EVENTS_PER_BATCH]
        yield pb.ClientMessage(events=pb.EventBatch(sequence=first_sequence + number, events=chunk))
