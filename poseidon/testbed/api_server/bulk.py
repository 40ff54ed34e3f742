"""Serves ``POST /simulated/v1/bulk``, by which another process creates many objects from newline-delimited JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.objects.errors import ApiError, bad_request, decode_as

PATH = "/simulated/v1/bulk"
_ERRORS_SHOWN = 100
_PAUSE_EVERY = 250


async def create_lines(operations: Operations, chunks: AsyncIterator[bytes]) -> dict[str, Any]:
    """Create one object per line and return ``{"created": n, "failed": n, "errors": [{"line", "message"}]}``.

    Each object gets the status that its line states. Lines that fail are skipped; the first hundred failures are
    reported. The server handles other requests in between.
    """
    created, failed, number = 0, 0, 0
    shown: list[dict[str, Any]] = []
    async for line in _lines(chunks):
        number += 1
        if not line.strip():
            continue
        try:
            create_object(operations, decode_as(Any, line, "not a JSON object"))
            created += 1
        except ApiError as error:
            failed += 1
            if len(shown) < _ERRORS_SHOWN:
                shown.append({"line": number, "message": error.message})
        if number % _PAUSE_EVERY == 0:
            await asyncio.sleep(0)
    return {"created": created, "failed": failed, "errors": shown}


def create_object(operations: Operations, obj: Any) -> None:
    """Create an object with its own status, according to its kind. Raises ``ApiError`` if the object is refused."""
    api_version, kind = (obj.get("apiVersion"), obj.get("kind")) if isinstance(obj, dict) else (None, None)
    resource = operations.registry.of_kind(api_version or "", kind or "")
    if resource is None:
        raise bad_request(f'no matches for kind "{kind}" in version "{api_version}"')
    operations.create(resource, "", obj, keep_status=True)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *complete, rest = (rest + chunk).split(b"\n")
        for line in complete:
            yield line
    if rest:
        yield rest
