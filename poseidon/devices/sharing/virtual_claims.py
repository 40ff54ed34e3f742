"""Handles claims that do not exist in the API server: they stand for annotations of pods, and are written as such."""

from __future__ import annotations

from typing import Any

from poseidon.devices.sharing.systems import SYSTEMS
from poseidon.kube.api.devices import Json, ResourceClaim

CONTAINERS = "containers"
"""Annotation of such a claim: the number of its pod's containers."""


def name_claim(pod: str, system: str) -> str:
    """Return the name of the claim that stands for a pod's annotations. No real object has a colon in its name."""
    return f"{pod}:{system}"


def is_virtual(claim: ResourceClaim) -> bool:
    """Return whether the bridge made up a claim out of a pod's annotations, so that no ResourceClaim object exists."""
    pod, _, system = claim.metadata.name.rpartition(":")
    return bool(pod) and system in SYSTEMS


def build_patch(claim: ResourceClaim, change: Json, now: float) -> tuple[str, Json]:
    """Return the path of a claim's pod, and the merge patch of the pod for a change of the claim's status."""
    metadata = claim.metadata
    system = SYSTEMS[metadata.name.rpartition(":")[2]]
    (owner,) = metadata.owner_references
    allocation = change.get("allocation", claim.status.allocation)
    found: dict[str, Any] = dict.fromkeys(system.written)
    if allocation is not None:
        found.update(system.annotate(allocation, int(metadata.annotations[CONTAINERS]), now))
    path = f"/api/v1/namespaces/{metadata.namespace}/pods/{owner.name}"
    return path, {"metadata": {"uid": owner.uid, "annotations": found}}
