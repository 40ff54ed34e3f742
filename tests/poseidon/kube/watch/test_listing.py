"""Lists of a resource, and the small request for its version."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any, cast

import pytest

from poseidon.kube.api.collections import CLAIMS, NODES
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.client.errors import UnreachableError
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch.listing import Present, read_present


class SwallowingTransport:
    """A transport whose requests reach a server that never answers them."""

    async def get(self, path: str, query: Any = None, *, accept: str = "") -> bytes:
        await asyncio.Event().wait()
        raise AssertionError(path, query, accept)


def test_a_version_that_no_server_tells_is_given_up_soon():
    with pytest.raises(UnreachableError, match=r"GET /api/v1/nodes: timed out"):
        asyncio.run(read_present(cast("Transport", SwallowingTransport()), NODES, ObjectMeta(), 0.01))


class RecordingTransport:
    """A transport that keeps what was asked for, and answers with one object of uid ``u``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    async def get(self, path: str, query: Any = None, *, accept: str = "") -> bytes:
        self.asked.append((path, query))
        item = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}}
        return json.dumps({"metadata": {"resourceVersion": "9"}, "items": [item]}).encode()


CLAIMS_OF_X = "/api/v1/namespaces/x/persistentvolumeclaims"
ONE_NAME = {"limit": "1", "fieldSelector": "metadata.name=a"}


@pytest.mark.parametrize(
    ("resource", "newest", "path", "query", "of_object"),
    [
        (NODES, ObjectMeta(), "/api/v1/nodes", {"limit": "1"}, ""),
        (NODES, ObjectMeta(name="a", uid="u"), "/api/v1/nodes", ONE_NAME, "7"),
        (NODES, ObjectMeta(name="a", uid="former"), "/api/v1/nodes", ONE_NAME, ""),
        (CLAIMS, ObjectMeta(name="a", namespace="x", uid="u"), CLAIMS_OF_X, ONE_NAME, "7"),
        (
            replace(CLAIMS, path=CLAIMS_OF_X),
            ObjectMeta(name="a", namespace="x", uid="u"),
            CLAIMS_OF_X,
            ONE_NAME,
            "7",
        ),
    ],
)
def test_a_version_costs_the_read_of_one_name_in_its_namespace(resource, newest, path, query, of_object):
    transport = RecordingTransport()
    present = asyncio.run(read_present(cast("Transport", transport), resource, newest, 60.0))
    assert present == Present("9", of_object)
    [(asked, with_query)] = transport.asked
    assert (asked, {**with_query}) == (path, {**resource.query(), **query})
