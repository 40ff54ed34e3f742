"""Injects faults: chosen requests are refused, delayed, left unanswered or cut off.

Tests give a cluster a ``FaultPlan`` and add to it, before or while requests come in.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from poseidon.testbed.objects.errors import ApiError


@dataclass(slots=True)
class Fault:
    """A fault that requests meet if they match it.

    Of the matching requests, the first ``skip`` pass, and the next ``times`` are hit. The steps come in the
    order of the fields. With ``after``, ``cut`` or ``code`` hide from the client that its request has worked.
    """

    path: str
    """Regular expression that must match the whole path."""
    method: str = ""
    """Method of the requests, "" for any."""
    skip: int = 0
    """Requests that pass before the fault begins."""
    times: int | None = None
    """Requests that are hit, None for all."""
    delay: float = 0.0
    """Seconds to wait first."""
    hold: bool = False
    """Whether to wait until ``release`` is called."""
    silent: bool = False
    """Whether never to answer."""
    after: bool = False
    """Whether to carry out the request before the next steps."""
    cut: bool = False
    """Whether to break the connection."""
    code: int = 0
    """HTTP status of the answer, 0 for none."""
    reason: str = ""
    """Reason in the answer's ``Status``."""
    message: str = "a fault of the simulation"
    """Message in the answer's ``Status``."""
    retry_after: int | None = None
    """Seconds of the Retry-After header, None for none."""
    hits: int = field(default=0, init=False)
    """Requests hit so far."""
    _seen: int = field(default=0, init=False)
    """Matching requests so far."""
    _released: asyncio.Event = field(default_factory=asyncio.Event, init=False, repr=False)
    """Set once ``release`` has been called."""

    def __post_init__(self) -> None:
        if self.code and not 400 <= self.code < 600:
            raise ValueError(f"fault on {self.path}: code: {self.code} is no error; give 400 to 599")

    def strikes(self, method: str, path: str) -> bool:
        """Return whether the fault hits this request; if so, count it."""
        if self.method not in ("", method) or re.fullmatch(self.path, path) is None:
            return False
        self._seen += 1
        if self._seen <= self.skip or (self.times is not None and self.hits >= self.times):
            return False
        self.hits += 1
        return True

    def release(self) -> None:
        """Let held requests go on, and stop holding new ones."""
        self._released.set()

    async def delay_request(self) -> None:
        """Wait as long as the fault delays the request, possibly for ever."""
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.hold:
            await self._released.wait()
        if self.silent:
            await asyncio.Event().wait()

    def error(self) -> ApiError:
        """Return the error with which the request is refused."""
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        return ApiError(self.code, self.reason, self.message, details)


class FaultPlan:
    """The faults of a simulated cluster; of several that match a request, the one added first hits."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Add a fault from now on; returns it."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all faults; requests that already wait for ever go on waiting."""
        self._faults.clear()

    def strike(self, method: str, path: str) -> Fault | None:
        """Return the fault that hits a request, or None."""
        return next((fault for fault in self._faults if fault.strikes(method, path)), None)
