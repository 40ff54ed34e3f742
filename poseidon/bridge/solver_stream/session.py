"""Keeps the stream to the solver: sends hello, snapshot, events and reports; receives acknowledgements and rounds.

A broken stream is replaced by a new one with a full snapshot: the solver keeps nothing between streams, and
the bridge can make a snapshot at any time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random

import grpc
from grpc import aio

from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.solver_stream.batches import (
    AnswerTimes,
    HeldReports,
    Window,
    split_events,
    split_items,
)
from poseidon.bridge.solver_stream.session_interface import DistrustedError, Peer
from poseidon.bridge.solver_stream.stream import (
    Call,
    CredentialsChangedError,
    HelloRefusedError,
    NeedsChangedError,
    StreamLostError,
    credentials,
    credentials_changed,
    describe_error,
    end_of,
    greet,
    hello_of,
    needs_of,
    open_channel,
    parse_refusal,
)
from poseidon.configuration.document import StreamOptions
from poseidon.kube.client.backoff import Backoff
from poseidon.recording.recorder import StreamRecorder
from protos.conventions.tls import TlsContents, TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Sizes of messages and time limits of the stream to the solver."""

    batch_events: int = 2000
    """Most events per batch."""
    batch_bytes: int = 1 << 20
    """Largest size of a batch, about, in bytes."""
    window: int = 16
    """Most unacknowledged batches."""
    linger: float = 0.005
    """Seconds for which changes are gathered before they are sent."""
    idle: float = 0.02
    """If ``few`` messages are sent within this many seconds, that is a burst.

    Outside of bursts, changes are sent at once.
    """
    few: int = 4
    """Number of messages that make a burst, at least one; also the most reports that wait for an event."""
    busy_linger: float = 0.025
    """Seconds for which changes are gathered while many bindings are under way.

    A message costs bridge and solver about as much time as several bindings.
    """
    hello_seconds: float = 10.0
    """Longest wait for the answer to hello."""
    refused_initial: float = 1.0
    """First pause after the solver refused a hello, in seconds."""
    refused_seconds: float = 10.0
    """Longest pause after refusals, and the pause for a distrusted solver."""
    stable_seconds: float = 10.0
    """A stream that lasted this many seconds resets the pause after lost streams."""
    backoff_initial: float = 0.2
    """First pause after a lost stream, in seconds."""
    backoff_cap: float = 10.0
    """Longest pause after lost streams, in seconds."""
    max_message_bytes: int = 64 << 20
    """Largest message of the solver, in bytes."""
    report_seconds: float = 0.5
    """Seconds for which up to ``few`` reports of successful bindings may wait, to be sent with the next event."""
    keepalive_seconds: float = 20.0
    """A connection without data for this many seconds is probed."""
    tls: TlsFiles | None = None
    """Certificate files of both sides; None: the connection is not encrypted."""
    tls_check_seconds: float = 5.0
    """Seconds between checks of these files."""


class Session:
    """A session that keeps a stream open to a solver at ``targets``.

    If a stream ends, the session opens one to the next solver.

    ``peer`` is the state that sends and receives. ``needs`` are the data that the peer sends; if the solver needs other
    data, ``run`` ends; None accepts any needs. ``recorder``, if given, keeps the sent and received messages. ``start``
    allows the first snapshot. ``wake`` announces that the peer has events to send. ``is_open`` says whether the solver
    has answered hello on the present stream. ``fencing`` must be larger than that of any earlier driver of the cluster.
    The solver forgets an ``ephemeral`` cluster when its session ends. A silent stream is detected within twice the
    timeout in ``stream``.
    """

    def __init__(
        self,
        targets: Sequence[str],
        peer: Peer,
        *,
        cluster: str,
        fencing: int,
        client: str,
        metrics: BridgeMetrics,
        random: Random,
        clock: Callable[[], float],
        options: SessionOptions | None = None,
        stream: StreamOptions | None = None,
        ephemeral: bool = False,
        needs: frozenset[str] | None = None,
        recorder: StreamRecorder | None = None,
    ) -> None:
        self._targets = tuple(targets)
        self._turn = 0
        self._peer = peer
        self._hello = hello_of(cluster, client, fencing=fencing, ephemeral=ephemeral)
        self._needs = needs
        self._recorder = recorder
        self._hello.records_rounds = recorder is not None
        self._metrics = metrics
        self._clock = clock
        self._options = options or SessionOptions()
        self._silence_timeout = (stream or StreamOptions()).silence_timeout
        self._backoff = Backoff(random, self._options.backoff_initial, self._options.backoff_cap)
        self._standby = Backoff(random, self._options.refused_initial, self._options.refused_seconds)
        self._started, self._wake = asyncio.Event(), asyncio.Event()
        self._draining = False
        self.is_open = False
        self._last_complaint = ""
        self._answer_times = AnswerTimes(clock, metrics.answers.observe)

    @property
    def _target(self) -> str:
        return self._targets[self._turn % len(self._targets)]

    def start(self, fencing: int | None = None) -> None:
        """Allow streams, because the peer's state is complete. ``fencing``, if given, replaces the fencing number."""
        if fencing is not None:
            self._hello.fencing = fencing
        self._started.set()

    def wake(self) -> None:
        """Announce that the peer has events or reports to send."""
        self._wake.set()

    def drain(self) -> None:
        """Send the remaining events and reports, then end the stream and ``run``."""
        self._draining = True
        self._started.set()
        self._wake.set()

    async def run(self) -> None:
        """Keep a stream open until ``drain``.

        Raises ``NeedsChangedError`` before anything is sent, if the needs differ.
        """
        await self._started.wait()
        tried = 0
        while not self._draining:
            opened = self._clock()
            try:
                await self._converse()
            except HelloRefusedError as error:
                level = logging.INFO if self._standby.failures else logging.ERROR
                self._complain(level, "solver refused the session, will ask again", error)
                self._metrics.refused.set(True)
                self._turn += 1
                await asyncio.sleep(self._standby.next())
            except DistrustedError as error:
                self._complain(logging.ERROR, f"solver {self._target} is left alone for a while", error)
                self._metrics.distrusted.inc()
                self._turn += 1
                await asyncio.sleep(self._options.refused_seconds)
            except CredentialsChangedError:
                _log.info("certificate has changed, opening another stream solver=%s", self._target)
            except StreamLostError as error:
                tried += 1
                if self._clock() - opened >= self._options.stable_seconds:
                    self._backoff.reset()
                    tried = 1
                self._complain(logging.WARNING, "no stream to the solver, connecting again", error)
                self._metrics.refused.set(False)
                self._turn += 1
                # The session tries the next solver at once. If all solvers have failed, the session pauses before it
                # tries again.
                if not self._draining and tried % len(self._targets) == 0:
                    await asyncio.sleep(self._backoff.next())

    # --- one stream ----------------------------------------------------------------------------------------

    async def _converse(self) -> None:
        """Open a stream and use it until it ends. Raises ``HelloRefusedError`` or ``StreamLostError``."""
        tls = credentials(self._options.tls)
        async with open_channel(
            self._target, self._options.max_message_bytes, self._options.keepalive_seconds, tls
        ) as channel:
            call: Call = pb_grpc.SchedulerStub(channel).Session(None)
            try:
                welcome = await greet(call, self._target, self._hello, self._options.hello_seconds)
                self._note_opened(welcome)
                await self._exchange(call, tls, takes_reports=welcome.takes_reports)
            finally:
                self._set_open(is_open=False)
                call.cancel()

    def _note_opened(self, welcome: pb.Welcome) -> None:
        needs = needs_of(welcome)
        if self._needs is not None and needs != self._needs:
            raise NeedsChangedError(needs)
        self._last_complaint = ""
        self._standby.reset()
        self._metrics.refused.set(False)
        self._set_open(is_open=True)
        self._metrics.streams.inc()
        _log.info(
            "stream open solver=%s server=%s cluster=%s", self._target, welcome.server, self._hello.cluster
        )
        if self._recorder is not None:
            self._recorder.begin(self._hello, welcome)

    async def _exchange(self, call: Call, tls: TlsContents | None, *, takes_reports: bool) -> None:
        """Send and receive until the stream ends; ``takes_reports``: whether the solver takes reports with events."""
        window = Window(self._options.window)
        self._answer_times = AnswerTimes(self._clock, self._metrics.answers.observe)
        changed = credentials_changed(self._options.tls, tls, self._options.tls_check_seconds)
        options = self._options
        held = HeldReports(options.few, options.report_seconds, self._wake.set) if takes_reports else None
        parts = self._receive(call, window), self._send(call, window, held), self._watch(window), changed
        tasks = receiver, sender, *_ = [asyncio.create_task(part) for part in parts]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if sender.done() and not sender.cancelled() and sender.exception() is None:
                # The sender has sent everything. When this side ends its half of the stream, the server ends the
                # other half.
                await receiver
            for task in tasks:
                # The receiver knows why a stream ended; the sender only notices that it did.
                if task.done():
                    task.result()
        except aio.AioRpcError as error:
            self._note_refusal(window, error.code(), error.details())
            raise StreamLostError(describe_error(self._target, error)) from error
        except (asyncio.InvalidStateError, StreamLostError) as error:
            if call.done():
                self._note_refusal(window, await call.code(), await call.details())
            if isinstance(error, StreamLostError):
                raise
            raise await end_of(call, self._target, greeting=False) from None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _note_refusal(self, window: Window, code: grpc.StatusCode, details: str | None) -> None:
        """Report the refused event to the peer, if the solver ended the stream because of one."""
        refusal = parse_refusal(code, details or "")
        event = window.event(refusal.batch, refusal.event) if refusal is not None else None
        if refusal is not None and event is not None:
            self._peer.note_refused(event, refusal.reason)
            # The next stream leaves the refused event out, so it may open at once.
            self._backoff.reset()

    async def _watch(self, window: Window) -> None:
        """Raise ``StreamLostError`` once a batch has waited too long for any message from the solver."""
        oldest = await window.wait_for_silence(self._silence_timeout)
        self._metrics.silences.inc()
        raise StreamLostError(
            f"{self._target}: event batch {oldest} not acknowledged within {self._silence_timeout:g} s"
        )

    async def _receive(self, call: Call, window: Window) -> None:
        while True:
            message = await call.read()
            if not isinstance(message, pb.ServerMessage):
                if self._draining:
                    return
                raise await end_of(call, self._target, greeting=False)
            kind = message.WhichOneof("body")
            if kind == "ack":
                window.acknowledge(message.ack.sequence)
            elif kind == "round" and not self._draining:
                if message.round.acknowledged:
                    window.acknowledge(message.round.acknowledged)
                self._answer_times.note_answers(message.round.deltas)
                if self._recorder is not None:
                    self._recorder.note_round(message.round)
                await self._peer.on_round(message.round)

    async def _send(self, call: Call, window: Window, held: HeldReports | None) -> None:
        """Send the snapshot, then changes, until ``drain``; ``held`` keeps reports that may be sent with events."""
        started = self._clock()
        snapshot = self._batches(self._peer.snapshot())
        await self._write(call, pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
        count = await self._send_batches(call, window, snapshot)
        await self._write(call, pb.ClientMessage(snapshot_end=pb.SnapshotEnd()))
        _log.info("snapshot sent events=%d seconds=%.2f", count, self._clock() - started)
        sent = deque([self._clock()], self._options.few)
        while not self._draining:
            await self._wake.wait()
            await asyncio.sleep(self._gathering_seconds(sent))
            if not self._draining:
                self._wake.clear()
                if await self._send_news(call, window, held):
                    sent.append(self._clock())
        await self._send_news(call, window, None if held is None else held.end())
        await call.done_writing()

    async def _send_news(self, call: Call, window: Window, held: HeldReports | None) -> bool:
        """Send the new reports and events; returns whether anything was sent."""
        # Reports are sent first: an event about the same task is newer than its report.
        reports = self._peer.take_reports()
        batches = self._batches(self._peer.take_events())
        if held is not None:
            reports = held.hold_or_release(reports, leave=bool(batches))
            if batches and len(reports) <= self._options.batch_events:
                batches[0].events.reports.extend(reports)
                reports = ()
        for part in split_items(reports, self._options.batch_events):
            await self._write(call, pb.ClientMessage(reports=pb.BindingReports(reports=part)))
        return bool(await self._send_batches(call, window, batches) or reports)

    def _gathering_seconds(self, sent: deque[float]) -> float:
        """Return for how many seconds to gather changes before sending; ``sent``: times of the last messages."""
        if self._peer.has_plenty_to_do():
            return self._options.busy_linger
        burst = len(sent) == sent.maxlen and self._clock() - sent[0] < self._options.idle
        return self._options.linger if burst else 0.0

    def _batches(self, events: Iterable[pb.Event]) -> deque[pb.ClientMessage]:
        """Cut events into messages.

        Raises ``StreamLostError`` if something fails, so that a new stream begins with a snapshot.
        """
        try:
            return deque(split_events(events, self._options.batch_events, self._options.batch_bytes))
        except Exception as error:
            raise StreamLostError(f"events for {self._target} cannot be made: {error!r}") from error

    async def _send_batches(self, call: Call, window: Window, batches: deque[pb.ClientMessage]) -> int:
        """Number batches, send them and remove them from ``batches``. Returns the number of events sent."""
        count = 0
        while batches:
            message = batches.popleft()
            self._answer_times.note_sent(message.events.events)
            await window.assign_number(message)
            await self._write(call, message)
            count += len(message.events.events)
            self._metrics.events_sent.inc(len(message.events.events))
        return count

    async def _write(self, call: Call, message: pb.ClientMessage) -> None:
        """Send a message, and record it."""
        if self._recorder is not None:
            self._recorder.note_sent(message)
        await call.write(message)

    # --- end of a stream -----------------------------------------------------------------------------------

    def _set_open(self, *, is_open: bool) -> None:
        self.is_open = is_open
        self._metrics.connected.set(is_open)

    def _complain(self, level: int, what: str, error: Exception) -> None:
        """Log a failure.

        A repeated failure is logged at debug level only, so that an outage gives one line in the log.
        """
        text = str(error)
        _log.log(level if text != self._last_complaint else logging.DEBUG, '%s error="%s"', what, text)
        self._last_complaint = text
        self._metrics.stream_errors.inc()
