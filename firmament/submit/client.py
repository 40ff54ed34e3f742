"""Drives a solver over gRPC: sends machines, tasks, confirmations, ends of tasks and samples of use."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import grpc
import numpy as np

import firmament
from firmament.submit import messages
from firmament.submit.submission_log import SubmissionLog
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc

if TYPE_CHECKING:
    from firmament.submit.workload import GeneratedWorkload
    from protos.conventions.tls import TlsFiles

_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", 64 * 2**20),
    ("grpc.max_send_message_length", 64 * 2**20),
    ("grpc.enable_http_proxy", 0),
)
_END: Final[Any] = grpc.aio.EOF  # type: ignore[attr-defined] # missing in grpc-stubs
_LOST_REASON: Final = "Internal error from Core"
_TICK = 0.05
_SAMPLE_SECONDS = 10.0


class TargetError(Exception):
    """The solver cannot be reached, or has ended the session.

    The text of the error says in one line whether the solver cannot be reached or has ended the session.
    """


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Options of a simulated driver."""

    target: str
    """Address of the solver, HOST:PORT."""
    cluster: str = "simulated"
    """Name of the simulated cluster."""
    samples: bool = True
    """Whether to send usage samples."""
    connect_seconds: float = 5.0
    """Longest wait for a connection."""
    timeout: float = 300.0
    """Seconds for the whole run."""
    seed: int = 0
    """Seed of the random choices."""
    tls: TlsFiles | None = None
    """Certificate files for the connection to the solver; None: no encryption."""


class SubmitClient:
    """A run of one workload against a solver; its log, ``ledger``, may be read during the run.

    ``_telling``: batches of tasks on their way. ``_sent``, ``_acknowledged``: number of the last sent batch of tasks,
    and of the last batch that the solver has applied. ``_round``: the last round whose result has arrived.
    ``_asked``: what had been sent and placed when the last round was requested, and its number.
    """

    def __init__(self, workload: GeneratedWorkload, options: SubmitOptions) -> None:
        self.ledger = SubmissionLog(workload)
        self._workload = workload
        self._options = options
        self._rng = np.random.default_rng(options.seed)
        self._stream: Any = None
        self._stub: Any = None
        self._send_lock = asyncio.Lock()
        self._sequence = 0
        self._ends: list[tuple[float, int]] = []
        self._placed = asyncio.Event()
        self._telling = 0
        self._sent = self._acknowledged = self._round = 0
        self._asked: tuple[tuple[int, int], int] | None = None

    async def run(self) -> bool:
        """Run to the end; return False if the time-out came first.

        Raise ``TargetError`` or ``TlsError`` if the solver cannot be used.
        """
        async with _channel(self._options) as channel:
            await self._connect(channel)
            # The generated stubs only know calls with an iterator of requests; this client writes requests to the
            # call instead.
            self._stub = cast("Any", scheduler_pb2_grpc.SchedulerStub(channel))
            self._stream = self._stub.Session()
            try:
                await self._greet()
                return await self._work()
            except grpc.aio.AioRpcError as error:
                raise TargetError(f"{self._options.target}: {_describe(error)}") from error
            # The client wrote to a stream that had ended, before the reader noticed.
            except asyncio.InvalidStateError:
                await self._raise_end()
                raise
            finally:
                self._stream.cancel()

    async def _connect(self, channel: grpc.aio.Channel) -> None:
        try:
            async with asyncio.timeout(self._options.connect_seconds):
                await channel.channel_ready()
        except TimeoutError as error:
            raise TargetError(
                f"{self._options.target}: no solver answers there; start one with `firmament serve`, "
                "name another with --target, or give the certificates that it wants (--tls-cert)"
            ) from error

    async def _greet(self) -> None:
        """Send Hello and the snapshot."""
        hello = pb.Hello(
            version_major=1,
            version_minor=2,
            cluster=self._options.cluster,
            fencing=time.time_ns() // 1_000_000,
            client=f"firmament submit {firmament.__version__}",
        )
        await self._stream.write(pb.ClientMessage(hello=hello))
        welcome = await self._stream.read()
        if welcome is _END:
            await self._raise_end()
        await self._stream.write(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
        for batch in messages.split_events(messages.snapshot_events(self._workload)):
            await self._send_events(batch)
        await self._stream.write(pb.ClientMessage(snapshot_end=pb.SnapshotEnd()))

    async def _work(self) -> bool:
        """Run all parts of the client at the same time until the workload is settled, a part fails, or time is up."""
        parts = [asyncio.create_task(each) for each in (self._receive(), self._submit(), self._end_tasks())]
        if self._options.samples:
            parts.append(asyncio.create_task(self._sample()))
        try:
            async with asyncio.timeout(self._options.timeout):
                waiting = set(parts)
                while not await self._is_settled():
                    done, waiting = await asyncio.wait(
                        waiting, timeout=_TICK, return_when=asyncio.FIRST_COMPLETED
                    )
                    for part in done:
                        part.result()
        except TimeoutError:
            return False
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
        await self._stream.done_writing()
        return True

    # --- asyncio tasks of a run ---------------------------------------------------------------------------

    async def _receive(self) -> None:
        """Record the solver's decisions in the ledger, and confirm its placements."""
        while True:
            message = await self._stream.read()
            if message is _END:
                await self._raise_end()
            match message.WhichOneof("body"):
                case "ack":
                    self._acknowledged = message.ack.sequence
                case "round":
                    await self._book(message.round)

    async def _book(self, result: pb.RoundResult) -> None:
        now = time.perf_counter()
        self._round = result.round
        self.ledger.rounds += (
            result.stats.tasks > 0
        )  # The count leaves out rounds that were requested and had nothing to decide.
        placed = [delta for delta in result.deltas if delta.kind == pb.Delta.PLACE]
        tasks = np.array([messages.index_of(delta.task) for delta in placed], dtype=np.int64)
        machines = np.array([messages.index_of(delta.machine) for delta in placed], dtype=np.int64)
        self.ledger.note_placed(tasks, machines, now)
        for group in result.unscheduled:
            # Messages differ in which pods took a task's place; their first sentence is the same.
            first, dot, _ = group.message.partition(". ")
            summary = first + dot.rstrip()
            self.ledger.note_unscheduled((messages.index_of(uid) for uid in group.tasks), summary)
        for task, life in zip(tasks.tolist(), self._workload.lifetime[tasks].tolist(), strict=True):
            if np.isfinite(life):
                heapq.heappush(self._ends, (now + life, task))
        self._placed.set()
        if placed:
            reports = [pb.BindingReport(task=each.task, machine=each.machine, bound=True) for each in placed]
            await self._send(pb.ClientMessage(reports=pb.BindingReports(reports=reports)))

    async def _submit(self) -> None:
        """Submit each task when its time comes."""
        start, first = time.perf_counter(), 0
        while first < self._workload.tasks:
            due = int(np.searchsorted(self._workload.submit_at, time.perf_counter() - start, side="right"))
            if due == first:
                await asyncio.sleep(_TICK)
                continue
            last = min(due, first + messages.BATCH_TASKS)
            events = messages.job_events(self._workload, first, last)
            events += messages.task_events(self._workload, first, last, time.time())
            self.ledger.note_submitted(first, last, time.perf_counter())
            await self._tell(events)
            first = last

    async def _end_tasks(self) -> None:
        """Remove tasks whose lifetime is over."""
        while True:
            if not self._ends:
                self._placed.clear()
                await self._placed.wait()
                continue
            await asyncio.sleep(min(_TICK, max(0.0, self._ends[0][0] - time.perf_counter())))
            over = []
            while self._ends and self._ends[0][0] <= time.perf_counter():
                over.append(heapq.heappop(self._ends)[1])
            if over:
                # The ends of tasks are recorded first, because the solver may place other tasks on their machines
                # before this coroutine continues.
                self.ledger.note_finished(np.array(over, dtype=np.int64))
                await self._tell(pb.Event(task_removed=messages.task_uid(task)) for task in over)

    async def _sample(self) -> None:
        """Send samples evenly in time: one of each machine every ten seconds."""
        count = self._workload.machines
        share = max(1, round(count * _TICK / _SAMPLE_SECONDS))
        pause = _SAMPLE_SECONDS * share / max(1, count)
        first = 0
        while count:
            indices = [(first + offset) % count for offset in range(share)]
            usage = self._rng.uniform(0.3, 0.9, share)
            await self._send_events(messages.sample_events(indices, self.ledger.used, usage, time.time()))
            first = (first + share) % count
            await asyncio.sleep(pause)

    async def _is_settled(self) -> bool:
        """Return whether every task was placed or fits nowhere, and all tasks with a lifetime have ended.

        The solver's answer that a task fits nowhere holds for the state that the solver knew at that time. Once the
        solver knows all changes, a round is therefore requested: if it changes nothing, the workload is settled.
        """
        ledger, total = self.ledger, self._workload.tasks
        if ledger.submitted_count < total or self._ends or self._telling:
            return False
        sent, placed = self._sent, ledger.placed_count
        if placed == total:
            return True
        if placed + ledger.unscheduled_count < total or self._acknowledged < sent:
            return False
        if self._asked is None or self._asked[0] != (sent, placed):
            answer = await self._stub.Schedule(pb.ScheduleRequest(cluster=self._options.cluster))
            self._asked = (sent, placed), answer.round
            return False
        return self._round >= self._asked[1]

    # --- sending ------------------------------------------------------------------------------------------

    async def _tell(self, events: Iterable[pb.Event]) -> None:
        """Send events about tasks; the workload is not settled before the solver has acknowledged these events."""
        self._telling += 1
        for batch in messages.split_events(events):
            self._sent = await self._send_events(batch)
        self._telling -= 1

    async def _send_events(self, events: Iterable[pb.Event]) -> int:
        """Send events as one batch; return its number."""
        async with self._send_lock:
            self._sequence += 1
            batch = pb.EventBatch(sequence=self._sequence, events=events)
            await self._stream.write(pb.ClientMessage(events=batch))
            return self._sequence

    async def _send(self, message: pb.ClientMessage) -> None:
        async with self._send_lock:
            await self._stream.write(message)

    async def _raise_end(self) -> None:
        """Raise ``TargetError`` with the reason for which the stream has ended."""
        with suppress(asyncio.CancelledError):
            code, details = await self._stream.code(), await self._stream.details()
            raise TargetError(f"{self._options.target}: the solver ended the session: {code.name}: {details}")


def _describe(error: grpc.aio.AioRpcError) -> str:
    """Return in one line why a call failed.

    If the solver ends the session while a message is on its way, gRPC may replace the solver's reason by its own.
    """
    details = " ".join((error.details() or "").split())
    if details == _LOST_REASON:
        return "the solver ended the session while a message was being sent; the solver's log says why"
    return f"{error.code().name}: {details}"


def _channel(options: SubmitOptions) -> grpc.aio.Channel:
    if options.tls is None:
        return grpc.aio.insecure_channel(options.target, options=_CHANNEL_OPTIONS)
    shown = options.tls.read().channel_credentials()
    return grpc.aio.secure_channel(options.target, shown, options=_CHANNEL_OPTIONS)
