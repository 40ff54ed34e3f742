"""Who opens a connection, and who waits for one."""

from __future__ import annotations

import asyncio

import pytest

from poseidon.kube.client import connection_openings
from poseidon.kube.client.connection_openings import AT_A_TIME, FEW, Openings
from tests.poseidon.kube.client.test_connections import OK, REQUEST, serving
from tests.support.waiting import until

CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


class Opened:
    """Connections are numbers here."""

    def __init__(self, present: int = FEW):
        self.present = present
        self.returned: list[int] = []
        self.openings: Openings[int] = Openings(lambda: self.present, self.returned.append)

    def answer(self, *seconds: float) -> None:
        for each in seconds:
            self.openings.note_answer(each)


async def test_the_first_few_are_opened_at_once():
    opened = Opened(present=FEW - 3)
    assert [opened.openings.begin() for _ in range(4)] == [True] * 3 + [False]


async def test_over_a_long_way_more_are_opened_but_not_all_at_a_time():
    opened = Opened()
    assert not opened.openings.begin()  # nothing is known about the server yet
    opened.answer(0.1, 0.35, 0.1)
    assert [opened.openings.begin() for _ in range(AT_A_TIME + 1)] == [True] * AT_A_TIME + [False]
    opened.openings.end()
    assert opened.openings.begin()


async def test_a_busy_server_is_not_asked_for_more():
    opened = Opened()
    opened.answer(0.003, *[0.02] * 10)
    assert not opened.openings.begin()
    opened.answer(*[0.003] * 20)
    assert opened.openings.begin()


async def test_a_way_that_has_become_longer_is_learnt():
    opened = Opened()
    opened.answer(0.003, *[0.1] * 10)
    assert not opened.openings.begin()
    opened.answer(*[0.1] * 3000)
    assert opened.openings.begin()


async def test_who_has_waited_longest_comes_first():
    opened = Opened()
    waiting = [asyncio.create_task(opened.openings.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert [opened.openings.hand_over(number) for number in (1, 2, 3, 4)] == [
        True,
        True,
        True,
        False,
    ]
    assert await asyncio.gather(*waiting) == [1, 2, 3]


async def test_urgent_requests_come_first():
    opened = Opened()
    waiting = [
        asyncio.create_task(opened.openings.wait(urgent=urgent)) for urgent in (False, True, False, True)
    ]
    await asyncio.sleep(0)
    for number in range(4):
        opened.openings.hand_over(number)
    assert await asyncio.gather(*waiting) == [2, 0, 3, 1]


async def test_a_request_that_was_cancelled_as_it_got_a_connection_gives_it_back():
    opened = Opened()
    waiting = asyncio.create_task(opened.openings.wait())
    await asyncio.sleep(0)
    opened.openings.hand_over(7)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert opened.returned == [7]


async def test_a_request_that_was_cancelled_as_it_might_open_one_lets_the_next_do_so():
    opened = Opened(present=FEW)
    first, second = (asyncio.create_task(opened.openings.wait()) for _ in range(2))
    await asyncio.sleep(0)
    opened.present = FEW - 1
    opened.openings.let_open()
    first.cancel()
    assert await second is None
    assert not opened.openings.begin()


async def test_a_request_that_was_cancelled_while_it_waited_is_passed_over():
    opened = Opened()
    first, second = (asyncio.create_task(opened.openings.wait()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert opened.openings.hand_over(1)
    assert await second == 1


async def test_nobody_waits_for_long_for_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection_openings, "PATIENCE_SECONDS", 0.01)
    opened = Opened()
    assert await opened.openings.wait() is None
    opened.openings.end()
    opened.openings.close()


async def test_a_request_waits_as_long_as_others_are_answered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection_openings, "PATIENCE_SECONDS", 0.01)
    opened = Opened()
    waiting = asyncio.create_task(opened.openings.wait())
    answering = asyncio.create_task(keep_answering(opened))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.1)
    answering.cancel()
    assert await waiting is None


async def keep_answering(opened: Opened) -> None:
    opened.answer(0.001)
    while True:
        opened.answer(1.0)
        await asyncio.sleep(0)


async def test_a_request_that_has_waited_for_long_lets_others_open_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection_openings, "PATIENCE_SECONDS", 0.01)
    opened = Opened(present=0)
    assert all(opened.openings.begin() for _ in range(AT_A_TIME))
    opened.present = 5 * FEW
    waiting = asyncio.create_task(opened.openings.wait())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), 0.05)
    opened.openings.end()
    assert await waiting is None


async def test_a_near_server_gets_few_connections_however_many_requests_come(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection_openings, "PATIENCE_SECONDS", 60.0)
    async with serving() as (server, pool):
        replies = await asyncio.gather(*(pool.exchange(REQUEST) for _ in range(100)))
    assert all(reply.body == b"ok" for reply in replies)
    assert (server.connections, server.requests) == (FEW, 100)


async def test_a_server_that_closes_each_connection_is_served_all_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection_openings, "PATIENCE_SECONDS", 60.0)
    async with serving() as (server, pool):
        server.answers = [CLOSING] * 50
        await asyncio.wait_for(asyncio.gather(*(pool.exchange(REQUEST) for _ in range(50))), 30)
    assert server.connections == 50


async def test_requests_wait_no_longer_once_the_pool_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection_openings, "PATIENCE_SECONDS", 60.0)
    async with serving() as (server, pool):
        server.answers = [OK[:-1]] * FEW
        requests = [asyncio.create_task(pool.exchange(REQUEST)) for _ in range(FEW + 2)]
        await until(lambda: server.requests == FEW)
        pool.close()
        ended = await asyncio.gather(*requests, return_exceptions=True)
    assert [str(each) for each in ended if "were closed" in str(each)] == ["the connections were closed"] * 2
