"""Opens one stream to the solver, greets the solver, reads its needs, and says why a stream ended."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from random import Random
from typing import NamedTuple, TypeAlias

import grpc
from grpc import aio

from poseidon.kube.client.backoff import Backoff
from poseidon.pods.visibility import WHEN_UNTOLD
from protos.conventions.tls import TlsContents, TlsError, TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

VERSION_MAJOR = 1
VERSION_MINOR = 2

Call: TypeAlias = "aio.StreamStreamCall[pb.ClientMessage, pb.ServerMessage]"

_REFUSALS = frozenset(
    {
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
    }
)
_REFUSED_EVENT = re.compile(r"EventBatch (\d{1,18}): event (\d{1,9}): (.*)", re.ASCII | re.DOTALL)
FIRST_MINOR = 2
"""The first minor version of the protocol in which servers say what they need."""

_MOST_BYTES = 1 << 20
_HELLO_SECONDS, _KEEPALIVE_SECONDS = 2.0, 20.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0


class HelloRefusedError(Exception):
    """The solver refuses this driver, because of its version or a newer driver's fencing number."""


class StreamLostError(Exception):
    """The stream ended, or could not be opened."""


class CredentialsChangedError(Exception):
    """The certificate files have changed since the stream was opened."""


def open_channel(
    target: str, max_message_bytes: int, keepalive_seconds: float, tls: TlsContents | None = None
) -> aio.Channel:
    """Return a channel for one stream to the solver at ``target``; the caller closes it.

    A connection without data for ``keepalive_seconds`` is probed. Without ``tls`` nothing is encrypted.
    """
    options = [
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.keepalive_time_ms", round(keepalive_seconds * 1000)),
        ("grpc.keepalive_timeout_ms", 10_000),
        # A stream may be idle for hours; gRPC would probe it twice at that pace, and then once a minute.
        ("grpc.http2.max_pings_without_data", 0),
        # The solver never compresses, and a few compressed bytes of an attacker could become very many.
        ("grpc.compression_enabled_algorithms_bitset", 1),
        # Each attempt must open a new connection: the session decides on pauses, not the channel.
        ("grpc.use_local_subchannel_pool", 1),
        # The solver is reached without a proxy, because proxies are for connections that leave the cluster.
        ("grpc.enable_http_proxy", 0),
    ]
    if tls is None:
        return aio.insecure_channel(target, options=options)
    return aio.secure_channel(target, tls.channel_credentials(), options=options)


def credentials(tls: TlsFiles | None) -> TlsContents | None:
    """Return the present content of this side's certificate files, None without TLS. Raises ``StreamLostError``."""
    try:
        return tls.read() if tls is not None else None
    except TlsError as error:
        raise StreamLostError(str(error)) from None


async def credentials_changed(tls: TlsFiles | None, shown: TlsContents | None, seconds: float) -> None:
    """Raise ``CredentialsChangedError`` once the files have changed: a channel cannot change its certificate.

    The files are checked every ``seconds``. If certificate files are missing for a moment, a working stream
    continues.
    """
    while True:
        await asyncio.sleep(seconds)
        with suppress(StreamLostError):
            if credentials(tls) != shown:
                raise CredentialsChangedError


async def greet(call: Call, target: str, hello: pb.Hello, seconds: float) -> pb.Welcome:
    """Say hello and wait up to ``seconds`` for the answer. Raises ``HelloRefusedError`` or ``StreamLostError``."""
    try:
        async with asyncio.timeout(seconds):
            await call.write(pb.ClientMessage(hello=hello))
            answer = await call.read()
    except TimeoutError:
        raise StreamLostError(f"{target}: no answer to hello") from None
    except aio.AioRpcError as error:
        if error.code() in _REFUSALS:
            raise HelloRefusedError(f"{target}: {error.details()}") from error
        raise StreamLostError(describe_error(target, error)) from error
    except asyncio.InvalidStateError:
        raise await end_of(call, target, greeting=True) from None
    if not isinstance(answer, pb.ServerMessage):
        raise await end_of(call, target, greeting=True)
    welcome = answer.welcome
    if answer.WhichOneof("body") != "welcome" or welcome.version_major != VERSION_MAJOR:
        raise HelloRefusedError(
            f"{target}: speaks protocol {welcome.version_major}.{welcome.version_minor}, "
            f"this is {VERSION_MAJOR}.{VERSION_MINOR}; run matching versions"
        )
    return welcome


async def end_of(call: Call, target: str, *, greeting: bool) -> Exception:
    """Return the error to raise for a call that has ended."""
    code, details = await call.code(), await call.details()
    if greeting and code in _REFUSALS:
        return HelloRefusedError(f"{target}: {details}")
    return StreamLostError(f"{target}: {code.name}: {details or 'the solver ended the stream'}")


class Refusal(NamedTuple):
    """A refused event: the number of its batch, its index in the batch from 0 on, and the solver's reason."""

    batch: int
    event: int
    reason: str


def parse_refusal(code: grpc.StatusCode, details: str) -> Refusal | None:
    """Return the event that the server refused when it ended a stream, None if the stream ended for another reason."""
    found = _REFUSED_EVENT.match(details) if code is grpc.StatusCode.INVALID_ARGUMENT else None
    return Refusal(int(found[1]), int(found[2]), " ".join(found[3].split())) if found is not None else None


def describe_error(target: str, error: aio.AioRpcError) -> str:
    """Return in one line why a call failed."""
    return f"{target}: {error.code().name}: {' '.join((error.details() or '').split())}"


class NeedsChangedError(Exception):
    """The solver needs other data than the bridge sends, so the bridge must start anew.

    ``needs``: the data that the solver needs now.
    """

    def __init__(self, needs: frozenset[str]) -> None:
        super().__init__("the solver's models look at something else than before")
        self.needs = needs


def needs_of(welcome: pb.Welcome) -> frozenset[str]:
    """Return the data that a solver needs, as named in the protocol's message ``Welcome``.

    If a solver is too old to state its needs, the result has all data that such solvers can use, and the kinds of
    records that the solver names.
    """
    if (welcome.version_major, welcome.version_minor) >= (VERSION_MAJOR, FIRST_MINOR):
        return frozenset(welcome.needs)
    return WHEN_UNTOLD | {f"records:{kind}" for kind in welcome.record_kinds}


async def ask(
    targets: Sequence[str],
    cluster: str,
    client: str,
    seconds: float,
    *,
    random: Random,
    tls: TlsFiles | None = None,
) -> frozenset[str] | None:
    """Ask the solvers at ``targets`` in turn for their needs, up to ``seconds``; return the first answer or None.

    The call greets a solver as the driver of ``cluster``, a name that no other driver may use, and that the solver
    forgets at once. The driver of the real cluster is thus not disturbed.
    """
    hello = hello_of(cluster, client)
    backoff = Backoff(random, _FIRST_PAUSE, _LONGEST_PAUSE)
    try:
        async with asyncio.timeout(seconds):
            for turn in count(1):
                try:
                    return needs_of(await ask_welcome(targets[turn % len(targets) - 1], hello, tls))
                except StreamLostError:
                    if turn % len(targets) == 0:
                        await asyncio.sleep(backoff.next())
    except (TimeoutError, HelloRefusedError):
        pass
    return None


def hello_of(cluster: str, client: str, *, fencing: int = 0, ephemeral: bool = True) -> pb.Hello:
    """Return the Hello of a driver of ``cluster``; the solver forgets an ``ephemeral`` driver when its session ends."""
    return pb.Hello(
        version_major=VERSION_MAJOR,
        version_minor=VERSION_MINOR,
        cluster=cluster,
        client=client,
        fencing=fencing,
        ephemeral=ephemeral,
        reads_acknowledged=True,
    )


async def ask_welcome(target: str, hello: pb.Hello, tls: TlsFiles | None) -> pb.Welcome:
    """Return the Welcome of the solver at ``target``. Raises ``HelloRefusedError`` or ``StreamLostError``."""
    async with open_channel(target, _MOST_BYTES, _KEEPALIVE_SECONDS, credentials(tls)) as channel:
        call: Call = pb_grpc.SchedulerStub(channel).Session(None)
        try:
            return await greet(call, target, hello, _HELLO_SECONDS)
        finally:
            call.cancel()
