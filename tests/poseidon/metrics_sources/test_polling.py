"""The patience of polling: intervals, growing pauses, absent sources, one line per outage."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, cast

import pytest
from prometheus_client import CollectorRegistry

from poseidon.kube.client.errors import ApiError, UnreachableError
from poseidon.kube.environment import Environment
from poseidon.metrics_sources.intake import SourceMetrics
from poseidon.metrics_sources.polling import Poller, PollerOptions
from tests.support.time_limits import stretch

NO_SERVER = cast("Transport", None)
OPTIONS = PollerOptions(backoff_initial=1.0, backoff_cap=8.0, absent_seconds=60.0)

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport


class Source:
    """Answers or fails as scripted, in a time that passes only while it is asked or waited for."""

    def __init__(self, *outcomes: Exception | float) -> None:
        self.outcomes = list(outcomes)
        self.time = 0.0
        self.pauses: list[float] = []
        self.registry = CollectorRegistry()

    async def poll(self) -> None:
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        self.time += outcome

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds
        if not self.outcomes:
            raise asyncio.CancelledError

    async def run(self, interval: float = 10.0) -> Poller:
        poller = Poller(
            "test",
            self.poll,
            Environment(NO_SERVER, random=Random(1), clock=lambda: self.time, sleep=self.sleep),
            interval=interval,
            metrics=SourceMetrics(self.registry),
            options=OPTIONS,
        )
        with pytest.raises(asyncio.CancelledError):
            await poller.run()
        return poller

    def polls(self, result: str) -> float:
        labels = {"source": "test", "result": result}
        return self.registry.get_sample_value("poseidon_utilisation_polls_total", labels) or 0.0


async def test_it_asks_at_intervals_whatever_answers_take():
    source = Source(0.0, 3.0, 12.0)
    await source.run()
    assert source.pauses == [10.0, 7.0, 0.0]
    assert source.polls("answered") == 3


async def test_it_backs_off_while_there_is_no_answer_and_says_so_once(caplog):
    caplog.set_level("INFO", logger="poseidon")
    source = Source(*(UnreachableError("refused") for _ in range(5)), 0.0)
    await source.run()
    for pause, step in zip(source.pauses, (1, 2, 4, 8, 8), strict=False):
        assert step / 2 <= pause <= step
    assert source.pauses[-1] == 10.0
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert source.polls("failed") == 5


async def test_it_heeds_what_the_server_asks_for():
    source = Source(ApiError(429, "TooManyRequests", "slow down", 30.0), 0.0)
    await source.run()
    assert source.pauses[0] == 30.0


@pytest.mark.parametrize("status", [403, 404])
async def test_an_absent_source_is_looked_for_slowly(caplog, status):
    caplog.set_level("INFO", logger="poseidon")
    source = Source(ApiError(status, "", "no"), ApiError(status, "", "no"), 0.0)
    poller = await source.run()
    assert all(45.0 <= pause <= 75.0 for pause in source.pauses[:2])
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"], "absence is no fault"
    assert source.polls("absent") == 2
    await asyncio.wait_for(poller.wait_asked(), stretch(1))
