"""Questions to running solvers, with answers or an error for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import grpc

from poseidon.bridge.solver_stream.stream import open_channel
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

if TYPE_CHECKING:
    from protos.conventions.tls import TlsFiles

_MOST_BYTES = 1 << 30
"""An explanation names every node, with what each model says of it."""
_KEEPALIVE_SECONDS = 20.0


class NoAnswerError(Exception):
    """No solver has answered; the text says of each why, in one line."""


async def explain_task(
    targets: Sequence[str], cluster: str, uid: str, seconds: float, tls: TlsFiles | None = None
) -> pb.Explanation | None:
    """Return what the first of the solvers at ``targets`` says that knows the task; None: one answers, none knows it.

    Each has ``seconds`` to answer. Raises ``NoAnswerError`` or ``TlsError``.
    """
    request = pb.ExplainRequest(cluster=cluster, task=uid)
    shown = tls.read() if tls is not None else None
    unknown = False
    faults = []
    for target in targets:
        async with open_channel(target, _MOST_BYTES, _KEEPALIVE_SECONDS, shown) as channel:
            try:
                return await pb_grpc.SchedulerStub(channel).Explain(request, timeout=seconds)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.NOT_FOUND:
                    unknown = True  # perhaps another one drives the cluster
                else:
                    details = " ".join((error.details() or "").split())
                    faults.append(f"{target}: {error.code().name}: {details}")
    if unknown:
        return None
    raise NoAnswerError("; ".join(faults))
