"""Lists the claims of devices that a pod names, and those that a controller made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from poseidon.kube.api.pods import Pod

_MOST_CLAIMS = 64
_MOST_NAME = 253


class ClaimOfPod(NamedTuple):
    """A claim of devices that a pod has.

    ``name`` is the pod's own name for the claim, "" for the claim of its extended resources.
    """

    name: str
    claim: str
    """``namespace/name`` of the ResourceClaim, "" until it has been made."""
    template: str
    """The template from which the claim is made, "" for none."""


def list_pod_claims(pod: Pod) -> tuple[ClaimOfPod, ...]:
    """Return the claims of a pod, in the order in which its spec names them."""
    stated, status, namespace = pod.spec.resource_claims, pod.status, pod.metadata.namespace
    extended = status.extended_resource_claim_status
    if not stated and extended is None:
        return ()
    made = {each.name: each.resource_claim_name or "" for each in status.resource_claim_statuses}
    found = [
        ClaimOfPod(
            each.name[:_MOST_NAME],
            _qualify(namespace, each.resource_claim_name or made.get(each.name, "")),
            (each.resource_claim_template_name or "")[:_MOST_NAME],
        )
        for each in stated[:_MOST_CLAIMS]
    ]
    if extended is not None and extended.resource_claim_name:
        found.append(ClaimOfPod("", _qualify(namespace, extended.resource_claim_name), ""))
    return tuple(found)


def _qualify(namespace: str, name: str) -> str:
    return f"{namespace}/{name[:_MOST_NAME]}" if name else ""
