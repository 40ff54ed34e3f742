"""Keeps device claims by name: claims of the API server, and claims that are created only once they get devices."""

from __future__ import annotations

from collections.abc import Iterator

from poseidon.custom_records import NameIndex
from poseidon.devices.claims import DeviceClaim, read_claim
from poseidon.devices.known_pods import is_older
from poseidon.kube.api.devices import Json, ResourceClaim


class KnownClaims:
    """Device claims by ``namespace/name``."""

    def __init__(self) -> None:
        self._claims: dict[str, DeviceClaim] = {}
        self._names = NameIndex()
        self._expected: dict[str, tuple[ResourceClaim, tuple[str, Json]]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._claims

    def __iter__(self) -> Iterator[DeviceClaim]:
        return iter(self._claims.values())

    def get(self, key: str) -> DeviceClaim | None:
        """Return a claim, None if it is not known."""
        return self._claims.get(key)

    def put(self, uid: str, found: ResourceClaim) -> str:
        """Add or update a claim; return its key, "" if a newer version is known from the answer to a write."""
        claim = read_claim(found)
        known = self._claims.get(claim.key)
        if known and known.found.metadata.uid == found.metadata.uid and is_older(found, known.found):
            return ""
        self._names.put(uid, claim.key)
        self._claims[claim.key] = claim
        return claim.key

    def remove(self, uid: str) -> str:
        """Remove a deleted claim; return its key, "" if unknown. An expected claim is kept, as not created yet."""
        key = self._names.remove(uid)
        self._claims.pop(key, None)
        if key in self._expected:
            self._claims[key] = read_claim(self._expected[key][0])
        return key

    def expect(self, key: str, claim: ResourceClaim, report: tuple[str, Json]) -> bool:
        """Add a claim that will be created once it gets devices; return whether the claim is new.

        ``report`` is the write to the claim's pod that follows the creation.
        """
        self._expected[key] = claim, report
        new = key not in self._claims
        if new:
            self._claims[key] = read_claim(claim)
        return new

    def forget(self, key: str) -> bool:
        """Stop expecting a claim; return whether it is forgotten now, because it had not been created."""
        expected, known = self._expected.pop(key, None), self._claims.get(key)
        gone = expected is not None and known is not None and not known.found.metadata.uid
        if gone:
            del self._claims[key]
        return gone

    def find_report(self, key: str) -> tuple[str, Json] | None:
        """Return the write to a claim's pod after the claim's creation: path and merge patch; None for no write."""
        expected = self._expected.get(key)
        return expected[1] if expected is not None else None
