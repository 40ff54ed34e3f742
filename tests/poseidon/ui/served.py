"""A server over loopback in this event loop, and what it serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from poseidon.ui.audience import Audience
from poseidon.ui.page_data import Known
from poseidon.ui.server.access import Access
from poseidon.ui.server.application import Server
from poseidon.ui.server.assets import Assets
from poseidon.ui.sources.source import NotExplainedError, Source
from tests.poseidon.ui.objects import NOW, Wall, known


class FakeSource:
    """Says what it is told to."""

    def __init__(self, found: Known | None = None) -> None:
        self.known = found or known()
        self.said: dict[str, Any] = {}

    async def run(self) -> None:
        return None

    async def flow(self, number):
        return self.known.rounds.flow(number)

    async def verdicts(self, pod):
        try:
            return self.said[pod.name]
        except KeyError:
            raise NotExplainedError("nobody answers") from None


@asynccontextmanager
async def served(
    source: Source | None = None,
    access: Access | None = None,
    *,
    assets: Assets | None = None,
    **more: Any,
) -> AsyncIterator[tuple[TestClient, Server]]:
    """Serve a source; yields a client and the server."""
    source = source or FakeSource()
    server = Server(source, access or Access(), Audience(lambda: 0.0), wall=Wall(NOW), assets=assets, **more)
    async with TestClient(TestServer(server.application())) as client:
        yield client, server
