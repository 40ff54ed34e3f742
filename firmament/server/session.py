"""One driver's session: reads its messages, answers them, and runs the rounds of its cluster meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
from google.protobuf.message import DecodeError

import firmament
from firmament.configuration.sections import LimitSection
from firmament.core.events import InvalidEventError
from firmament.core.intake.events import TooLargeClusterError
from firmament.server.cluster import ServedCluster
from firmament.server.driver import OrderError, StaleDriverError, SupersededError
from firmament.server.driving.loop import DriverLoop, RoundRunner
from firmament.server.outbox import DriverOutbox, Ending
from firmament.server.protocol_version import VERSION_MAJOR, VERSION_MINOR, ProtocolError
from firmament.server.signs_of_life import EVERY, SignsOfLife
from firmament.wire.events import events_from_proto, reports_from_proto
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from firmament.server.cluster_registry import ClusterRegistry
    from firmament.wire.rounds import EncodedRound

log = logging.getLogger(__name__)

_CANCELLED_WITHIN = 0.05
"""Seconds within which gRPC cancels the call of a broken connection whose messages have ended."""
_LONGEST_FAULT = 2000  # The text travels in a gRPC trailer, which holds a few kilobytes at most.
# Reading and applying a message of at most this many bytes takes less time than passing it to a thread.
_SMALL = 2000


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Settings of all sessions.

    ``needs``: words for the data that drivers must send. ``record_kinds``: kinds of records that some loaded model
    reads. ``alive_seconds``: interval of signs of life to a driver whose message is being handled.
    """

    batching_window: float
    needs: Sequence[str] = ()
    record_kinds: Sequence[str] = ()
    limits: LimitSection = field(default_factory=LimitSection)
    alive_seconds: float = EVERY


def _is_small(message: pb.EventBatch | pb.BindingReports) -> bool:
    return message.ByteSize() <= _SMALL


class Session:
    """A driver's stream from Hello to its end. The session runs on the event loop; threads do the core's work."""

    def __init__(
        self, hello: pb.Hello, registry: ClusterRegistry, runner: RoundRunner, settings: SessionSettings
    ) -> None:
        self._hello = hello
        self._settings = settings
        self._registry = registry
        self._cluster: ServedCluster = registry.open(hello.cluster)
        self._outbox = DriverOutbox()
        self._loop = DriverLoop(self._cluster, self, self._outbox, runner, settings.batching_window)
        self._alive = SignsOfLife(self._outbox, settings.alive_seconds)
        self._sequence = 0
        self._draining = False
        self._said_goodbye = False
        self._ended = asyncio.Event()
        self.ending = Ending()

    async def run(
        self, messages: AsyncIterator[pb.ClientMessage]
    ) -> AsyncGenerator[pb.ServerMessage | bytes, None]:
        """Yield the messages to send, serialised or not; afterwards ``ending`` says how the stream is to end."""
        taken_over = asyncio.create_task(self._take_over())
        parts: list[asyncio.Task[None]] = []
        try:
            await asyncio.shield(taken_over)
            self._log("session opened", client=self._hello.client, fencing=self._hello.fencing)
            parts += [
                asyncio.create_task(self._read(messages)),
                asyncio.create_task(self._run_rounds()),
                asyncio.create_task(self._alive.run()),
            ]
            welcome = pb.Welcome(
                version_major=VERSION_MAJOR,
                version_minor=VERSION_MINOR,
                server=f"firmament {firmament.__version__}",
                record_kinds=sorted(self._settings.record_kinds),
                reset_required=True,
                needs=self._settings.needs,
                takes_reports=True,
            )
            yield pb.ServerMessage(welcome=welcome)
            while not isinstance(item := await self._outbox.pop(), Ending):
                yield item
            self.ending = item
            self._log("session ended", code=item.code.name, reason=item.message)
        except StaleDriverError as error:
            self.ending = Ending(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        finally:
            for part in parts:
                part.cancel()
            # Cancellation does not stop the driver from leaving, because the cluster must not keep a driver that has
            # left.
            await asyncio.shield(asyncio.create_task(self._leave(taken_over)))
        if self._said_goodbye:
            # To ``_read``, a goodbye and a broken connection look alike, but a broken connection also cancels this
            # method; gRPC reports the two in either order.
            await asyncio.sleep(_CANCELLED_WITHIN)
            await asyncio.to_thread(self._cluster.end_grace_period)

    async def _take_over(self) -> None:
        """Become the cluster's driver; raise ``StaleDriverError`` if another driver has precedence.

        A thread calls the cluster, as in ``_leave``, because the cluster may be busy opening a round, and the event
        loop must answer health checks.
        """
        hello = self._hello
        former = await asyncio.to_thread(
            self._cluster.attach, self, hello.fencing, recorded=hello.records_rounds
        )
        if former is not None:
            former.supersede(self._hello.fencing)

    async def _leave(self, taken_over: asyncio.Task[None]) -> None:
        """Detach from the cluster, once the attempt to take it over has ended."""
        await asyncio.gather(taken_over, return_exceptions=True)
        await asyncio.to_thread(self._cluster.detach, self)
        self._registry.close(self._cluster, forget=self._hello.ephemeral)
        self._ended.set()

    async def drain(self) -> None:
        """Send the round in progress, end the stream, and wait until it has ended."""
        self._draining = True
        self._loop.drain()
        await self._ended.wait()

    # --- called by the cluster's other users -------------------------------------------------------------------------

    def supersede(self, by_fencing: int) -> None:
        """End at once, because another driver has taken over."""
        message = (
            f"another driver has taken over cluster {self._cluster.name!r} with fencing number {by_fencing}"
        )
        self._outbox.close(Ending(grpc.StatusCode.ABORTED, message), flush=False)

    def deliver(self, result: EncodedRound) -> None:
        """Send the result of a round for which another client asked."""
        self._outbox.put(result.message())
        self._loop.note_change()

    # --- the session's asyncio tasks ---------------------------------------------------------------------------------

    async def _read(self, messages: AsyncIterator[pb.ClientMessage]) -> None:
        """Handle the driver's messages one by one, until it closes its side or breaks the protocol."""
        try:
            async for message in messages:
                with self._alive.repeat_during(self._sequence):
                    await self._handle(message)
            self._said_goodbye = True
            self._outbox.close(Ending(), flush=True)
        except SupersededError:
            return  # ``supersede`` has closed the stream already.
        except TooLargeClusterError as error:
            self._outbox.close(Ending(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error)), flush=True)
        except (DecodeError, InvalidEventError) as error:
            self._outbox.close(Ending(grpc.StatusCode.INVALID_ARGUMENT, str(error)), flush=True)
        except OrderError as error:
            self._outbox.close(Ending(grpc.StatusCode.FAILED_PRECONDITION, str(error)), flush=True)
        except ProtocolError as error:
            self._outbox.close(Ending(error.code, str(error)), flush=True)
        except Exception:
            log.exception("session failed cluster=%s", self._cluster.name)
            self._outbox.close(Ending(grpc.StatusCode.INTERNAL, "internal error; see the log"), flush=False)

    async def _run_rounds(self) -> None:
        """Run rounds until drained, then end the stream."""
        try:
            await self._loop.run()
        except SupersededError:
            return
        except Exception:
            log.exception("rounds stopped cluster=%s", self._cluster.name)
            self._outbox.close(Ending(grpc.StatusCode.INTERNAL, "internal error; see the log"), flush=False)
        if self._draining:
            self._outbox.close(Ending(grpc.StatusCode.UNAVAILABLE, "the server is shutting down"), flush=True)

    async def _handle(self, message: pb.ClientMessage) -> None:
        """Handle one message; raise the errors with which ``_read`` ends the stream."""
        self._loop.note_message_arrived()
        body = message.WhichOneof("body")
        match body:
            case "events":
                await self._apply(message.events)
            case "reports":
                reports = message.reports
                await self._cluster.do(
                    lambda: self._cluster.report(self, reports_from_proto(reports)), small=_is_small(reports)
                )
            case "snapshot_begin":
                await asyncio.to_thread(self._cluster.begin_snapshot, self)
            case "snapshot_end":
                await asyncio.to_thread(self._cluster.end_snapshot, self)
                self._loop.in_sync()
                self._log("snapshot complete", batches=self._sequence)
            case "hello":
                raise ProtocolError(
                    grpc.StatusCode.FAILED_PRECONDITION, "Hello may be sent only once per stream"
                )
            case _:
                raise ProtocolError(
                    grpc.StatusCode.INVALID_ARGUMENT,
                    "ClientMessage: body: is missing or unknown to this version",
                )
        has_events = body == "events" and len(message.events.events) > 0
        self._loop.note_message_applied(events=has_events, small=has_events and _is_small(message.events))

    async def _apply(self, batch: pb.EventBatch) -> None:
        if batch.sequence != self._sequence + 1:
            raise ProtocolError(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"EventBatch: sequence: {batch.sequence} follows {self._sequence}; send {self._sequence + 1}",
            )
        try:
            await self._cluster.do(lambda: self._take_batch(batch), small=_is_small(batch))
        except InvalidEventError as error:
            raise type(error)(f"EventBatch {batch.sequence}: {str(error)[:_LONGEST_FAULT]}") from error
        self._sequence = batch.sequence
        if self._hello.reads_acknowledged:
            self._outbox.hold(batch.sequence)
        else:
            self._outbox.acknowledge(batch.sequence)

    def _take_batch(self, batch: pb.EventBatch) -> None:
        if batch.reports:
            self._cluster.report(self, reports_from_proto(batch))
        self._cluster.apply(self, events_from_proto(batch.events))

    # --- acknowledgements and end ------------------------------------------------------------------------------------

    def _log(self, what: str, **fields: object) -> None:
        known = {"cluster": self._cluster.name} | {key: each for key, each in fields.items() if each != ""}
        log.info(" ".join((what, *(f"{key}=%s" for key in known))), *known.values())
