from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.firmament.server.driving import Running, running_server

_EXPECTED = ("round failed", "class set aside", "Exception in callback PollerCompletionQueue")


@pytest.fixture(autouse=True)
def _no_internal_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever a driver does, the server must not stumble over it; failed rounds are a subject of their own.

    gRPC's poller belongs to the process and may still wake the closed loop of an earlier test, which asyncio logs.
    """
    yield
    unexpected = [
        record.message
        for record in caplog.get_records("call")
        if record.levelno >= logging.ERROR
        and not record.message.startswith(
            ("round failed", "class set aside", "Exception in callback PollerCompletionQueue")
        )
        and not _of_a_former_loop(record)
    ]
    assert not unexpected


def _of_a_former_loop(record: logging.LogRecord) -> bool:
    """grpc.aio has one poller per process, and wakes the loops of former tests too; a server has one loop."""
    return record.name == "asyncio" and "PollerCompletionQueue._handle_events" in record.message


@pytest_asyncio.fixture
async def running() -> AsyncIterator[Running]:
    async with running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _quick_solvers(forked_programs: None) -> None:
    """Fork the solver processes of servers in a test's own process; ``tests/firmament/solvers`` starts real ones."""
