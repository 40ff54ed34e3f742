from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.server.driving import Running, running_server


@pytest.fixture(autouse=True)
def _no_internal_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever a driver does, the server must not stumble over it; failed rounds are a subject of their own."""
    yield
    unexpected = [
        record.message
        for record in caplog.get_records("call")
        if record.levelno >= logging.ERROR and not record.message.startswith("round failed")
    ]
    assert not unexpected


@pytest_asyncio.fixture
async def running() -> AsyncIterator[Running]:
    async with running_server() as server:
        yield server
