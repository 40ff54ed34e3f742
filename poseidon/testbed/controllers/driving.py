"""Drives simulations that know neither input nor output nor time, by the event loop's clock and by what changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poseidon.testbed.objects.history import History


async def drive(advance: Callable[[float], float | None], histories: Iterable[History]) -> None:
    """Call ``advance`` with the time whenever something is due or a history grows, until cancelled.

    ``advance`` does what is due, and returns when something is due next, None for never.
    """
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    followed = list(histories)
    for history in followed:
        history.subscribe(changed.set)
    try:
        while True:
            changed.clear()
            due = advance(loop.time())
            # Pausing lets writes gather, and requests be served, between two looks.
            await asyncio.sleep(0)
            try:
                async with asyncio.timeout_at(due):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        for history in followed:
            history.unsubscribe(changed.set)
