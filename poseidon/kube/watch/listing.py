"""Reads lists of a collection, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from poseidon.kube.api.decoding import MalformedObjectError, MetadataOnly, Page, decode_page
from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.client.errors import UnreachableError
from poseidon.kube.client.media_types import JSON, METADATA

if TYPE_CHECKING:
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.transport import Transport

T = TypeVar("T", bound=KubeStruct)


async def pages(transport: Transport, resource: Resource[T], limit: int) -> AsyncGenerator[Page[T], None]:
    """Yield the pages of one consistent list, each of at most ``limit`` objects.

    The reader requests the next page while the caller works on this one. Raises ``KubeError``; an ``ApiError`` with
    ``expired`` means that the server has forgotten the list's version, so the list must begin anew.
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


class Present(NamedTuple):
    """The present version of a collection, and of one of its objects ("" if that object does not exist)."""

    version: str
    of_object: str


async def read_present(
    transport: Transport, resource: Resource[Any], newest: ObjectMeta, seconds: float
) -> Present:
    """Read, in one request, the present versions of a collection and of one of its objects (``newest``, or any object).

    A list of one name in one namespace costs the API server a single read, and needs no further rights than the list
    of all objects. Raises ``KubeError``, also if no answer comes within ``seconds``: a failing server that loses a
    request must not delay the next request as long as a large list may take.
    """
    resource = replace(resource, kind=MetadataOnly)
    query = {"limit": "1"}
    if newest.name:
        query["fieldSelector"] = f"metadata.name={newest.name}"
        if newest.namespace and "/namespaces/" not in resource.path:
            group, _, plural = resource.path.rpartition("/")
            resource = replace(resource, path=f"{group}/namespaces/{newest.namespace}/{plural}")
    try:
        async with asyncio.timeout(seconds):
            page = await _fetch(transport, resource, query, METADATA)
    except TimeoutError:
        raise UnreachableError(f"GET {resource.path}: timed out") from None
    metadata = [*(each.metadata for each in page.items), *(each.metadata for each in page.rejected)]
    versions = (each.resource_version for each in metadata if each.uid == newest.uid)
    return Present(page.resource_version, next(versions, ""))


async def versions_at(
    transport: Transport, resource: Resource[Any], limit: int, version: str
) -> dict[str, str]:
    """Return the objects' resource versions by uid, at the collection's exact ``version``; ``limit``: page size.

    The request asks for metadata only. Raises as ``pages`` does, also if the server has forgotten that version.
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
