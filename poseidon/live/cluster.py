"""Reads a live cluster for commands that otherwise read files.

Objects of a live cluster are never refused, because they may be older than the API server's present checks. As in the
bridge, objects that cannot be used are left out and named in warnings.
"""

from __future__ import annotations

from typing import Any

import msgspec

from poseidon.kube.api.collections import QUEUED_JOBS
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.transport import Transport
from poseidon.live.support_bundle import list_collections
from poseidon.manifests.documents import Document
from poseidon.manifests.loader import Manifests, build_live_manifests

_PAGE = 500


async def read_cluster(transport: Transport, *, suspended: bool = False) -> Manifests:
    """Return those objects of a cluster that placement reads. Raises ``KubeError`` if the API server does not answer.

    If ``suspended``, the pods that suspended Jobs in queues would have are included.
    """
    await transport.get("/version")
    documents: list[Document] = []
    left_out: list[str] = []
    async for held in list_collections(transport):
        if held.problem:
            left_out.append(f"{held.name} cannot be listed: {held.problem}")
        left_out.extend(held.left_out)
        documents.extend(
            Document("", each["apiVersion"], each["kind"], each, held=True) for each in held.objects
        )
    if suspended:
        try:
            documents.extend(
                Document("", "batch/v1", "Job", each, held=True)
                for each in await _list_suspended_jobs(transport)
            )
        except KubeError as error:
            left_out.append(f"suspended Jobs cannot be listed: {error}")
    return build_live_manifests(documents, left_out)


async def _list_suspended_jobs(transport: Transport) -> list[dict[str, Any]]:
    """Return the suspended Jobs as JSON objects."""
    found, more = list[dict[str, Any]](), {"limit": str(_PAGE)}
    while True:
        answer = await transport.get(QUEUED_JOBS.path, QUEUED_JOBS.query(**more))
        page = msgspec.json.decode(answer)
        found += [each for each in page["items"] if each.get("spec", {}).get("suspend") is True]
        if not page["metadata"].get("continue"):
            return found
        more["continue"] = page["metadata"]["continue"]
