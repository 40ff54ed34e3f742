"""A server with limits takes no more writes than that, and says so to those whom it turns away."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poseidon.testbed.api_server.flow_control import FlowControl, WriteLimits
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.objects.errors import ApiError
from tests.poseidon.testbed.conftest import client_of
from tests.support.cluster import pod, running_cluster
from tests.support.time_limits import stretch

PODS = "/api/v1/namespaces/default/pods"


class Time:
    """A clock whose sleepers wake in order; waiting costs nothing."""

    def __init__(self) -> None:
        self.now = 100.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        wake = asyncio.Event()
        self._sleepers.append((self.now + seconds, len(self._sleepers), wake))
        await wake.wait()

    async def run_until(self, moment: float) -> None:
        while True:
            await asyncio.sleep(0)
            due = min((each for each in self._sleepers if not each[2].is_set()), default=None)
            if due is None or due[0] > moment:
                break
            self.now = max(self.now, due[0])
            due[2].set()
        self.now = moment


def flow_of(limits: WriteLimits) -> tuple[FlowControl, Time]:
    virtual = Time()
    return FlowControl(limits, virtual.clock, virtual.sleep), virtual


async def served(limits: WriteLimits, arrivals: list[float]) -> list[float | None]:
    """Return when each write, at these seconds in order, took effect; None if it was turned away."""
    flow, virtual = flow_of(limits)
    start = virtual.now
    moments: list[float | None] = [None] * len(arrivals)
    refusals: list[ApiError] = []

    async def write(index: int) -> None:
        try:
            async with flow.write():
                moments[index] = virtual.now - start
        except ApiError as error:
            refusals.append(error)

    tasks = []
    for index, arrival in enumerate(arrivals):
        await virtual.run_until(start + arrival)
        tasks.append(asyncio.create_task(write(index)))
        await asyncio.sleep(0)
    await virtual.run_until(start + 1e9)
    await asyncio.gather(*tasks)
    assert all((each.code, each.details) == (429, {"retryAfterSeconds": 1}) for each in refusals)
    assert len(refusals) == moments.count(None)
    return moments


@pytest.mark.parametrize(
    ("limits", "arrivals", "expected"),
    [
        (WriteLimits(), [0, 0, 0], [0, 0, 0]),
        (WriteLimits(rate=4), [0, 0, 0], [0.25, 0.5, 0.75]),
        (WriteLimits(rate=4, latency=1), [0, 0], [1.25, 1.5]),
        # Nothing is saved up while nothing is asked for.
        (WriteLimits(rate=4), [0, 10, 10], [0.25, 10.25, 10.5]),
        (WriteLimits(latency=1), [0, 0, 0.5], [1, 1, 1.5]),
        (WriteLimits(rate=1, in_flight=2), [0, 0, 0.5, 1.5], [1, 2, None, 3]),
    ],
)
async def test_when_writes_take_effect(
    limits: WriteLimits, arrivals: list[float], expected: list[float | None]
) -> None:
    assert await served(limits, arrivals) == pytest.approx(expected)


@given(
    st.lists(st.integers(0, 40).map(lambda tenths: tenths / 8), min_size=1, max_size=20).map(sorted),
    st.sampled_from([0.5, 2.0, 8.0]),
    st.integers(1, 5),
)
async def test_no_more_than_the_rate_and_no_more_at_a_time(
    arrivals: list[float], rate: float, in_flight: int
) -> None:
    moments = await served(WriteLimits(rate=rate, in_flight=in_flight), arrivals)
    taken = [(begin, end) for begin, end in zip(arrivals, moments, strict=True) if end is not None]
    ends = [end for _, end in taken]
    assert all(later - earlier >= 1 / rate - 1e-9 for earlier, later in pairwise(ends))
    assert all(end >= begin + 1 / rate - 1e-9 for begin, end in taken)
    for begin, end in zip(arrivals, moments, strict=True):
        # Whoever was turned away met a full server.
        inside = sum(one <= begin and other > begin + 1e-9 for one, other in taken)
        assert end is not None or inside >= in_flight


@pytest.mark.parametrize("field", ["rate", "latency", "in_flight"])
def test_limits_below_nothing(field: str) -> None:
    with pytest.raises(ValueError, match=f"writes: {field}: -1 is negative; use 0 for no limit"):
        WriteLimits(**{field: -1})


async def test_over_http_a_busy_server_turns_writes_away_but_no_reads() -> None:
    limits = WriteLimits(latency=0.05, in_flight=1)
    async with running_cluster(ClusterOptions(writes=limits)) as cluster, client_of(cluster) as api:
        refused: list[tuple[str, str]] = []

        async def create(name: str) -> None:
            while True:
                async with api.session.post(PODS, json=pod(name)) as response:
                    if response.status == 201:
                        return
                    assert response.status == 429
                    refused.append((response.headers["Retry-After"], (await response.json())["reason"]))
                assert (await api.call("GET", PODS))[0] == 200

        names = [f"p{index}" for index in range(6)]
        async with asyncio.timeout(stretch(30)):
            await asyncio.gather(*(create(name) for name in names))
        assert set(refused) == {("1", "TooManyRequests")}
        assert {each["metadata"]["name"] for each in (await api.call("GET", PODS))[1]["items"]} == set(names)
