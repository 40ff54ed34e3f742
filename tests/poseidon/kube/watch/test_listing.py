"""Lists of a resource, and the small request for its version."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from poseidon.kube.api.collections import NODES
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.client.errors import UnreachableError
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch.listing import look


class SwallowingTransport:
    """A transport whose requests reach a server that never answers them."""

    async def get(self, path: str, query: Any = None, *, accept: str = "") -> bytes:
        await asyncio.Event().wait()
        raise AssertionError(path, query, accept)


def test_a_version_that_no_server_tells_is_given_up_soon():
    with pytest.raises(UnreachableError, match=r"GET /api/v1/nodes: timed out"):
        asyncio.run(look(cast("Transport", SwallowingTransport()), NODES, ObjectMeta(), 0.01))
