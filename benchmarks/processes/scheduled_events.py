"""How soon after its binding the event is written that says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta, seconds
from poseidon.kube.api.resource import Resource
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch.listing import pages

WITHIN_SECONDS = 60.0
"""Events are to be written by then."""

_PAGE = 5000
_POLL_SECONDS = 1.0


class Event(KubeStruct, frozen=True):
    """As much of a core/v1 Event as matters here. ``first_timestamp`` is when the pod was bound."""

    metadata: ObjectMeta = ObjectMeta()
    reason: str = ""
    first_timestamp: str = ""

    @property
    def late(self) -> float:
        """Seconds from what it tells of until it was written; both are whole seconds."""
        return (seconds(self.metadata.creation_timestamp) or 0.0) - (seconds(self.first_timestamp) or 0.0)


async def await_scheduled_events(
    transport: Transport, namespaces: Collection[str], bound: int
) -> dict[str, Any]:
    """Return how many of the Scheduled events of ``bound`` pods have been written in time, and how late the last was.

    Waits until all are there, but no longer than they may take. Raises ``KubeError``.
    """
    resources = [Resource("events", f"/api/v1/namespaces/{each}/events", Event) for each in namespaces]
    until = time.monotonic() + WITHIN_SECONDS
    while True:
        delays = [
            event.late
            for resource in resources
            async for page in pages(transport, resource, _PAGE)
            for event in page.items
            if event.reason == "Scheduled"
        ]
        if len(delays) >= bound or time.monotonic() > until:
            break
        await asyncio.sleep(_POLL_SECONDS)
    in_time = sum(delay <= WITHIN_SECONDS for delay in delays)
    return {
        "written": len(delays),
        "withinSeconds": WITHIN_SECONDS,
        "share": round(in_time / bound, 4) if bound else None,
        "worstSeconds": max(delays, default=None),
    }
