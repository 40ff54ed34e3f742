"""Leaves out events that the solver has refused, so that one bad event does not stop all other events.

A batch with a malformed event changes nothing and ends the stream, and the snapshot of the next stream would contain
the event again. Refused events are therefore recognized by their content. Once the object of a refused event changes,
the new event is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from poseidon.kube.parsing.defects import shorten
from poseidon.kube.quarantine import Quarantine
from protos.firmament.v1 import scheduler_pb2 as pb

KIND = "events refused by the solver"
MOST_REMEMBERED = 10_000


class EventRefusedError(ValueError):
    """The solver has refused an event; the text is the solver's message."""


class RefusedEvents:
    """The latest ``MOST_REMEMBERED`` refused events."""

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._reasons: dict[bytes, str] = {}
        self._bodies: set[str] = set()
        self._uids: set[str] = set()

    def note(self, event: pb.Event, reason: str) -> None:
        """Note that the solver has refused an event."""
        self._reasons[_content(event)] = reason
        if len(self._reasons) > MOST_REMEMBERED:
            del self._reasons[next(iter(self._reasons))]
        body = event.WhichOneof("body") or ""
        self._bodies.add(body)
        if body in _OF_TASKS and len(_uids(event)) == 1:
            self._uids.update(_uids(event))
        self._quarantine.set_aside(KIND, shorten(reason), EventRefusedError(reason))
        self._quarantine.release(KIND, shorten(reason))

    def filter_refused(self, events: Iterable[pb.Event]) -> Iterator[pb.Event]:
        """Yield events without the refused ones.

        A refused class is sent as a class that fits nowhere, since tasks refer to it, and running tasks use capacity. A
        refused event about many tasks is sent in halves, until only the faulty task is left out.
        """
        for event in events:
            body = event.WhichOneof("body")
            if body not in self._bodies:
                yield event
            elif body in _OF_TASKS:
                yield from self._tasks(event)
            elif (reason := self._reasons.get(_content(event))) is None:
                yield event
            elif body == "task_class":
                yield from self._class(event.task_class, reason)

    def _class(self, refused: pb.TaskClass, reason: str) -> Iterator[pb.Event]:
        invalid = f"the solver does not take the pod: {shorten(reason, 300)}"
        for requests in (refused.requests, ()):
            event = pb.Event(task_class=pb.TaskClass(id=refused.id, requests=requests, invalid=invalid))
            if _content(event) not in self._reasons:
                yield event
                return

    def _tasks(self, event: pb.Event) -> Iterator[pb.Event]:
        uids = _uids(event)
        kept = [index for index, uid in enumerate(uids) if not self._is_refused(event, index, uid)]
        if len(kept) < len(uids):
            event = _part(event, kept)
        if _content(event) not in self._reasons:
            if kept:
                yield event
        elif len(kept) > 1:
            middle = len(kept) // 2
            for half in (range(middle), range(middle, len(kept))):
                yield from self._tasks(_part(event, half))

    def _is_refused(self, event: pb.Event, index: int, uid: str) -> bool:
        return uid in self._uids and _content(_part(event, (index,))) in self._reasons


_OF_TASKS = ("tasks", "bound")
_PARALLEL = ("uids", "names", "created", "assigned", "initialized")


def _uids(event: pb.Event) -> Sequence[str]:
    return event.tasks.uids if event.WhichOneof("body") == "tasks" else event.bound.uids


def _part(event: pb.Event, indexes: Iterable[int]) -> pb.Event:
    """Return a copy of an event with only the tasks at these indexes."""
    part = pb.Event()
    part.CopyFrom(event)
    batch = part.tasks if part.WhichOneof("body") == "tasks" else part.bound
    chosen = list(indexes)
    for name in _PARALLEL:
        values = list(getattr(batch, name, ()))
        if values:
            column = getattr(batch, name)
            del column[:]
            column.extend(values[index] for index in chosen)
    return part


def _content(event: pb.Event) -> bytes:
    return event.SerializeToString(deterministic=True)
