"""What is known of pods with claims, and of those that have been placed and whose claims are about to be written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from poseidon.devices.claims import DeviceResolution, PodDeviceClaim
from poseidon.kube.api.devices import ResourceClaim
from poseidon.kube.api.metadata import PodRef


@dataclass(slots=True)
class KnownPod:
    """A pod that names claims, where it is ("" for nowhere), and what its claims mean for it."""

    name: str
    claims: tuple[PodDeviceClaim, ...]
    place: str
    resolution: DeviceResolution


@dataclass(slots=True)
class PlacedPod:
    """A placed pod whose claims are about to be written. ``missing``: those that are not its own yet."""

    pod: PodRef
    missing: set[str]
    deadline: float | None = None
    waiting: set[str] = field(default_factory=set)
    """Claims that are its own, and whose drivers are still to say that it may be bound."""
    after: frozenset[str] = frozenset()
    """Pods (uids) that are evicted for it: their devices may become its own."""
    blocked: set[str] = field(default_factory=set)
    """Claims that are to be written once claims of others have given their devices back."""


class ClaimUsers:
    """The pods (uids) that name each claim."""

    def __init__(self) -> None:
        self._by_claim: dict[str, dict[str, None]] = {}

    def get(self, key: str) -> Collection[str]:
        """Return the pods that name a claim."""
        return self._by_claim.get(key, {})

    def add(self, uid: str, claims: Iterable[PodDeviceClaim]) -> list[str]:
        """Note what a pod names; returns the claims, each once."""
        keys = list({each.key: None for each in claims if each.key})
        for key in keys:
            self._by_claim.setdefault(key, {})[uid] = None
        return keys

    def remove(self, uid: str, claims: Iterable[PodDeviceClaim]) -> list[str]:
        """Forget what a pod has named; returns the claims, each once."""
        keys = list({each.key: None for each in claims if each.key in self._by_claim})
        for key in keys:
            users = self._by_claim[key]
            users.pop(uid, None)
            if not users:
                del self._by_claim[key]
        return keys


def is_older(found: ResourceClaim, known: ResourceClaim) -> bool:
    """Return whether a claim is of an earlier resource version; these are numbers that grow (Kubernetes 1.35)."""
    version, other = found.metadata.resource_version, known.metadata.resource_version
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
