"""Asks the solver over gRPC how many machines and tasks it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

import grpc
from grpc import aio

from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

_TIMEOUT_SECONDS = 10.0
_POLL_SECONDS = 0.05


class SolverClient:
    """Asks the solver at ``address`` about ``cluster``; to be used with ``async with``."""

    def __init__(self, address: str, cluster: str) -> None:
        self._channel = aio.insecure_channel(address)
        self._stub = pb_grpc.SchedulerStub(self._channel)
        self._cluster = cluster

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close(None)

    async def counts(self) -> pb.ListStateResponse:
        """Return the solver's counts, or zeros if the solver is unreachable or does not know the cluster."""
        request = pb.ListStateRequest(cluster=self._cluster)
        try:
            return await self._stub.ListState(request, timeout=_TIMEOUT_SECONDS)
        except aio.AioRpcError as error:
            if error.code() in (
                grpc.StatusCode.NOT_FOUND,
                grpc.StatusCode.FAILED_PRECONDITION,
                grpc.StatusCode.UNAVAILABLE,
            ):
                return pb.ListStateResponse()
            raise

    async def wait_for(self, condition: Callable[[pb.ListStateResponse], bool]) -> pb.ListStateResponse:
        """Ask the solver repeatedly until its answer satisfies ``condition``, and return that answer."""
        while not condition(counts := await self.counts()):  # noqa: ASYNC110 - another process cannot set an event
            await asyncio.sleep(_POLL_SECONDS)
        return counts
