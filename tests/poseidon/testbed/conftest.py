"""Fixtures: a fresh store and its operations, and a running cluster with a small JSON client."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import Store
from tests.support.cluster import pod, running_cluster
from tests.support.time_limits import stretch

Object = dict[str, Any]
NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def new_operations(history: int = 1000) -> Operations:
    return Operations(Store(clock=lambda: NOON, history_limit=history, seed=1))


@pytest.fixture
def operations() -> Operations:
    return new_operations()


class JsonClient:
    """Talks JSON to one cluster; every call returns the HTTP status and the decoded body."""

    def __init__(self, session: aiohttp.ClientSession, cluster: SimulatedCluster) -> None:
        self.session = session
        self.cluster = cluster

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        content_type = options.pop("content_type", "application/json")
        headers = {"Content-Type": content_type, **options.pop("headers", {})}
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        async with self.session.request(method, path, data=data, headers=headers, **options) as response:
            return response.status, await response.json()

    async def create_pods(self, *names: str) -> list[Object]:
        created = []
        for name in names:
            status, body = await self.call("POST", "/api/v1/namespaces/default/pods", pod(name))
            assert status == 201, body
            created.append(body)
        return created

    @contextlib.asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator[AsyncIterator[Object]]:
        """Give the events of a watch, which ends with the block."""
        params = {"watch": "true", **query}
        async with self.session.get(path, params=params) as response:
            assert response.status == 200, await response.text()
            yield _events(response)


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[Object]:
    async for line in response.content:
        yield json.loads(line)


async def take(events: AsyncIterator[Object], count: int) -> list[Object]:
    """Return the next ``count`` events; fails when they do not come within ten seconds."""
    async with asyncio.timeout(stretch(10)):
        return [await anext(events) for _ in range(count)]


def summary(events: list[Object]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


@pytest.fixture
async def cluster() -> AsyncIterator[SimulatedCluster]:
    async with running_cluster() as running:
        yield running


@contextlib.asynccontextmanager
async def client_of(cluster: SimulatedCluster) -> AsyncIterator[JsonClient]:
    async with aiohttp.ClientSession(cluster.url) as session:
        yield JsonClient(session, cluster)


@pytest.fixture
async def api(cluster: SimulatedCluster) -> AsyncIterator[JsonClient]:
    async with client_of(cluster) as client:
        yield client


def fill(operations: Operations, count: int) -> None:
    for index in itertools.islice(itertools.count(), count):
        operations.create(PODS, "default", pod(f"p{index:03d}"))
