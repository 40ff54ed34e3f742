"""Asks running solvers questions, and returns the answers or raises errors with a text for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import grpc
from google.protobuf.json_format import MessageToDict

from poseidon.bridge.solver_stream.stream import open_channel
from protos.conventions.tls import TlsFiles
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

Answer = TypeVar("Answer")

_MOST_BYTES = 1 << 30
"""Largest answer in bytes; an explanation names every node with the verdict of each cost model."""
_KEEPALIVE_SECONDS = 20.0
_SEARCH_SECONDS = 30.0
"""The longest time that a solver seeks cures, in seconds."""
_NOT_KNOWN = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION)
"""Status codes of a solver that does not know the object in question, or not the whole cluster yet."""


class NoAnswerError(Exception):
    """Raised if no solver has answered; the text says why, with one line per solver."""


async def explain_task(
    targets: Sequence[str], cluster: str, uid: str, seconds: float, tls: TlsFiles | None = None
) -> pb.Explanation | None:
    """Return the answer of the first solver at ``targets`` that knows a task, or None if no answering one does.

    Each solver has ``seconds`` to answer. Raises ``TlsError``, or ``NoAnswerError`` if none answers.
    """
    request = pb.ExplainRequest(cluster=cluster, task=uid)
    return await _ask_in_order(targets, tls, lambda stub: stub.Explain(request, timeout=seconds))


async def find_cures(
    targets: Sequence[str],
    cluster: str,
    uid: str,
    fixed: Sequence[str],
    seconds: float,
    tls: TlsFiles | None = None,
) -> pb.FoundCures | None:
    """Return what would give a waiting task a machine, from the first solver that knows the task.

    ``fixed`` has the uids of tasks that may not be moved. Each solver may take ``seconds`` in addition to the time of
    its search.
    """
    request = pb.FindCuresRequest(cluster=cluster, task=uid, fixed=fixed)
    return await _ask_in_order(
        targets, tls, lambda stub: stub.FindCures(request, timeout=_SEARCH_SECONDS + seconds)
    )


async def list_clusters(targets: Sequence[str], seconds: float, tls: TlsFiles | None = None) -> set[str]:
    """Return the names of all clusters that the answering solvers at ``targets`` serve.

    Each solver has ``seconds`` to answer. Raises ``TlsError``, or ``NoAnswerError`` if none answers.
    """
    names: set[str] = set()
    faults = []
    for target in targets:
        try:
            found = await _ask_in_order(
                [target], tls, lambda stub: stub.ListState(pb.ListStateRequest(), timeout=seconds)
            )
        except NoAnswerError as error:
            faults.append(str(error))
        else:
            names.update(found.clusters if found is not None else ())
    if len(faults) == len(targets):
        raise NoAnswerError("; ".join(faults))
    return names


async def read_state(
    targets: Sequence[str], cluster: str, seconds: float, tls: TlsFiles | None = None
) -> dict[str, Any]:
    """Return the state of ``cluster``, as the protocol's JSON, from the first solver that serves it.

    Raises ``TlsError``, or ``NoAnswerError`` if no solver serves the cluster or knows all of it.
    """
    request = pb.ListStateRequest(cluster=cluster, with_tasks=True)
    found = await _ask_in_order(targets, tls, lambda stub: stub.ListState(request, timeout=seconds))
    if found is None:
        raise NoAnswerError(f"no solver drives cluster {cluster}, or its solver does not know all of it yet")
    return dict(MessageToDict(found))


async def _ask_in_order(
    targets: Sequence[str], tls: TlsFiles | None, ask: Callable[[Any], Awaitable[Answer]]
) -> Answer | None:
    """Return the first answer; None if no solver answers, but some solver says that it does not know the object."""
    shown = tls.read() if tls is not None else None
    unknown = False
    faults = []
    for target in targets:
        async with open_channel(target, _MOST_BYTES, _KEEPALIVE_SECONDS, shown) as channel:
            try:
                return await ask(pb_grpc.SchedulerStub(channel))
            except grpc.aio.AioRpcError as error:
                if error.code() in _NOT_KNOWN:
                    unknown = True  # Ask the next solver, which may serve the cluster.
                elif error.code() is grpc.StatusCode.UNIMPLEMENTED:
                    faults.append(f"{target}: is of an older release, which cannot answer this question")
                else:
                    details = " ".join((error.details() or "").split())
                    faults.append(f"{target}: {error.code().name}: {details}")
    if unknown:
        return None
    raise NoAnswerError("; ".join(faults))
