"""Cuts events into messages of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from protos.firmament.v1 import scheduler_pb2 as pb

T = TypeVar("T")


def batched(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Yield the items in order, in non-empty parts of at most ``most``."""
    for start in range(0, len(items), most):
        yield items[start : start + most]


def cut(events: Iterable[pb.Event], max_events: int, max_bytes: int) -> Iterator[pb.ClientMessage]:
    """Yield the events in order, in non-empty batches of at most ``max_events`` and about ``max_bytes``.

    Batches are yet to be numbered. Events are copied into them one by one, so that a hundred thousand that are made on
    the way never exist at the same time: each by itself takes ten times as much memory as in a batch.
    """
    message = pb.ClientMessage()
    size = 0
    for event in events:
        weight = event.ByteSize()
        batch = message.events.events
        if batch and (len(batch) >= max_events or size + weight > max_bytes):
            yield message
            message, size = pb.ClientMessage(), 0
            batch = message.events.events
        batch.append(event)
        size += weight
    if message.events.events:
        yield message
