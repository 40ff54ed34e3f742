"""Records of claims, volumes, storage classes and drivers by name, with the references between them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from poseidon.custom_records import NameIndex
from poseidon.kube.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from poseidon.volumes.claims import Users
from poseidon.volumes.records import Claim, Provision, Volume, claim_record, provision_record, volume_record

R = TypeVar("R")


class _Records(Generic[R]):
    """Records of one kind by name. Objects are told from earlier and later namesakes by uid."""

    def __init__(self) -> None:
        self.known: dict[str, R] = {}
        self._names = NameIndex()

    def put(self, uid: str, name: str, record: R) -> R | None:
        """Take an object as it is now; returns its former record, None if there was none of this name."""
        self._names.put(uid, name)
        former, self.known[name] = self.known.get(name), record
        return former

    def remove(self, uid: str) -> tuple[str, R | None]:
        """Forget an object; returns its name and record, None if nothing was known, or a namesake is."""
        name = self._names.remove(uid)
        return name, self.known.pop(name, None) if name else None


class Catalogue:
    """What is known of a cluster's storage."""

    def __init__(self) -> None:
        self._claims: _Records[Claim] = _Records()
        self._volumes: _Records[Volume] = _Records()
        self._provisions: _Records[Provision] = _Records()
        self._given = Users()
        self._named_by = Users()
        self._drivers: dict[str, str] = {}
        self._rules: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}

    # --- looking -------------------------------------------------------------------------------------------

    def claim(self, key: str) -> Claim | None:
        """Return a claim by ``namespace/name``."""
        return self._claims.known.get(key)

    def volume(self, name: str) -> Volume | None:
        """Return a volume."""
        return self._volumes.known.get(name)

    def volume_for(self, claim: Claim) -> Volume | None:
        """Return the volume that has been given to a claim which is not bound yet."""
        given = (self._volumes.known[name] for name in self._given.list_users(claim.key))
        fitting = [
            each for each in given if not (each.claim_uid and claim.uid) or each.claim_uid == claim.uid
        ]
        return min(fitting, key=lambda each: each.name, default=None)

    def provision(self, storage_class: str) -> Provision | None:
        """Return a storage class."""
        return self._provisions.known.get(storage_class)

    def states_capacity(self, driver: str) -> bool:
        """Return whether a driver says how much it can make, and where; what it does not say it cannot make."""
        return driver in self._drivers.values()

    def is_unbound_of(self, key: str, storage_class: str) -> bool:
        """Return whether a claim is of a class and not bound yet."""
        claim = self._claims.known.get(key)
        return claim is not None and not claim.bound and claim.storage_class == storage_class

    def claims_naming(self, volume: str) -> AbstractSet[str]:
        """Return the claims that name a volume, whether or not the volume names them."""
        return self._named_by.list_users(volume)

    # --- changing ------------------------------------------------------------------------------------------

    def put_claim(self, uid: str, found: PersistentVolumeClaim | None) -> str:
        """Take a claim, or its absence. Returns its key if anything that matters has changed, else ""."""
        record: Claim | None = None
        if found is None:
            key, known = self._claims.remove(uid)
        else:
            record = claim_record(found)
            key, known = record.key, self._claims.put(uid, record.key, record)
        if known == record:
            return ""
        if known is not None and known.volume:
            self._named_by.remove(known.volume, key)
        if record is not None and record.volume:
            self._named_by.add(record.volume, key)
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
        """Take a volume, or its absence. Returns the former volume and the new one."""
        record: Volume | None = None
        if found is None:
            name, before = self._volumes.remove(uid)
        else:
            record = volume_record(found, self._rules)
            name, before = record.name, self._volumes.put(uid, record.name, record)
        if before is not None and before.claim:
            self._given.remove(before.claim, name)
        if record is not None and record.claim:
            self._given.add(record.claim, name)
        return before, record

    def put_provision(self, uid: str, found: StorageClass | None) -> str:
        """Take a storage class, or its absence. Returns its name if anything has changed, else ""."""
        if found is None:
            name, known = self._provisions.remove(uid)
            return "" if known is None else name
        name, record = found.metadata.name, provision_record(found)
        return "" if self._provisions.put(uid, name, record) == record else name
