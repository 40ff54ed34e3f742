"""Lists of a resource, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from poseidon.kube.api.decoding import MalformedObjectError, MetadataOnly, Page, decode_page
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.client.errors import UnreachableError
from poseidon.kube.client.media_types import JSON, METADATA

if TYPE_CHECKING:
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.transport import Transport

T = TypeVar("T", bound=KubeStruct)


async def pages(transport: Transport, resource: Resource[T], limit: int) -> AsyncGenerator[Page[T], None]:
    """Yield the pages of one consistent list, each of at most ``limit`` objects.

    The next page is on its way while the caller works on this one. Raises ``KubeError``; an ``ApiError`` that
    is ``expired`` means that the list took longer than the server remembers and has to begin anew.
    """
    fetch = asyncio.create_task(_fetch(transport, resource, {"limit": str(limit)}))
    try:
        while True:
            page = await fetch
            if page.continue_token:
                fetch = asyncio.create_task(
                    _fetch(transport, resource, {"limit": str(limit), "continue": page.continue_token})
                )
            yield page
            if not page.continue_token:
                return
    finally:
        fetch.cancel()
        await asyncio.gather(fetch, return_exceptions=True)


async def versions_at(
    transport: Transport, resource: Resource[Any], limit: int, version: str
) -> dict[str, str]:
    """Return the versions by uid of the objects as they were at exactly ``version``, read ``limit`` at a time.

    Only metadata are asked for. Raises as ``pages`` does, also when that version is remembered no more.
    """
    resource = replace(resource, kind=MetadataOnly)
    query = {"limit": str(limit), "resourceVersion": version, "resourceVersionMatch": "Exact"}
    found: dict[str, str] = {}
    while True:
        page = await _fetch(transport, resource, query, METADATA)
        metadata = [
            *(item.metadata for item in page.items),
            *(rejected.metadata for rejected in page.rejected),
        ]
        found.update((each.uid, each.resource_version) for each in metadata)
        if not page.continue_token:
            return found
        query = {"limit": str(limit), "continue": page.continue_token}


async def _fetch(
    transport: Transport, resource: Resource[T], query: dict[str, str], accept: str = JSON
) -> Page[T]:
    raw = await transport.get(resource.path, resource.query(**query), accept=accept)
    try:
        return decode_page(raw, resource.kind)
    except MalformedObjectError as error:
        raise UnreachableError(f"GET {resource.path}: the answer is not a list: {error}") from error
