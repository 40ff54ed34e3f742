"""Reads a live cluster for commands that otherwise read files.

Objects of a live cluster are never refused: they may be older than the API server's present checks, and
anybody may have written them. Objects that cannot be used are set aside and named, as in the bridge, and the
rest is used.
"""

from __future__ import annotations

from poseidon.kube.client.transport import Transport
from poseidon.live.bundle import collections_held
from poseidon.manifests.documents import Document
from poseidon.manifests.loader import Manifests, build_live_manifests


async def read_cluster(transport: Transport) -> Manifests:
    """Return what placement sees of a cluster. Raises ``KubeError`` if its server does not answer at all."""
    await transport.get("/version")
    documents: list[Document] = []
    left_out: list[str] = []
    async for held in collections_held(transport):
        if held.problem:
            left_out.append(f"{held.name} cannot be listed: {held.problem}")
        left_out.extend(held.left_out)
        documents.extend(
            Document("", each["apiVersion"], each["kind"], each, held=True) for each in held.objects
        )
    return build_live_manifests(documents, left_out)
