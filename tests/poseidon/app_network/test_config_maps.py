"""Which ConfigMaps are followed, and what is told of each as it comes, changes, is replaced and goes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import asynccontextmanager
from random import Random

import msgspec

from poseidon.app_network.controller import ConfigMapFollower
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from tests.support.cluster import running_cluster
from tests.support.waiting import until

PATH = "/api/v1/namespaces/default/configmaps"
FIRST, SECOND = ("default", "first"), ("default", "second")


class Stage:
    """``told``: what a follower has said of ConfigMaps, in order."""

    def __init__(self, transport):
        self.transport = transport
        self.told: list[tuple[tuple[str, str], Mapping[str, str] | None]] = []
        environment = Environment(transport, random=Random(1))
        self.follower = ConfigMapFollower(lambda name, data: self.told.append((name, data)), environment)

    async def create(self, name, value):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}}
        await self.transport.post(PATH, msgspec.json.encode(body))

    async def hears(self, *expected):
        await until(lambda: len(self.told) >= len(expected), within=3)
        assert self.told == [*expected]
        self.told.clear()


@asynccontextmanager
async def stage():
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        made = Stage(transport)
        running = asyncio.create_task(made.follower.run())
        try:
            yield made
        finally:
            running.cancel()


async def test_wanted_maps_are_told_as_they_come_and_go():
    async with stage() as made:
        await made.create("first", "a")
        made.follower.want(frozenset({FIRST, SECOND}))
        await made.hears((FIRST, {"k": "a"}))
        await made.follower.wait_synced()
        await made.create("second", "b")
        await made.hears((SECOND, {"k": "b"}))
        await made.transport.delete(f"{PATH}/second")
        await made.hears((SECOND, None))
        await made.create("second", "c")
        await made.hears((SECOND, {"k": "c"}))


async def test_a_map_that_is_wanted_no_longer_counts_as_gone_and_is_told_anew_when_it_is_wanted_again():
    async with stage() as made:
        await made.create("first", "a")
        await made.create("second", "b")
        await asyncio.sleep(0)  # the follower runs before anything is wanted
        made.follower.want(frozenset({FIRST}))
        await made.hears((FIRST, {"k": "a"}))
        made.follower.want(frozenset({SECOND}))
        await made.hears((FIRST, None), (SECOND, {"k": "b"}))
        await made.transport.delete(f"{PATH}/first")
        made.follower.want(frozenset({SECOND}))
        await made.create("first", "c")
        made.follower.want(frozenset({FIRST, SECOND}))
        await made.hears((FIRST, {"k": "c"}))


async def test_what_was_wanted_before_the_follower_runs_is_known_once_it_has_synced():
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        made = Stage(transport)
        await made.create("first", "a")
        made.follower.want(frozenset({FIRST}))
        running = asyncio.create_task(made.follower.run())
        await asyncio.sleep(0)
        await made.follower.wait_synced()
        assert made.told == [(FIRST, {"k": "a"})]
        running.cancel()


async def test_a_map_that_is_wanted_no_longer_is_not_told():
    async with stage() as made:
        await made.create("first", "a")
        await made.create("second", "b")
        await asyncio.sleep(0)
        made.follower.want(frozenset({FIRST, SECOND}))
        await until(lambda: len(made.told) == 2)
        made.follower.want(frozenset({SECOND}))
        made.told.clear()
        for name in ("first", "second"):
            await made.transport.delete(f"{PATH}/{name}")
        await made.hears((SECOND, None))
        await made.create("first", "c")
        await made.create("second", "d")
        await made.hears((SECOND, {"k": "d"}))
