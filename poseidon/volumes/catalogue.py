"""Keeps records of claims, volumes, storage classes and drivers by name, with the references between them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from poseidon.custom_records import NameIndex
from poseidon.kube.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from poseidon.volumes.claims import Users
from poseidon.volumes.records import Claim, Provision, Volume, claim_record, provision_record, volume_record

R = TypeVar("R")


class _Records(Generic[R]):
    """Records of one kind by name. Uids distinguish earlier and later objects of the same name."""

    def __init__(self) -> None:
        self.known: dict[str, R] = {}
        self._names = NameIndex()

    def put(self, uid: str, name: str, record: R) -> R | None:
        """Add or update an object; return the former record with this name, None if the name is new."""
        self._names.put(uid, name)
        former, self.known[name] = self.known.get(name), record
        return former

    def remove(self, uid: str) -> tuple[str, R | None]:
        """Remove an object; return name and record: None if unknown, or if a newer object has the name."""
        name = self._names.remove(uid)
        return name, self.known.pop(name, None) if name else None


class Catalogue:
    """The claims, volumes, storage classes and CSI drivers of a cluster."""

    def __init__(self) -> None:
        self._claims: _Records[Claim] = _Records()
        self._volumes: _Records[Volume] = _Records()
        self._provisions: _Records[Provision] = _Records()
        self._given = Users()
        self._named_by = Users()
        self._drivers: dict[str, str] = {}
        self._rules: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}

    # --- looking up objects --------------------------------------------------------------------------------

    def claim(self, key: str) -> Claim | None:
        """Return the record of the claim ``namespace/name``, None if it is unknown."""
        return self._claims.known.get(key)

    def volume(self, name: str) -> Volume | None:
        """Return a volume by name, None if unknown."""
        return self._volumes.known.get(name)

    def volume_for(self, claim: Claim) -> Volume | None:
        """Return the volume that names a claim which is not bound yet, None if no volume does."""
        given = (self._volumes.known[name] for name in self._given.list_users(claim.key))
        fitting = [
            each for each in given if not (each.claim_uid and claim.uid) or each.claim_uid == claim.uid
        ]
        return min(fitting, key=lambda each: each.name, default=None)

    def provision(self, storage_class: str) -> Provision | None:
        """Return a storage class by name, None if unknown."""
        return self._provisions.known.get(storage_class)

    def states_capacity(self, driver: str) -> bool:
        """Return whether a driver publishes its capacity; such a driver can make only volumes that fit the capacity."""
        return driver in self._drivers.values()

    def is_unbound_of(self, key: str, storage_class: str) -> bool:
        """Return whether a claim is known, not bound yet, and of this storage class."""
        claim = self._claims.known.get(key)
        return claim is not None and not claim.bound and claim.storage_class == storage_class

    def claims_naming(self, volume: str) -> AbstractSet[str]:
        """Return the keys of the claims that name a volume, whether or not the volume names them."""
        return self._named_by.list_users(volume)

    # --- updating objects ----------------------------------------------------------------------------------

    def put_claim(self, uid: str, found: PersistentVolumeClaim | None) -> str:
        """Update a claim, None if it was deleted; return its key if its record has changed, else ""."""
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
        """Set the name of a driver that publishes its capacity, "" for none; return whether it has changed."""
        if self._drivers.get(uid, "") == name:
            return False
        self._drivers.pop(uid, None)
        if name:
            self._drivers[uid] = name
        return True

    def put_volume(self, uid: str, found: PersistentVolume | None) -> tuple[Volume | None, Volume | None]:
        """Update a volume, None if it was deleted; return the former record and the new one."""
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
        """Update a storage class, None if it was deleted; return its name if its record has changed, else ""."""
        if found is None:
            name, known = self._provisions.remove(uid)
            return "" if known is None else name
        name, record = found.metadata.name, provision_record(found)
        return "" if self._provisions.put(uid, name, record) == record else name
