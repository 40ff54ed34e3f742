"""Requests are carried out once each, oldest first, and never more at a time than allowed."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from poseidon.kube.write.write_retries import WorkerPool
from tests.support.waiting import until


class Work:
    """Requests that are in flight until they are let go."""

    def __init__(self, limit):
        self.limit = limit
        self.begun = []
        self.ended = []
        self.most = 0
        self.gates = {}
        self.pool = WorkerPool(self.perform, lambda: self.limit)

    async def perform(self, request):
        self.begun.append(request)
        self.most = max(self.most, len(self.begun) - len(self.ended))
        await self.gates.setdefault(request, asyncio.Event()).wait()
        self.ended.append(request)

    def let_go(self, *requests):
        for request in requests:
            self.gates.setdefault(request, asyncio.Event()).set()


@asynccontextmanager
async def working(limit):
    work = Work(limit)
    running = asyncio.create_task(work.pool.run())
    try:
        yield work
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_as_many_as_allowed_oldest_first():
    async with working(3) as work:
        work.let_go(*range(10))
        for request in range(10):
            work.pool.submit(request)
        await work.pool.wait_idle()
    assert work.begun == list(range(10))
    assert work.most <= 3


async def test_what_is_submitted_before_it_runs_is_carried_out():
    work = Work(2)
    work.pool.submit(1)
    work.let_go(1)
    running = asyncio.create_task(work.pool.run())
    await work.pool.wait_idle()
    running.cancel()
    assert work.ended == [1]


async def test_a_limit_that_grows_or_shrinks_counts_from_the_next_request_on():
    async with working(1) as work:
        for request in range(20):
            work.pool.submit(request)
        await until(lambda: work.begun == [0])
        work.limit = 4
        work.let_go(0)
        await until(lambda: work.begun == [0, 1, 2, 3, 4])
        work.limit = 2
        work.let_go(1, 2)
        await until(lambda: len(work.ended) == 3)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(work.begun) == 5, "two of four are done, and two are what is allowed"
        work.let_go(*range(20))
        await work.pool.wait_idle()
    assert sorted(work.ended) == list(range(20))


async def test_what_waits_can_be_dropped():
    async with working(1) as work:
        for request in range(5):
            work.pool.submit(request)
        await until(lambda: work.begun == [0])
        assert work.pool.unfinished == 5
        assert work.pool.discard_waiting() == 4
        assert work.pool.unfinished == 1
        idle = asyncio.create_task(work.pool.wait_idle())
        await asyncio.sleep(0)
        assert not idle.done(), "one is still in flight"
        work.let_go(0)
        await idle
        await work.pool.wait_idle()
        assert work.begun == [0]
        assert work.pool.discard_waiting() == 0


async def test_it_is_idle_once_all_that_waits_is_dropped():
    work = Work(1)
    work.pool.submit(0)
    idle = asyncio.create_task(work.pool.wait_idle())
    await asyncio.sleep(0)
    assert not idle.done()
    assert (work.pool.waiting, work.pool.discard_waiting(), work.pool.waiting) == (1, 1, 0)
    await asyncio.sleep(0)
    assert idle.done()
