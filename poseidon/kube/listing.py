"""Lists of a resource, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from poseidon.kube.decoding import MalformedObjectError, Page, decode_page
from poseidon.kube.errors import UnreachableError
from poseidon.kube.objects import KubeStruct

if TYPE_CHECKING:
    from poseidon.kube.transport import Transport

T = TypeVar("T", bound=KubeStruct)


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A collection of the API.

    ``path`` is that of the collection over all namespaces, ``name`` what logs and metrics call it, ``kind``
    the struct that its objects decode to. ``field_selector`` and ``label_selector`` pick some of them, "" all.
    """

    name: str
    path: str
    kind: type[T]
    field_selector: str = ""
    label_selector: str = ""

    def query(self, **more: str) -> dict[str, str]:
        """Return the query of a request for these objects."""
        chosen = {"fieldSelector": self.field_selector, "labelSelector": self.label_selector}
        return {**{key: value for key, value in chosen.items() if value}, **more}


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
