"""Lists of a resource, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, TypeVar

from poseidon.kube.api.core import KubeStruct
from poseidon.kube.api.decoding import MalformedObjectError, Page, decode_page
from poseidon.kube.client.errors import UnreachableError

if TYPE_CHECKING:
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.transport import Transport

T = TypeVar("T", bound=KubeStruct)


async def pages(transport: Transport, resource: Resource[T], limit: int) -> AsyncGenerator[Page[T], None]:
    """Yield the pages of one consistent list, each of at most ``limit`` objects.

    The next page is on its way while the caller works on this one. Raises ``KubeError``; an ``ApiError`` that
    is ``expired`` means that the list took longer than the server remembers and has to begin anew.
    """
    fetch = asyncio.create_task(_fetch(transport, resource, limit, ""))
    try:
        while True:
            page = await fetch
            if page.continue_token:
                fetch = asyncio.create_task(_fetch(transport, resource, limit, page.continue_token))
            yield page
            if not page.continue_token:
                return
    finally:
        fetch.cancel()
        await asyncio.gather(fetch, return_exceptions=True)


async def _fetch(transport: Transport, resource: Resource[T], limit: int, token: str) -> Page[T]:
    query = resource.query(limit=str(limit))
    if token:
        query["continue"] = token
    raw = await transport.get(resource.path, query)
    try:
        return decode_page(raw, resource.kind)
    except MalformedObjectError as error:
        raise UnreachableError(f"GET {resource.path}: the answer is not a list: {error}") from error
