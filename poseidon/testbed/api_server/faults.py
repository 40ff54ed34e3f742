"""Faults on purpose: chosen requests are refused, delayed, left unanswered or cut off.

Tests give a cluster a ``FaultPlan`` and add to it, before or while requests come in.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from poseidon.testbed.objects.errors import ApiError


@dataclass(slots=True)
class Fault:
    """What happens to requests of ``method`` ("" for any) whose path matches ``path`` wholly (a regular expression).

    Of those, ``skip`` are let through first, then ``times`` are hit (None: all). In this order: wait ``delay`` seconds;
    ``hold``: wait until ``release``; ``silent``: never answer; carry the request out if ``after``; ``cut``: break the
    connection; ``code``: answer with that status, ``reason``, ``message`` and, if given, ``retry_after`` seconds.
    ``hits`` counts.

    ``after`` with ``cut`` or ``code`` is a request that has worked although its client is told otherwise.
    """

    path: str
    method: str = ""
    skip: int = 0
    times: int | None = None
    delay: float = 0.0
    hold: bool = False
    silent: bool = False
    after: bool = False
    cut: bool = False
    code: int = 0
    reason: str = ""
    message: str = "a fault of the simulation"
    retry_after: int | None = None
    hits: int = field(default=0, init=False)
    _seen: int = field(default=0, init=False)
    _released: asyncio.Event = field(default_factory=asyncio.Event, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.code and not 400 <= self.code < 600:
            raise ValueError(f"fault on {self.path}: code: {self.code} is no error; give 400 to 599")

    def strikes(self, method: str, path: str) -> bool:
        """Return whether this request is hit, and count it."""
        if self.method not in ("", method) or re.fullmatch(self.path, path) is None:
            return False
        self._seen += 1
        if self._seen <= self.skip or (self.times is not None and self.hits >= self.times):
            return False
        self.hits += 1
        return True

    def release(self) -> None:
        """Let requests go on that are held, and those that come."""
        self._released.set()

    async def delay_request(self) -> None:
        """Let the time pass that the request has to wait, which may be for ever."""
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.hold:
            await self._released.wait()
        if self.silent:
            await asyncio.Event().wait()

    def error(self) -> ApiError:
        """Return the refusal."""
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        return ApiError(self.code, self.reason, self.message, details)


class FaultPlan:
    """The faults of a cluster; of several that match a request the first added one hits."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Add a fault from now on; returns it."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Let everything work again; requests that wait for ever still do."""
        self._faults.clear()

    def strike(self, method: str, path: str) -> Fault | None:
        """Return the fault that hits a request, or None."""
        return next((fault for fault in self._faults if fault.strikes(method, path)), None)
