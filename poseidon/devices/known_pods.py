"""Defines records of pods with device claims, and of placed pods whose claims are being written."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from poseidon.devices.claims import DeviceResolution, PodDeviceClaim
from poseidon.kube.api.devices import ResourceClaim
from poseidon.kube.api.metadata import PodRef


@dataclass(slots=True)
class KnownPod:
    """A pod that names claims, the pod's node ("" for none), and its needs because of these claims."""

    name: str
    claims: tuple[PodDeviceClaim, ...]
    place: str
    resolution: DeviceResolution


@dataclass(slots=True)
class PlacedPod:
    """A placed pod whose claims are being written. ``missing``: claims that are not reserved for the pod yet."""

    pod: PodRef
    missing: set[str]
    deadline: float | None = None
    waiting: set[str] = field(default_factory=set)
    """Claims reserved for the pod whose drivers have not reported all binding conditions yet."""
    after: frozenset[str] = frozenset()
    """Uids of pods that are evicted for this pod, so that it may get their devices."""
    blocked: set[str] = field(default_factory=set)
    """Claims that cannot be written until other claims have released their devices."""


class ClaimUsers:
    """The pods (uids) that name each claim."""

    def __init__(self) -> None:
        self._by_claim: dict[str, dict[str, None]] = {}

    def get(self, key: str) -> Collection[str]:
        """Return the pods that name a claim."""
        return self._by_claim.get(key, {})

    def add(self, uid: str, claims: Iterable[PodDeviceClaim]) -> list[str]:
        """Add a pod that names claims; return the keys of these claims, each once."""
        keys = list({each.key: None for each in claims if each.key})
        for key in keys:
            self._by_claim.setdefault(key, {})[uid] = None
        return keys

    def remove(self, uid: str, claims: Iterable[PodDeviceClaim]) -> list[str]:
        """Remove a pod that named claims; return the keys of these claims, each once."""
        keys = list({each.key: None for each in claims if each.key in self._by_claim})
        for key in keys:
            users = self._by_claim[key]
            users.pop(uid, None)
            if not users:
                del self._by_claim[key]
        return keys


def is_older(found: ResourceClaim, known: ResourceClaim) -> bool:
    """Return whether ``found`` has an earlier resource version than ``known``; versions grow (Kubernetes 1.35)."""
    version, other = found.metadata.resource_version, known.metadata.resource_version
    return version.isdecimal() and other.isdecimal() and int(version) < int(other)
