"""Cuts events into batches, keeps batches until the solver acknowledges them, and measures answer times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from protos.firmament.v1 import scheduler_pb2 as pb

T = TypeVar("T")

_MOST = 4096


def split_items(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Yield the items in order, in non-empty parts of at most ``most``."""
    for start in range(0, len(items), most):
        yield items[start : start + most]


def split_events(events: Iterable[pb.Event], max_events: int, max_bytes: int) -> Iterator[pb.ClientMessage]:
    """Yield the events in order, in non-empty batches of at most ``max_events`` and about ``max_bytes``.

    Batches have no number yet. Events are copied into them one by one, so a hundred thousand new events never exist at
    the same time: an event by itself takes ten times as much memory as in a batch.
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


class Window:
    """The unacknowledged batches of a stream: numbers batches from 1, and limits how many are unacknowledged."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._sent = 0
        self._acknowledged = 0
        self._batches: dict[int, pb.ClientMessage] = {}
        self._moved = asyncio.Event()
        self._heard = 0

    def acknowledge(self, sequence: int) -> None:
        """Note that the solver has applied every batch up to ``sequence``.

        A repeated number says that the solver is still working.
        """
        self._heard += 1
        for number in range(self._acknowledged + 1, min(sequence, self._sent) + 1):
            self._batches.pop(number, None)
        self._acknowledged = max(self._acknowledged, sequence)
        self._moved.set()

    @property
    def oldest(self) -> int | None:
        """The number of the first unacknowledged batch; None if all are acknowledged."""
        return self._acknowledged + 1 if self._sent > self._acknowledged else None

    async def wait_for_silence(self, seconds: float) -> int:
        """Wait until a batch has waited for ``seconds`` or more without a message from the solver; return its number.

        The wait is at most twice ``seconds``. gRPC answers probes even if the solver hangs; a solver that is at work
        repeats its acknowledgement.
        """
        while True:
            oldest, heard = self.oldest, self._heard
            await asyncio.sleep(seconds)
            if oldest is not None and (self.oldest, self._heard) == (oldest, heard):
                return oldest

    def event(self, sequence: int, index: int) -> pb.Event | None:
        """Return an event of an unacknowledged batch, None if there is none."""
        batch = self._batches.get(sequence)
        return batch.events.events[index] if batch is not None and index < len(batch.events.events) else None

    async def assign_number(self, batch: pb.ClientMessage) -> None:
        """Wait until the limit of unacknowledged batches allows one more batch, and give a batch its number."""
        while self._sent - self._acknowledged >= self._size:
            self._moved.clear()
            await self._moved.wait()
        self._sent += 1
        self._batches[self._sent] = batch
        batch.events.sequence = self._sent


class HeldReports:
    """A few reports of successful bindings, kept until one message sends them with the next events.

    No other part of the bridge waits for these reports. If a pod comes alone, a separate message for its report would
    cost both sides as much as all other work on the pod. At most ``few`` reports are kept, and no report of a
    failure. After ``seconds``, ``wake`` is called, and the reports are sent.
    """

    def __init__(self, few: int, seconds: float, wake: Callable[[], None]) -> None:
        self._few, self._seconds, self._wake = few, seconds, wake
        self._held: list[pb.BindingReport] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = False

    def hold_or_release(
        self, reports: Sequence[pb.BindingReport], *, leave: bool
    ) -> Sequence[pb.BindingReport]:
        """Keep ``reports``, or return them with all kept reports, to be sent now. ``leave``: events are sent anyway."""
        if not reports and not self._held:
            return reports
        self._held += reports
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._mark_reports_due)
        may_wait = not (leave or self._due) and len(self._held) <= self._few
        if may_wait and all(report.bound for report in reports):
            return ()
        self._timer.cancel()
        self._timer, self._due = None, False
        held, self._held = self._held, []
        return held

    def _mark_reports_due(self) -> None:
        self._due = True
        self._wake()

    def end(self) -> HeldReports:
        """Keep no reports from now on; the next call of ``hold_or_release`` returns the kept ones."""
        self._few = 0
        return self


class AnswerTimes:
    """A meter of the seconds from sending a pod to the solver's decision, on one stream.

    To save time, only one pod of each message is measured. ``clock`` is monotonic; ``observe`` gets the seconds. If
    many pods find no place, the oldest are forgotten.
    """

    def __init__(self, clock: Callable[[], float], observe: Callable[[float], None]) -> None:
        self._clock = clock
        self._observe = observe
        self._sent: dict[str, float] = {}

    def note_sent(self, events: Iterable[pb.Event]) -> None:
        """Remember when the first pod of these events is sent."""
        for event in events:
            if event.WhichOneof("body") == "tasks" and event.tasks.uids:
                self._sent.setdefault(event.tasks.uids[0], self._clock())
                break
        if len(self._sent) > _MOST:
            del self._sent[next(iter(self._sent))]

    def note_answers(self, deltas: Iterable[pb.Delta]) -> None:
        """Measure the answer times of the remembered pods that the solver has decided about."""
        if not self._sent:
            return
        for delta in deltas:
            since = self._sent.pop(delta.task, None)
            if since is not None:
                self._observe(self._clock() - since)
