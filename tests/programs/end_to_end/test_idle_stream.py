"""A stream on which nothing happens stays open, however long: probes of the connection are welcome."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tests.programs.end_to_end.sessions import QUICK, driving, solving
from tests.support.waiting import until

PROBE_SECONDS = 1.0
"""gRPC probes no more often than that."""
IDLE_SECONDS = 4.5
"""A server that takes no probes of an idle stream puts up with three, and ends it at the fourth."""


async def test_a_stream_that_is_idle_for_many_probes_is_the_same_afterwards():
    options = replace(QUICK, keepalive_seconds=PROBE_SECONDS)
    async with solving(ping_seconds=PROBE_SECONDS / 2) as target, driving(target, options=options) as driver:
        await until(lambda: driver.session.is_open)
        await asyncio.sleep(IDLE_SECONDS)  # a stream can be seen to be idle in no other way
        driver.submit("late")
        await until(lambda: driver.peer.placed)
        assert driver.metric("poseidon_solver_streams_total") == 1
        assert driver.metric("poseidon_solver_stream_errors_total") == 0
