"""Claims of devices by name: those of the API server, and those that are created only once they get devices."""

from __future__ import annotations

from poseidon.custom_records import NameIndex
from poseidon.devices.claims import DeviceClaim, read_claim
from poseidon.devices.known_pods import is_older
from poseidon.kube.api.devices import Json, ResourceClaim


class ClaimBook:
    """Claims by ``namespace/name``."""

    def __init__(self) -> None:
        self._claims: dict[str, DeviceClaim] = {}
        self._names = NameIndex()
        self._expected: dict[str, tuple[ResourceClaim, tuple[str, Json]]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._claims

    def get(self, key: str) -> DeviceClaim | None:
        """Return a claim, None if there is none."""
        return self._claims.get(key)

    def put(self, uid: str, found: ResourceClaim) -> str:
        """Take a claim as it is now; return its key, "" if it is older than what the answer to a write has shown."""
        claim = read_claim(found)
        known = self._claims.get(claim.key)
        if known and known.found.metadata.uid == found.metadata.uid and is_older(found, known.found):
            return ""
        self._names.put(uid, claim.key)
        self._claims[claim.key] = claim
        return claim.key

    def remove(self, uid: str) -> str:
        """Forget a claim that is gone; return its key, "" if it was unknown. One that is expected may come again."""
        key = self._names.remove(uid)
        self._claims.pop(key, None)
        if key in self._expected:
            self._claims[key] = read_claim(self._expected[key][0])
        return key

    def expect(self, key: str, claim: ResourceClaim, report: tuple[str, Json]) -> bool:
        """Take a claim that is created once it gets devices, and what is written to its pod then.

        Returns whether it was not there before.
        """
        self._expected[key] = claim, report
        new = key not in self._claims
        if new:
            self._claims[key] = read_claim(claim)
        return new

    def forget(self, key: str) -> bool:
        """Stop expecting a claim. Returns whether it is gone with that, as it had not been created."""
        expected, known = self._expected.pop(key, None), self._claims.get(key)
        gone = expected is not None and known is not None and not known.found.metadata.uid
        if gone:
            del self._claims[key]
        return gone

    def find_report(self, key: str) -> tuple[str, Json] | None:
        """Return what is written to a pod together with a claim: the path, and a merge patch; None for nothing."""
        expected = self._expected.get(key)
        return expected[1] if expected is not None else None
