"""Injects faults into the API server: chosen requests are refused, delayed, not answered, or cut off.

Tests pass a ``FaultPlan`` to a cluster, and add faults to it before or while requests arrive.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from poseidon.testbed.objects.errors import ApiError


@dataclass(slots=True)
class Fault:
    """A fault that affects the requests that match it.

    The fault leaves the first ``skip`` matching requests alone, and affects the next ``times``. The fault's steps
    happen in the order of the fields. If ``after`` is set, ``cut`` or ``code`` hide from the client that its request
    has been carried out.
    """

    path: str
    """Regular expression that must match the whole path."""
    method: str = ""
    """Method of the affected requests, "" for any method."""
    skip: int = 0
    """Number of matching requests that pass before the fault begins."""
    times: int | None = None
    """Number of requests that are affected, None for all."""
    delay: float = 0.0
    """Seconds to wait before the other steps."""
    hold: bool = False
    """Whether the request waits until ``release`` is called."""
    silent: bool = False
    """Whether the request never gets an answer."""
    after: bool = False
    """Whether the request is carried out before the next steps."""
    cut: bool = False
    """Whether the connection is cut."""
    code: int = 0
    """HTTP status of the answer, 0 if the fault gives no answer."""
    reason: str = ""
    """Reason in the answer's ``Status``."""
    message: str = "a fault of the simulation"
    """Message in the answer's ``Status``."""
    retry_after: int | None = None
    """Seconds in the answer's Retry-After header, None for no header."""
    hits: int = field(default=0, init=False)
    """Number of requests that have been affected so far."""
    _seen: int = field(default=0, init=False)
    """Number of matching requests so far."""
    _released: asyncio.Event = field(default_factory=asyncio.Event, init=False, repr=False)
    """Set when ``release`` has been called."""

    def __post_init__(self) -> None:
        if self.code and not 400 <= self.code < 600:
            raise ValueError(f"fault on {self.path}: code: {self.code} is no error; give 400 to 599")

    def strikes(self, method: str, path: str) -> bool:
        """Return whether the fault affects this request; if so, count it."""
        if self.method not in ("", method) or re.fullmatch(self.path, path) is None:
            return False
        self._seen += 1
        if self._seen <= self.skip or (self.times is not None and self.hits >= self.times):
            return False
        self.hits += 1
        return True

    def release(self) -> None:
        """Let waiting requests go on, and let no further request wait."""
        self._released.set()

    async def delay_request(self) -> None:
        """Wait as long as the fault delays the request; the wait may never end."""
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
    """The faults of a simulated cluster; if several match a request, the fault added first affects the request."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Add a fault, which is effective from now on, and return it."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Remove all faults; requests that never get an answer still get none."""
        self._faults.clear()

    def strike(self, method: str, path: str) -> Fault | None:
        """Return the fault that affects a request, or None."""
        return next((fault for fault in self._faults if fault.strikes(method, path)), None)
