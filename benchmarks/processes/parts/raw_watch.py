"""Follows a collection of an API server as plain JSON, without the bridge's own reflector."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec

from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.transport import Transport

_READ_SECONDS = 3600.0


async def follow_objects(transport: Transport, path: str) -> AsyncIterator[tuple[dict[str, Any], bool]]:
    """Yield each object of a collection that changes from now on, and whether it is gone, in the API server's order.

    Raises ``KubeError`` if the API server goes away.
    """
    found = msgspec.json.decode(await transport.get(path))
    query = {"watch": "true", "resourceVersion": found["metadata"]["resourceVersion"]}
    while True:
        async with aclosing(transport.lines(path, query, _READ_SECONDS)) as stream:
            async for lines in stream:
                for line in filter(None, lines):
                    event = msgspec.json.decode(line)
                    if event["type"] == "ERROR":
                        raise ApiError(500, "Watch", str(event["object"]))
                    query["resourceVersion"] = event["object"]["metadata"]["resourceVersion"]
                    yield event["object"], event["type"] == "DELETED"
