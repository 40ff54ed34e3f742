"""Records of claims, volumes, storage classes and drivers by name, with the references between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.volumes.records import Claim, Provision, Volume, volume_record
from poseidon.volumes.users import Users

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from poseidon.kube.api.storage import PersistentVolume


class Catalogue:
    """What is known of a cluster's storage. Objects are told from earlier and later namesakes by uid."""

    def __init__(self) -> None:
        self._claims: dict[str, Claim] = {}
        self._claim_keys: dict[str, str] = {}
        self._volumes: dict[str, Volume] = {}
        self._volume_names: dict[str, str] = {}
        self._given = Users()
        self._named_by = Users()
        self._provisions: dict[str, Provision] = {}
        self._class_names: dict[str, str] = {}
        self._drivers: dict[str, str] = {}
        self._rules: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}

    # --- looking -------------------------------------------------------------------------------------------

    def claim(self, key: str) -> Claim | None:
        """Return a claim by ``namespace/name``."""
        return self._claims.get(key)

    def volume(self, name: str) -> Volume | None:
        """Return a volume."""
        return self._volumes.get(name)

    def volume_for(self, claim: Claim) -> Volume | None:
        """Return the volume that has been given to a claim which is not bound yet."""
        given = (self._volumes[name] for name in self._given.of(claim.key))
        fitting = [
            each for each in given if not (each.claim_uid and claim.uid) or each.claim_uid == claim.uid
        ]
        return min(fitting, key=lambda each: each.name, default=None)

    def provision(self, storage_class: str) -> Provision | None:
        """Return a storage class."""
        return self._provisions.get(storage_class)

    def states_capacity(self, driver: str) -> bool:
        """Whether a driver says how much it can make, and where; what it does not say it cannot make."""
        return driver in self._drivers.values()

    def is_unbound_of(self, key: str, storage_class: str) -> bool:
        """Whether a claim is of a class and not bound yet."""
        claim = self._claims.get(key)
        return claim is not None and not claim.bound and claim.storage_class == storage_class

    def claims_naming(self, volume: str) -> AbstractSet[str]:
        """Return the claims that name a volume, whether or not the volume names them."""
        return self._named_by.of(volume)

    # --- changing ------------------------------------------------------------------------------------------

    def put_claim(self, uid: str, record: Claim | None) -> str:
        """Take a claim, or its absence. Returns its key if anything that matters has changed, else ""."""
        if record is None:
            key = self._claim_keys.pop(uid, "")
            known = self._claims.get(key)
            if known is None or known.uid != uid:
                return ""
            del self._claims[key]
            self._named_by.remove(known.volume, key)
            return key
        key = self._claim_keys[uid] = record.key
        known = self._claims.get(key)
        if known == record:
            return ""
        if known is not None and known.volume:
            self._named_by.remove(known.volume, key)
        if record.volume:
            self._named_by.add(record.volume, key)
        self._claims[key] = record
        return key

    def put_driver(self, uid: str, name: str) -> bool:
        """Take a driver that says how much it can make; "": this one does not, or is gone. Returns if that is new."""
        if self._drivers.get(uid, "") == name:
            return False
        self._drivers.pop(uid, None)
        if name:
            self._drivers[uid] = name
        return True

    def put_volume(self, uid: str, found: PersistentVolume | None) -> tuple[Volume | None, Volume | None]:
        """Take a volume, or its absence. Returns it as it was and as it is."""
        if found is None:
            name = self._volume_names.pop(uid, "")
            known = self._volumes.get(name)
            if known is None or known.uid != uid:
                return None, None
            del self._volumes[name]
            self._given.remove(known.claim, name)
            return known, None
        record = volume_record(found, self._rules)
        name = self._volume_names[uid] = record.name
        before = self._volumes.get(name)
        self._volumes[name] = record
        if before is not None and before.claim:
            self._given.remove(before.claim, name)
        if record.claim:
            self._given.add(record.claim, name)
        return before, record

    def put_provision(self, uid: str, found: tuple[str, Provision] | None) -> str:
        """Take a storage class by name, or its absence. Returns its name if anything has changed, else ""."""
        if found is None:
            name = self._class_names.pop(uid, "")
            if name in self._class_names.values():
                return ""  # a namesake has taken its place
            return name if self._provisions.pop(name, None) is not None else ""
        name, record = found
        self._class_names[uid] = name
        if self._provisions.get(name) == record:
            return ""
        self._provisions[name] = record
        return name
