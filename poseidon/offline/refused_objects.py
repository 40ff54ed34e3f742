"""Leaves out objects that the solver in this process refuses, and names them in warnings, as a bridge does.

A live cluster may hold invalid objects that were written before the API server checked them. In files that a user
names, an object that the solver refuses is a defect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from poseidon.bridge.state import BridgeState
from poseidon.embedding import EmbeddedScheduler
from poseidon.kube.parsing.defects import shorten
from poseidon.manifests.loader import ManifestError
from poseidon.manifests.warning_phrases import list_names
from protos.firmament.v1 import scheduler_pb2 as pb

_LONGEST_NAME, _LONGEST_REASON = 80, 300
_MOST_PASSES = 64
"""Each pass drops all refused events, or halves the events about many tasks; 64 passes are therefore always enough."""


def apply_events(
    scheduler: EmbeddedScheduler, state: BridgeState, events: list[pb.Event], *, is_live: bool
) -> list[str]:
    """Apply events to the solver; return one line per event that the solver refuses.

    Refused events are left out now and later, because ``state`` records them. If the events do not describe a live
    cluster (``is_live``), the function raises ``ManifestError`` with a line per refused event. The function raises
    ``ValueError`` for a fault that no single event causes.
    """
    lines: list[str] = []
    for _ in range(_MOST_PASSES):
        try:
            scheduler.apply(events)
            return list(dict.fromkeys(lines))
        except ValueError:
            refused = scheduler.list_refused(events)
            if not refused:
                raise
        for index, reason in refused:
            lines.append(_line(events[index], events, reason, is_live=is_live))
            state.event_stream.note_refused(events[index], reason)
        if not is_live:
            raise ManifestError(dict.fromkeys(lines))
        events = list(state.event_stream.filter_refused(events))
    raise ManifestError(dict.fromkeys(lines))


def _line(event: pb.Event, events: Sequence[pb.Event], reason: str, *, is_live: bool) -> str:
    found = list_names(shorten(name, _LONGEST_NAME) for name in _list_objects(event, events))
    what = "the solver does not take it, and it is left out" if is_live else "the solver does not take it"
    return f"{found}: {what}: {shorten(reason, _LONGEST_REASON)}"


def _list_objects(event: pb.Event, events: Sequence[pb.Event]) -> Iterator[str]:
    """Yield kind and name of each object that an event describes; for the event of a class, yield its pods."""
    body = event.WhichOneof("body")
    if body == "machine":
        yield f"Node {event.machine.name}"
    elif body in ("tasks", "bound"):
        yield from (f"Pod {uid}" for uid in _uids(event))
    elif body == "task_class":
        number = event.task_class.id
        for each in events:
            if number in (each.tasks.task_class, each.bound.task_class):
                yield from (f"Pod {uid}" for uid in _uids(each))
    elif body == "record":
        yield f"{event.record.key.kind} {event.record.key.name}"
    elif body == "machine_sample":
        yield f"use of node {event.machine_sample.machine}"
    elif body == "task_sample":
        yield f"use of pod {event.task_sample.task}"
    elif body == "job":
        yield f"workload {event.job.name or event.job.id}"
    else:
        yield str(body)


def _uids(event: pb.Event) -> Sequence[str]:
    return event.tasks.uids or event.bound.uids
