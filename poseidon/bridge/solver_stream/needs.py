"""What a solver's models look at, as it says itself: it decides what of pods and nodes is read, and sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import count
from random import Random

from poseidon.bridge.solver_stream.stream import (
    VERSION_MAJOR,
    VERSION_MINOR,
    Call,
    HelloRefusedError,
    StreamLostError,
    credentials,
    greet,
    open_channel,
)
from poseidon.kube.client.backoff import Backoff
from poseidon.pods.visibility import WHEN_UNTOLD
from protos.conventions.tls import TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

FIRST_MINOR = 2
"""The minor version of the protocol from which on servers say what they need."""

_MOST_BYTES = 1 << 20
_HELLO_SECONDS, _KEEPALIVE_SECONDS = 2.0, 20.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0


class NeedsChangedError(Exception):
    """The solver needs other things than it is being told: all has to be read anew. ``needs``: what it needs."""

    def __init__(self, needs: frozenset[str]) -> None:
        super().__init__("the solver's models look at something else than before")
        self.needs = needs


def needs_of(welcome: pb.Welcome) -> frozenset[str]:
    """Return what a solver needs, in the words of ``Welcome``.

    One that is too old to say gets all that such solvers can use, and the kinds of records that they name.
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
    """Ask the solvers at ``targets`` what they need, one after the other, for up to ``seconds``; return what the first
    says that answers, None if none did, or it refused.

    It is greeted as a driver of ``cluster``, which must be nobody else's, and which it forgets at once: whoever drives
    the true one goes on meanwhile.
    """
    hello = hello_of(cluster, client)
    backoff = Backoff(random, _FIRST_PAUSE, _LONGEST_PAUSE)
    try:
        async with asyncio.timeout(seconds):
            for turn in count(1):
                try:
                    return needs_of(await greeted(targets[turn % len(targets) - 1], hello, tls))
                except StreamLostError:
                    if turn % len(targets) == 0:
                        await asyncio.sleep(backoff.next())
    except (TimeoutError, HelloRefusedError):
        pass
    return None


def hello_of(cluster: str, client: str, *, fencing: int = 0, ephemeral: bool = True) -> pb.Hello:
    """Return the greeting of a driver of ``cluster``; an ``ephemeral`` one is forgotten when its session ends."""
    return pb.Hello(
        version_major=VERSION_MAJOR,
        version_minor=VERSION_MINOR,
        cluster=cluster,
        client=client,
        fencing=fencing,
        ephemeral=ephemeral,
    )


async def greeted(target: str, hello: pb.Hello, tls: TlsFiles | None) -> pb.Welcome:
    """Return how the solver at ``target`` answers. Raises ``HelloRefusedError`` or ``StreamLostError``."""
    async with open_channel(target, _MOST_BYTES, _KEEPALIVE_SECONDS, credentials(tls)) as channel:
        call: Call = pb_grpc.SchedulerStub(channel).Session(None)
        try:
            return await greet(call, target, hello, _HELLO_SECONDS)
        finally:
            call.cancel()
