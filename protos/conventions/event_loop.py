"""Runs programs on the faster event loop if that is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run ``work`` to its end and return its result; raises the errors of ``work``."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)
