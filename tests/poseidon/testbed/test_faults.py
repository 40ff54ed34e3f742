"""Requests fail when a test wants them to."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from poseidon.testbed.api_server.faults import Fault
from poseidon.testbed.api_server.server import SimulatedCluster
from tests.poseidon.testbed.conftest import JsonClient
from tests.support.cluster import binding, pod
from tests.support.waiting import until

PODS = "/api/v1/namespaces/default/pods"


async def test_a_fault_hits_the_chosen_requests_so_many_times(
    cluster: SimulatedCluster, api: JsonClient
) -> None:
    fault = cluster.faults.add(
        Fault(f"{PODS}", method="POST", skip=1, times=2, code=503, reason="ServiceUnavailable")
    )
    answers = [(await api.call("POST", PODS, pod(f"p{index}")))[0] for index in range(5)]
    assert answers == [201, 503, 503, 201, 201]
    assert fault.hits == 2
    assert (await api.call("GET", PODS))[0] == 200


async def test_a_server_that_asks_to_wait(cluster: SimulatedCluster, api: JsonClient) -> None:
    cluster.faults.add(Fault(".*", times=1, code=429, reason="TooManyRequests", retry_after=7))
    async with api.session.get(PODS) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "7")
        assert (await response.json())["details"] == {"retryAfterSeconds": 7}


@pytest.mark.parametrize("after", [False, True])
async def test_a_broken_connection_before_or_after_the_work(
    cluster: SimulatedCluster, api: JsonClient, after: bool
) -> None:
    await api.create_pods("a")
    cluster.faults.add(Fault(f"{PODS}/a/binding", times=1, cut=True, after=after))
    with pytest.raises(aiohttp.ClientError):
        await api.call("POST", f"{PODS}/a/binding", binding("a", "n1"))
    _, body = await api.call("GET", f"{PODS}/a")
    assert body["spec"].get("nodeName") == ("n1" if after else None)


async def test_silence_lasts_until_the_client_gives_up(cluster: SimulatedCluster, api: JsonClient) -> None:
    cluster.faults.add(Fault(PODS, silent=True))
    with pytest.raises(TimeoutError):
        await api.call("GET", PODS, timeout=aiohttp.ClientTimeout(total=0.05))
    cluster.faults.clear()
    assert (await api.call("GET", PODS))[0] == 200


async def test_a_slow_request_lets_others_pass(cluster: SimulatedCluster, api: JsonClient) -> None:
    cluster.faults.add(Fault(PODS, times=1, delay=0.2))
    slow = asyncio.create_task(api.call("GET", PODS))
    await asyncio.sleep(0)
    assert (await api.call("GET", "/api/v1/nodes"))[0] == 200
    assert (await slow)[0] == 200


async def test_a_request_can_be_held_until_something_has_happened(
    cluster: SimulatedCluster, api: JsonClient
) -> None:
    fault = cluster.faults.add(Fault(f"{PODS}/a/binding", hold=True))
    await api.create_pods("a")
    held = asyncio.create_task(api.call("POST", f"{PODS}/a/binding", binding("a", "n1")))
    await until(lambda: fault.hits)
    assert (await api.call("GET", f"{PODS}/a"))[1]["spec"].get("nodeName") is None
    fault.release()
    assert (await held)[0] == 201


def test_a_code_that_is_no_error_is_refused() -> None:
    with pytest.raises(ValueError, match="fault on x: code: 200 is no error"):
        Fault("x", code=200)
