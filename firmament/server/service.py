"""Implements the gRPC service: a thin layer between calls and clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import grpc
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from firmament.core.questions import UnknownTaskError
from firmament.server.access.credentials import Clients
from firmament.server.cluster import ServedCluster
from firmament.server.cluster_registry import (
    ClusterInUseError,
    ClusterRegistry,
    TooManyClustersError,
    UnknownClusterError,
)
from firmament.server.cures import BusySearchError, CureSearches
from firmament.server.driver import NoStateError
from firmament.server.process_copy import CopyError
from firmament.server.protocol_version import ProtocolError, check_hello
from firmament.server.question_pool import QuestionPool, TooManyQuestionsError
from firmament.server.session import Session as DriverSession
from firmament.server.session import SessionSettings
from firmament.solvers.base import SolverClosedError
from firmament.wire.rounds import (
    explanation_to_proto,
    flow_to_proto,
    machine_state_to_proto,
    rounds_to_proto,
    task_state_to_proto,
)
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from firmament.server.driving.loop import RoundRunner
    from firmament.server.metrics import Metrics
    from firmament.wire.rounds import EncodedRound


T = TypeVar("T")

_CODES: Mapping[type[Exception], grpc.StatusCode] = {
    NoStateError: grpc.StatusCode.FAILED_PRECONDITION,
    ClusterInUseError: grpc.StatusCode.FAILED_PRECONDITION,
    UnknownClusterError: grpc.StatusCode.NOT_FOUND,
    DecodeError: grpc.StatusCode.INVALID_ARGUMENT,
    CopyError: grpc.StatusCode.INTERNAL,
}
"""By type of error: the status code with which a call ends; the error's text says why."""


class SchedulerService:
    """Serves sessions and unary calls; the clusters in the registry hold all state.

    Each call of the protocol has a method of its name. Results of rounds are serialised in the thread of their round.
    """

    def __init__(
        self,
        registry: ClusterRegistry,
        runner: RoundRunner,
        settings: SessionSettings,
        metrics: Metrics,
        clients: Clients | None = None,
    ) -> None:
        self._clients = clients or Clients()
        self._questions = QuestionPool(settings.limits.questions)
        self._cures = CureSearches()
        self._streams = 0
        self._registry = registry
        self._runner = runner
        self._settings = settings
        self._metrics = metrics
        self._sessions: set[DriverSession] = set()
        self._asked: set[asyncio.Task[EncodedRound | None]] = set()
        self._draining = False

    async def drain(self) -> None:
        """Refuse new sessions, let open sessions send their round in progress, and wait until all have ended.

        Also wait for rounds that the call ``Schedule`` has started.
        """
        self._draining = True
        await asyncio.gather(*(session.drain() for session in self._sessions))
        if self._asked:
            await asyncio.wait(self._asked)

    def close(self) -> None:
        """End the threads that answer questions, and the search for cures."""
        self._cures.close()
        self._questions.close()

    async def Session(  # noqa: N802 - the protocol's name
        self, request_iterator: Any, context: Any
    ) -> AsyncIterator[pb.ServerMessage | bytes]:
        """Answer the protocol's call ``Session``."""
        most = self._settings.limits.streams
        if self._draining:
            await _abort(context, grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
        if self._streams >= most:
            await self._refuse(
                context, f"{most} streams are open, as many as limits.streams allows; try again later"
            )
        self._streams += 1
        try:
            messages = cast("AsyncIterator[pb.ClientMessage]", aiter(request_iterator))
            session = await self._greet(messages, context)
            if session is None:
                return
            # With ``aclosing``, the session cleans up now, not when the generator is collected.
            async with aclosing(session.run(messages)) as stream:
                with self._open(session):
                    async for message in stream:
                        yield message
        finally:
            self._streams -= 1
        if session.ending.code is not grpc.StatusCode.OK:
            await _abort(context, session.ending.code, session.ending.message)

    async def _greet(self, messages: AsyncIterator[pb.ClientMessage], context: Any) -> DriverSession | None:
        """Read Hello and return the session; None if the stream ends before it.

        A stream that begins with another message ends the call.
        """
        try:
            async with self._answering(context):
                async with asyncio.timeout(self._settings.limits.hello_timeout):
                    hello = check_hello(await anext(messages))
                await self._admit(hello.cluster, context)
                return DriverSession(hello, self._registry, self._runner, self._settings)
        except StopAsyncIteration:
            return None
        except TimeoutError:
            message = f"no Hello within {self._settings.limits.hello_timeout:g} s (limits.helloTimeout)"
            self._metrics.count_refused("hello")
            await _abort(context, grpc.StatusCode.DEADLINE_EXCEEDED, message)
        except ProtocolError as error:
            await _abort(context, error.code, str(error))

    @contextmanager
    def _open(self, session: DriverSession) -> Iterator[None]:
        """Return the context in which a session counts as open."""
        self._sessions.add(session)
        try:
            with self._metrics.sessions.track_inprogress():
                yield
        finally:
            self._sessions.discard(session)

    async def Schedule(self, request: pb.ScheduleRequest, context: Any) -> bytes:  # noqa: N802
        """Answer the protocol's call ``Schedule``."""
        cluster = await self._cluster(request.cluster, context)
        # The driver must get the round's result even if the caller does not wait for the answer.
        asked = asyncio.create_task(self._run_and_deliver(cluster))
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)
        async with self._answering(context):
            result = await asyncio.shield(asked)
        if result is None:
            await _abort(context, grpc.StatusCode.ABORTED, "a new snapshot came during the round; try again")
        return result.body

    async def Explain(self, request: pb.ExplainRequest, context: Any) -> bytes:  # noqa: N802
        """Answer the protocol's call ``Explain``."""
        try:
            return await self._ask(
                request, context, lambda it: explanation_to_proto(it.explain(request.task))
            )
        except UnknownTaskError:
            await _abort_unknown(request, context)

    async def FindCures(self, request: pb.FindCuresRequest, context: Any) -> bytes:  # noqa: N802
        """Answer the protocol's call ``FindCures``."""
        cluster = await self._cluster(request.cluster, context)
        try:
            async with self._answering(context):
                return await self._questions.ask(
                    lambda: self._cures.find_cures(cluster, request.task, request.fixed)
                )
        except UnknownTaskError:
            await _abort_unknown(request, context)

    async def ListState(self, request: pb.ListStateRequest, context: Any) -> bytes:  # noqa: N802
        """Answer the protocol's call ``ListState``."""
        names = [each for each in self._registry.names() if self._clients.may(context, each)]
        if not request.cluster:
            live = [each for each in self._registry.live() if each in names]
            return pb.ListStateResponse(clusters=names, live_clusters=live).SerializeToString()
        return await self._ask(
            request, context, lambda it: _listing(it, names, with_tasks=request.with_tasks)
        )

    async def ExportNetwork(self, request: pb.ExportNetworkRequest, context: Any) -> bytes:  # noqa: N802
        """Answer the protocol's call ``ExportNetwork``."""
        return await self._ask(request, context, _network)

    async def ListRounds(self, request: pb.ListRoundsRequest, context: Any) -> bytes:  # noqa: N802
        """Answer the protocol's call ``ListRounds``."""
        return await self._ask(request, context, lambda it: rounds_to_proto(it.rounds(request.after)))

    async def DescribeFlow(self, request: pb.DescribeFlowRequest, context: Any) -> bytes:  # noqa: N802
        """Answer the protocol's call ``DescribeFlow``."""
        return await self._ask(
            request,
            context,
            lambda it: flow_to_proto(it.describe_flow(request.after, with_tasks=request.with_tasks)),
        )

    async def DeleteCluster(  # noqa: N802
        self, request: pb.DeleteClusterRequest, context: Any
    ) -> pb.DeleteClusterResponse:
        """Answer the protocol's call ``DeleteCluster``."""
        await self._cluster(request.cluster, context)
        async with self._answering(context):
            self._registry.delete(request.cluster)
        return pb.DeleteClusterResponse()

    async def _run_and_deliver(self, cluster: ServedCluster) -> EncodedRound | None:
        """Run a round and send it to the driver, unless another driver has come meanwhile and sends a snapshot."""
        driver = cluster.driver
        result = await self._questions.ask(lambda: self._runner.run_here(cluster))
        if result is not None and driver is not None and cluster.driver is driver:
            driver.deliver(result)
        return result

    async def _cluster(self, name: str, context: Any) -> ServedCluster:
        """Return the cluster with this name; end the call if it is unknown or the client may not use it."""
        if not name:
            await _abort(context, grpc.StatusCode.INVALID_ARGUMENT, "cluster: is empty; name the cluster")
        await self._admit(name, context)
        async with self._answering(context):
            return self._registry.get(name)

    async def _admit(self, cluster: str, context: Any) -> None:
        """End the call if its client may not use ``cluster``."""
        if not self._clients.may(context, cluster):
            self._metrics.count_refused("client")
            await _abort(context, grpc.StatusCode.PERMISSION_DENIED, self._clients.refusal(context, cluster))

    async def _ask(self, request: Any, context: Any, question: Callable[[ServedCluster], Message]) -> bytes:
        """Return the serialised answer to a question about the request's cluster, computed off the event loop."""
        cluster = await self._cluster(request.cluster, context)
        async with self._answering(context):
            return await self._questions.ask(lambda: question(cluster).SerializeToString())

    @asynccontextmanager
    async def _answering(self, context: Any) -> AsyncIterator[None]:
        """Return the context in which errors that say why a call cannot be answered end the call."""
        try:
            yield
        except SolverClosedError:
            await _abort(context, grpc.StatusCode.UNAVAILABLE, "the server stops; ask again in a moment")
        except (TooManyClustersError, TooManyQuestionsError, BusySearchError) as error:
            await self._refuse(context, str(error))
        except tuple(_CODES) as error:
            await _abort(context, _CODES[type(error)], str(error))

    async def _refuse(self, context: Any, message: str) -> NoReturn:
        """End a call that exceeds a limit."""
        self._metrics.count_refused("limit")
        await _abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, message)


async def _abort(context: Any, code: grpc.StatusCode, message: str) -> NoReturn:
    """End the call by an exception: grpc.aio's ``abort`` always raises, which its type stubs do not state."""
    await context.abort(code, message)
    raise AssertionError("unreachable")


async def _abort_unknown(request: pb.ExplainRequest | pb.FindCuresRequest, context: Any) -> NoReturn:
    """End a call about a task that is not known."""
    message = f"task {request.task!r} is not known in cluster {request.cluster!r}"
    await _abort(context, grpc.StatusCode.NOT_FOUND, message)


def _network(cluster: ServedCluster) -> pb.ExportNetworkResponse:
    text, number = cluster.network()
    return pb.ExportNetworkResponse(dimacs=text, round=number)


def _listing(cluster: ServedCluster, names: list[str], *, with_tasks: bool) -> pb.ListStateResponse:
    counts, tasks, machines = cluster.listing(with_tasks=with_tasks)
    return pb.ListStateResponse(
        clusters=names,
        **asdict(counts),
        tasks=map(task_state_to_proto, tasks),
        machine_states=map(machine_state_to_proto, machines),
    )


def add_service(service: SchedulerService, server: grpc.aio.Server) -> None:
    """Register the methods of ``service`` with ``server`` as the answers to the calls of their names.

    The function does what the generated ``add_SchedulerServicer_to_server`` does, but also accepts serialised
    messages. Results of rounds are large, and the event loop's thread, which would otherwise serialise them, must
    answer health checks.
    """
    described = pb.DESCRIPTOR.services_by_name["Scheduler"]
    handlers = {
        method.name: (
            grpc.stream_stream_rpc_method_handler
            if method.client_streaming
            else grpc.unary_unary_rpc_method_handler
        )(
            getattr(service, method.name),
            request_deserializer=GetMessageClass(method.input_type).FromString,
            response_serializer=_serialise,
        )
        for method in described.methods
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(described.full_name, handlers),))


def _serialise(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()
