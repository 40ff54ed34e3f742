"""Drives what reports use, by the clock of the cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LONGEST_PAUSE = 1.0
"""New nodes are noticed within so many seconds."""


class Reporter(Protocol):
    """Something that reports what is in use."""

    def advance(self, now: float) -> float | None:
        """Do what is due at ``now`` (seconds since the epoch); return when something is due next, None for never."""
        ...


async def run_reporters(reporters: Sequence[Reporter], clock: Callable[[], float]) -> None:
    """Drive ``reporters`` by ``clock`` (seconds since the epoch) until cancelled."""
    while True:
        now = clock()
        dues = [due for reporter in reporters if (due := reporter.advance(now)) is not None]
        await asyncio.sleep(
            min(max(0.0, min(dues, default=now) - now), _LONGEST_PAUSE) if dues else _LONGEST_PAUSE
        )
