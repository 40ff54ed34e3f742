"""Measures how soon after a binding its Scheduled event is written."""

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
"""Seconds within which events should be written."""

_PAGE = 5000
_POLL_SECONDS = 1.0


class Event(KubeStruct, frozen=True):
    """The fields of a core/v1 Event that matter here. ``first_timestamp`` is when the pod was bound."""

    metadata: ObjectMeta = ObjectMeta()
    reason: str = ""
    first_timestamp: str = ""

    @property
    def late(self) -> float:
        """Seconds from the binding until the event was written; both times are whole seconds."""
        return (seconds(self.metadata.creation_timestamp) or 0.0) - (seconds(self.first_timestamp) or 0.0)


async def await_scheduled_events(
    transport: Transport, namespaces: Collection[str], bound: int
) -> dict[str, Any]:
    """Return how many Scheduled events of ``bound`` pods were written in time, and the delay of the last one.

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
