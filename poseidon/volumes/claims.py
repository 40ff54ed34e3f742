"""Which claims a pod uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poseidon.kube.api.core import Pod


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim as a pod uses it, by ``namespace/name``; an ``ephemeral`` one must have been made for the pod."""

    key: str
    ephemeral: bool = False

    @property
    def name(self) -> str:
        """The claim's name."""
        return self.key.partition("/")[2]


def claims_of(pod: Pod) -> tuple[PodClaim, ...]:
    """Return the claims that a pod uses, each once, in the order of its volumes.

    The claim of an ephemeral volume is named after pod and volume.
    """
    if not pod.spec.volumes:
        return ()
    metadata = pod.metadata
    namespace = metadata.namespace or "default"
    found: dict[str, PodClaim] = {}
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            claim = PodClaim(f"{namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            claim = PodClaim(f"{namespace}/{metadata.name}-{volume.name}", ephemeral=True)
        else:
            continue
        found.setdefault(claim.key, claim)
    return tuple(found.values())
