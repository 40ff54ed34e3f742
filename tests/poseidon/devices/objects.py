"""Short-hand for claims of devices, pods that name them, and what a round gives them."""

from __future__ import annotations

import json

from msgspec.structs import replace

from poseidon.kube.api.devices import ClaimConsumer, ClaimMeta, ResourceClaim, ResourceClaimStatus
from poseidon.kube.api.metadata import OwnerReference
from poseidon.kube.api.pods import PodClaimStatus, PodResourceClaim
from tests.poseidon.bridge.objects import pod

SPEC = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 1}}]}}
BY_NODE = "kubernetes.io/hostname"


def allocation(*devices, node="n1", **more):
    """Devices of the driver "gpu" in the pool of a node."""
    results = [{"request": "gpu", "driver": "gpu", "pool": node, "device": each, **more} for each in devices]
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    return {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}


def claim(
    name, *, spec=None, given=None, reserved=(), owner="", deleting=False, version="1", uid="", said=()
):
    """``reserved``: names of pods, whose uids are "pod-NAME"; so is that of the ``owner``."""
    owners: tuple[OwnerReference, ...] = ()
    if owner:
        owners = (OwnerReference(kind="Pod", name=owner, uid=f"pod-{owner}", controller=True),)
    return ResourceClaim(
        ClaimMeta(
            name=name,
            namespace="default",
            uid=uid or f"claim-{name}",
            resource_version=version,
            owner_references=owners,
            deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
        ),
        SPEC if spec is None else spec,
        ResourceClaimStatus(
            given,
            tuple(ClaimConsumer(resource="pods", name=each, uid=f"pod-{each}") for each in reserved),
            said,
        ),
    )


def with_claims(found, *named, made=()):
    """A pod that names claims, and others made of the template "t": what it calls them, and their names if any."""
    claims = [PodResourceClaim(each, each) for each in named]
    claims += [PodResourceClaim(each, None, "t") for each, _ in made]
    statuses = tuple(PodClaimStatus(each, name) for each, name in made if name)
    return replace(
        found,
        spec=replace(found.spec, resource_claims=tuple(claims)),
        status=replace(found.status, resource_claim_statuses=statuses),
    )


def pod_of_template(name, **more):
    """A pod with one claim, which the controller has made for it."""
    return with_claims(pod(name, **more), made=[("gpu", f"{name}-gpu")])


def given_in(result, **named):
    """Add devices by claim to the last delta of a round."""
    for name, devices in named.items():
        result.deltas[-1].allocations.add(name=name, allocation=json.dumps(devices))
    return result
