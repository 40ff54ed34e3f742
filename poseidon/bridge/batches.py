"""Cuts events into batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


def cut(events: Iterable[pb.Event], max_events: int, max_bytes: int) -> Iterator[list[pb.Event]]:
    """Yield the events in order, in non-empty lists of at most ``max_events`` and about ``max_bytes``."""
    batch: list[pb.Event] = []
    size = 0
    for event in events:
        weight = event.ByteSize()
        if batch and (len(batch) >= max_events or size + weight > max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += weight
    if batch:
        yield batch
