"""Small parts of the server by themselves."""

from __future__ import annotations

import asyncio

import grpc

from firmament.server.outbox import DriverOutbox, Ending
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.time_limits import stretch


def result(number: int) -> pb.ServerMessage:
    return pb.ServerMessage(round=pb.RoundResult(round=number))


async def test_acknowledgements_are_coalesced():
    outbox = DriverOutbox()
    for number in (1, 2, 3):
        outbox.acknowledge(number)
    outbox.put(result(1))
    first, second = await outbox.pop(), await outbox.pop()
    assert isinstance(first, pb.ServerMessage)
    assert first.ack.sequence == 3
    assert second == result(1)


async def test_producers_wait_for_room():
    outbox = DriverOutbox(capacity=2)
    outbox.put(result(1))
    await asyncio.wait_for(outbox.wait_for_room(), stretch(1))
    outbox.put(result(2))
    waiting = asyncio.ensure_future(outbox.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    assert await outbox.pop() == result(1)
    await asyncio.wait_for(waiting, stretch(1))


async def test_closing_with_and_without_what_waits():
    ending = Ending(grpc.StatusCode.ABORTED, "over")
    flushed, cut = DriverOutbox(), DriverOutbox()
    for outbox, flush in ((flushed, True), (cut, False)):
        outbox.put(result(1))
        outbox.acknowledge(5)
        outbox.close(ending, flush=flush)
        outbox.close(Ending(), flush=True)
    assert isinstance(await flushed.pop(), pb.ServerMessage)
    assert await flushed.pop() == result(1)
    assert await flushed.pop() == ending
    assert await cut.pop() == ending


async def test_closing_wakes_whoever_waits():
    outbox = DriverOutbox(capacity=1)
    outbox.put(result(1))
    waiting = asyncio.ensure_future(outbox.wait_for_room())
    outbox.close(Ending(), flush=False)
    await asyncio.wait_for(waiting, stretch(1))
    assert await outbox.pop() == Ending()
