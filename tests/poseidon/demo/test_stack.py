"""Which fault is told when a process dies and what was being done fails with it."""

from __future__ import annotations

import signal

import pytest

from poseidon.testbed.harness.child import Child, ChildDiedError
from poseidon.testbed.harness.stack import Stack, StackOptions


@pytest.fixture
async def stack(tmp_path):
    """A stack of which one process runs, and sleeps."""
    async with Stack(StackOptions(tmp_path)) as made:
        sleeping = ["-n1", "-r1", "-s", "import time", "time.sleep(600)"]
        made.cluster = Child("the simulated cluster", "timeit", sleeping, tmp_path / "log")
        await made.cluster.start()
        yield made


async def test_a_process_that_dies_is_told_before_what_fails_for_it(stack):
    async def work():
        stack.cluster.signal(signal.SIGKILL)
        raise ConnectionError

    with pytest.raises(ChildDiedError, match="the simulated cluster was killed by SIGKILL too early"):
        await stack.guard(work())


async def test_work_that_fails_by_itself_says_so(stack):
    async def work():
        raise ConnectionError("by itself")

    with pytest.raises(ConnectionError, match="by itself"):
        await stack.guard(work())
    assert stack.cluster.alive


async def test_what_is_done_counts_even_if_a_process_ends_afterwards(stack):
    async def work():
        stack.cluster.signal(signal.SIGKILL)
        return 5

    assert await stack.guard(work()) == 5
