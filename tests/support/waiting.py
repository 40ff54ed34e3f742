"""Waiting for conditions instead of for the clock."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable


async def until(condition: Callable[[], object], *, within: float = 15.0, what: str = "") -> object:
    """Return the first true value of ``condition``; it may be a coroutine function."""
    deadline = asyncio.get_running_loop().time() + within
    while True:
        value = condition()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"not within {within} s: {what or inspect.getsource(condition).strip()}")
        await asyncio.sleep(0.005)
