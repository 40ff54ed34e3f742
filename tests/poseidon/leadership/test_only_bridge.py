"""A bridge that no other stands by leads from the start."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from poseidon.leadership.election import Role
from poseidon.leadership.elector import OnlyBridge


async def test_it_leads_writes_and_waits_for_nobody():
    bridge = OnlyBridge(7)
    assert (bridge.role, bridge.fencing, bridge.may_write()) == (Role.LEADER, 7, True)
    await bridge.wait_elected()


async def test_it_runs_until_cancelled_and_releasing_it_ends_nothing():
    bridge = OnlyBridge(7)
    running = asyncio.create_task(bridge.run())
    await bridge.release()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not running.done()
    assert bridge.may_write()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert running.cancelled()
