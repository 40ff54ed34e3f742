"""Claims that the API server does not have: they stand for annotations of a pod, and writing one writes these."""

from __future__ import annotations

from typing import Any

from poseidon.devices import hami
from poseidon.kube.api.devices import Json, ResourceClaim

SUFFIX = ":hami"
"""What their names end with; names of objects have no colon."""
CONTAINERS = "containers"
"""Annotation of such a claim: how many containers its pod has."""


def is_virtual(claim: ResourceClaim) -> bool:
    """Return whether a claim stands for annotations of a pod."""
    return claim.metadata.name.endswith(SUFFIX)


def build_patch(claim: ResourceClaim, change: Json, now: float) -> tuple[str, Json]:
    """Return the path of a claim's pod, and the merge patch that carries out a change of the claim's status."""
    metadata = claim.metadata
    (owner,) = metadata.owner_references
    allocation = change.get("allocation", claim.status.allocation)
    found: dict[str, Any] = dict.fromkeys(
        (hami.ALLOCATED, hami.TO_ALLOCATE, hami.NODE, hami.BIND_TIME, hami.BIND_PHASE)
    )
    if allocation is not None:
        found.update(hami.annotate(allocation, int(metadata.annotations[CONTAINERS]), now))
    path = f"/api/v1/namespaces/{metadata.namespace}/pods/{owner.name}"
    return path, {"metadata": {"uid": owner.uid, "annotations": found}}
