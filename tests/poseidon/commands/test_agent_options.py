"""Programs on nodes: they do their work once or for ever, go on after failures, and stop when told to."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

import click
import pytest
from click.testing import CliRunner

from poseidon.commands.shared.agent_options import (
    repeat,
    repetition_options,
    run_once_or_forever,
    run_until_stopped,
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (60.0, False)),
        (["--interval", "1", "--once"], (1.0, True)),
        (["--interval", "0.9"], None),
    ],
)
def test_work_is_repeated_at_least_a_second_apart(arguments, expected):
    found = []

    @click.command()
    @repetition_options(60.0)
    def command(*, interval: float, once: bool) -> None:
        found.append((interval, once))

    status = CliRunner().invoke(command, arguments).exit_code
    assert (status, found) == ((0, [expected]) if expected else (2, []))


class Transport:
    """Notes that it was entered and left."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __aenter__(self) -> None:
        self.seen.append("opened")

    async def __aexit__(self, *_: object) -> None:
        self.seen.append("closed")


@pytest.mark.parametrize("for_ever", [True, False])
def test_the_connection_is_open_while_there_is_work(for_ever):
    transport = Transport()

    async def once() -> None:
        transport.seen.append("once")

    async def endless() -> None:
        transport.seen.append("for ever")

    asyncio.run(run_once_or_forever(transport, once, endless if for_ever else None))  # type: ignore[arg-type]
    assert transport.seen == ["opened", "for ever" if for_ever else "once", "closed"]


def test_a_signal_ends_endless_work():
    seen = []

    async def endless() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            seen.append("ended")

    asyncio.run(asyncio.wait_for(run_until_stopped(endless()), 5))
    assert seen == ["ended"]


def test_errors_of_the_work_are_raised():
    async def fails() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(run_until_stopped(fails()))


def test_failures_of_a_kind_are_logged_and_tried_again_after_the_interval(monkeypatch, caplog):
    slept, tries = list[float](), list[int]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def work() -> None:
        tries.append(len(tries))
        if len(tries) == 1:
            raise OSError("down")
        if len(tries) == 3:
            raise KeyError("other")

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with caplog.at_level(logging.WARNING), pytest.raises(KeyError):
        asyncio.run(repeat(work, 30.0, logging.getLogger("agent"), (OSError,)))
    assert slept == [30.0, 30.0]
    assert [each.message for each in caplog.records] == ['failed, trying again in=30s error="down"']
