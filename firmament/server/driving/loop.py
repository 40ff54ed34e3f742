"""Runs the rounds of sessions: one after another, as soon as there is work that could succeed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from firmament.core.back_off import compute_back_off
from firmament.server.driver import NoStateError
from firmament.server.driving.batching import BatchingWindow
from firmament.server.driving.round_log import log_round
from firmament.server.rounds.round_traces import trace_round
from firmament.wire.rounds import EncodedRound, encode_round

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from firmament.core.results import RoundResult
    from firmament.server.cluster import ServedCluster
    from firmament.server.driver import Driver
    from firmament.server.metrics import Metrics
    from firmament.server.outbox import DriverOutbox

log = logging.getLogger(__name__)

_FIRST_RETRY = 0.1
"""Seconds from the first failed round to the next attempt; the pause doubles after each further failure."""
_LAST_RETRY = 10.0
"""The most seconds from a failed round to the next attempt."""
_IDLE_PAUSE = 1.0
_BACKLOG = 500
"""If more placements than this have no report yet, the driver is busy for longer than a round takes. An API server
needs 0.1 to 0.3 s for this many bindings.
"""
_BACKLOG_PAUSE = 0.005
_PATIENCE = 0.1
"""Seconds for which an acknowledgement may be held back."""
_COARSE = 0.0005
"""Below this number of seconds, a wait is a busy loop, because an event loop's time-outs are rounded up to whole
milliseconds.

During longer waits the loop sleeps; it may then wake up half a millisecond late. A busy loop of a whole millisecond
would use a tenth of the time that a round of one task takes.
"""


class RoundRunner:
    """Runs single rounds, and writes their log line, metrics and, if there is a ``tracer``, spans."""

    def __init__(
        self,
        metrics: Metrics,
        clock: Callable[[], float] = time.perf_counter,
        tracer: Tracer | None = None,
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._tracer = tracer

    async def run(self, cluster: ServedCluster) -> EncodedRound | None:
        """Run a round in a thread and return its result; None if a new snapshot has replaced the state meanwhile."""
        return await asyncio.to_thread(self.run_here, cluster)

    def run_at_once(self, cluster: ServedCluster) -> EncodedRound | None:
        """Run a round in the caller's thread if that is faster than passing it to another thread; else return None."""
        started = self._clock()
        try:
            result = cluster.run_direct_round()
        except Exception:
            self._metrics.round_failed()
            raise
        return None if result is None else self._finish(cluster, result, started)

    def run_here(self, cluster: ServedCluster) -> EncodedRound | None:
        """Run a round in the caller's thread; return what ``run`` returns."""
        started = self._clock()
        try:
            result = cluster.run_round()
        except NoStateError:
            raise
        except Exception as error:
            self._metrics.round_failed(cluster.set_aside_culprits(error))
            raise
        return None if result is None else self._finish(cluster, result, started)

    def _finish(self, cluster: ServedCluster, result: RoundResult, started: float) -> EncodedRound:
        """Count, log and encode a round that has taken effect."""
        seconds = self._clock() - started
        try:
            self._metrics.round_done(result, seconds)
            log_round(cluster.name, result, seconds)
            encoded = encode_round(result)
            if self._tracer is None:
                return encoded
            return encoded.set_trace(trace_round(self._tracer, cluster.name, result, seconds))
        except Exception:
            cluster.lose_state()
            raise


class DriverLoop:
    """Runs the rounds of one session: waits for work, batches it, runs rounds, sends results; backs off after errors.

    The caller calls ``note_message_arrived`` before and ``note_message_applied`` after it applies a message, and
    ``note_change`` after anything else that may have created work.
    """

    def __init__(
        self,
        cluster: ServedCluster,
        driver: Driver,
        outbox: DriverOutbox,
        runner: RoundRunner,
        batching_window: float,
    ) -> None:
        self._cluster = cluster
        self._driver = driver
        self._outbox = outbox
        self._runner = runner
        self._window = BatchingWindow(batching_window)
        self._wake = asyncio.Event()
        self._drained = asyncio.Event()
        self._failures = 0
        self._last_fault = ""

    def note_message_arrived(self) -> None:
        """Record that a message has arrived and is about to be applied."""
        self._window.note_message_arrived(_now())

    def note_message_applied(self, *, events: bool = False, small: bool = False) -> None:
        """Record that the message has been applied; ``events``: it contained events; ``small``: only few."""
        self._window.note_message_applied(_now(), events=events, small=small)
        self._wake.set()

    def in_sync(self) -> None:
        """Record that a snapshot is complete."""
        self._window.forget_arrivals()

    def note_change(self) -> None:
        """Record a change that may have created work for a round."""
        self._window.note_change(_now())
        self._wake.set()

    def drain(self) -> None:
        """End the loop once the round in progress, if any, has been sent."""
        self._drained.set()
        self._wake.set()

    async def run(self) -> None:
        """Run rounds until drained.

        Failed rounds are logged and retried; ``SupersededError`` ends the loop.
        """
        try:
            await self._run_until_drained()
        finally:
            self._outbox.release(for_long=True)

    async def _run_until_drained(self) -> None:
        while not self._drained.is_set():
            self._outbox.holds = True
            self._wake.clear()
            self._window.note_look()
            delay = await self._cluster.do(lambda: self._cluster.next_round_in(self._driver), small=True)
            if delay is None or delay > 0:
                self._outbox.release()
                await self._wait(self._wake, delay)
                continue
            await self._batch()
            if not self._outbox.has_room:
                self._outbox.release(for_long=True)
                await self._outbox.wait_for_room()
            if self._drained.is_set():
                return
            self._window.restart(_now())
            try:
                result = self._runner.run_at_once(self._cluster)
                if result is None:
                    self._outbox.release(for_long=True)
                    result = await self._runner.run(self._cluster)
            except NoStateError:
                # Another driver has just taken over the cluster: this is no fault, and the loop is about to end.
                self._outbox.release(for_long=True)
                await self._wait(self._wake, _IDLE_PAUSE)
                continue
            except Exception as error:  # noqa: BLE001 - nothing that a model or solver raises may end the server
                self._outbox.release(for_long=True)
                await self._wait(self._drained, self._note_failure(error))
                continue
            self._window.note_end(_now())
            self._failures, self._last_fault = 0, ""
            if result is None:
                continue
            self._outbox.put(result.acknowledge(self._outbox.take_held()).message())
            # This pause lets the result be sent before a thread that looks for more work takes the lock.
            await asyncio.sleep(0)
            if not result.deltas and not result.put_off:
                # The core backs off for unschedulable tasks by itself. If it ever asked for rounds that do nothing,
                # this pause would prevent a busy loop. An event ends this pause.
                await self._wait(self._wake, _IDLE_PAUSE)

    def _note_failure(self, error: Exception) -> float:
        """Log a failed round, with a traceback if the error is new.

        Return the seconds to wait before the next round.
        """
        fault = f"{type(error).__name__}: {error}"
        self._failures += 1
        pause = compute_back_off(self._failures, first=_FIRST_RETRY, last=_LAST_RETRY)
        known = fault == self._last_fault
        self._last_fault = fault
        log.error(
            "round failed cluster=%s attempt=%d retry_in=%.1fs error=%r",
            self._cluster.name,
            self._failures,
            pause,
            fault,
            exc_info=None if known else error,
        )
        return pause

    async def _batch(self) -> None:
        """Wait for more messages as long as the batching window says, at most until drained.

        While the driver has many placements to carry out, wait longer.
        """
        while not self._drained.is_set() and (left := self._window.compute_wait(_now())) > 0:
            if left < _COARSE:
                await asyncio.sleep(0)
                continue
            if left > _PATIENCE:
                self._outbox.release(for_long=True)
            self._wake.clear()
            await self._wait(self._wake, left)
        while not self._drained.is_set() and (slack := self._window.get_slack(_now())) > 0:
            count = await self._cluster.do(lambda: self._cluster.count_unreported(self._driver), small=True)
            if count <= _BACKLOG:
                return
            self._outbox.release(for_long=True)
            await self._wait(self._drained, min(slack, _BACKLOG_PAUSE))

    async def _wait(self, event: asyncio.Event, seconds: float | None) -> None:
        """Wait for the event, at most ``seconds``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()


def _now() -> float:
    """Return the event loop's time."""
    return asyncio.get_running_loop().time()
