"""Whether what a reflector has handed over is what the API server has: compared from time to time, by metadata alone.

A list of exactly the version that a watch has come to has the same objects, each in the same version. Whatever differs
was lost on the way, or made up, and no later event would tell of it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from poseidon.kube.client.errors import ApiError
from poseidon.kube.watch.listing import versions_at

if TYPE_CHECKING:
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.transport import Transport

_log = logging.getLogger(__name__)

_MOST_NAMED = 5


async def drifted(
    transport: Transport, resource: Resource[Any], limit: int, version: str, known: Mapping[str, str]
) -> frozenset[str] | None:
    """Return the uids of objects that differ from those the server had at ``version``, read ``limit`` at a time.

    ``known`` are versions by uid. None: the server remembers that version no more. Raises ``KubeError``.
    """
    try:
        there = await versions_at(transport, resource, limit, version)
    except ApiError as error:
        if error.expired:
            return None
        raise
    differ = frozenset(uid for uid in known.keys() | there.keys() if known.get(uid) != there.get(uid))
    if differ:
        _log.warning(
            "watch has drifted from the API server, listing anew resource=%s version=%s objects=%d uids=%s",
            resource.name,
            version,
            len(differ),
            ",".join(sorted(differ)[:_MOST_NAMED]),
        )
    return differ
