"""Keeps which volumes are attached to which machines: by the pods on the machines, and by VolumeAttachments.

A volume stays attached for a while after its pod was deleted, and still counts against its driver's limit. So
attachments without a pod reduce what a machine offers. A pod that uses an attached volume needs no further attachment
on that machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from poseidon.kube.api.pods import DISK
from poseidon.kube.api.storage import VolumeAttachment
from poseidon.volumes.catalogue import Catalogue
from poseidon.volumes.claims import Holders, Users
from poseidon.volumes.requirements import DRIVER_OF_SOURCE, AttachLimits, name_attachments


class Attached(NamedTuple):
    """An attached volume. ``volume``: name of a PersistentVolume, or identifier of a disk that has none."""

    volume: str
    driver: str


class AttachedVolumes:
    """Attachments by machine. ``storage``, ``limits``, ``users``, ``holders``: shared with ``VolumeState``."""

    def __init__(self, storage: Catalogue, limits: AttachLimits, users: Users, holders: Holders) -> None:
        self._storage = storage
        self._limits = limits
        self._users = users
        self._holders = holders
        self._known: dict[str, tuple[str, Attached]] = {}
        self._on: dict[str, dict[str, Attached]] = {}
        self._attachments_of = Users()

    def put(self, uid: str, found: VolumeAttachment | None) -> tuple[set[str], set[str]]:
        """Update an attachment, None if it was deleted; return the machines and the uids of pods that this affects."""
        before = self._known.get(uid)
        after = _attachment(found)
        if before == after:
            return set(), set()
        if before is not None:
            del self._known[uid]
            self._on[before[0]].pop(uid)
            if not self._on[before[0]]:
                del self._on[before[0]]
            self._attachments_of.remove(before[1].volume, uid)
        if after is not None:
            self._known[uid] = after
            self._on.setdefault(after[0], {})[uid] = after[1]
            self._attachments_of.add(after[1].volume, uid)
        changed = [each for each in (before, after) if each is not None]
        users = {user for _, attached in changed for user in self._users_of(attached.volume)}
        return {node for node, _ in changed}, users

    def has_any(self, node: str) -> bool:
        """Return whether attachments of a machine are known."""
        return node in self._on

    def volume_of(self, key: str) -> Attached | None:
        """Return the volume that must be attached for a claim or disk.

        None if no volume must be attached, or if the volume is unknown.
        """
        kind, separator, _ = key.partition(DISK)
        if separator:
            return Attached(key, DRIVER_OF_SOURCE[kind])
        claim = self._storage.claim(key)
        if claim is None:
            return None
        volume = self._storage.volume(claim.volume) if claim.bound else self._storage.volume_for(claim)
        return Attached(volume.name, volume.driver) if volume is not None and volume.driver else None

    def nodes_of(self, key: str) -> set[str]:
        """Return the machines to which the volume of a claim or disk is attached, by VolumeAttachments."""
        found = self.volume_of(key) if self._known else None
        return (
            {self._known[uid][0] for uid in self._attachments_of.list_users(found.volume)}
            if found is not None
            else set()
        )

    def is_left(self, key: str) -> bool:
        """Return whether the volume of a claim or disk is still attached to a machine where no pod uses it."""
        found = self.volume_of(key)
        nodes = self.nodes_of(key)
        return found is not None and any(found.volume not in self._find_held(node) for node in nodes)

    def count_unknown(self, node: str) -> Counter[str]:
        """Return, by resource, how many volumes are attached to a machine and used by no pod there."""
        return Counter(name_attachments(each.driver) for each in self._find_unknown(node))

    def not_needed(self, node: str, keys: Iterable[str]) -> Counter[str]:
        """Return, by resource, how many attachments on a machine a pod with these claims and disks need not request.

        They are the pod's volumes that are attached to the machine already, and volumes that deleted pods have left
        attached, because these will be detached soon.
        """
        found = self.count_unknown(node)
        for key in keys:
            there = self._holders.is_shared(key, node) or node in self.nodes_of(key)
            volume = self.volume_of(key) if there else None
            if volume is not None:
                found[name_attachments(volume.driver)] += 1
        return found

    def list_named(self, node: str) -> tuple[str, ...]:
        """Return the names of attached volumes of a machine that several pods use, or only pods on other machines."""
        found = {each.volume for each in self._find_unknown(node) if self._users_of(each.volume)}
        for key in self._holders.list_claims(node):
            attached = self.volume_of(key) if self._users.has_several(key) else None
            if attached is not None and self._limits.counts(attached.driver):
                found.add(attached.volume)
        return tuple(sorted(found))

    def _find_unknown(self, node: str) -> set[Attached]:
        there = self._on.get(node)
        if not there:
            return set()
        held = self._find_held(node)
        return {
            each for each in there.values() if each.volume not in held and self._limits.counts(each.driver)
        }

    def _find_held(self, node: str) -> set[str]:
        """Return the names of the volumes that pods on a machine use."""
        found = (self.volume_of(key) for key in self._holders.list_claims(node))
        return {each.volume for each in found if each is not None}

    def _users_of(self, volume: str) -> set[str]:
        """Return uids of the pods that use a volume."""
        return {user for key in self._keys(volume) for user in self._users.list_users(key)}

    def _keys(self, volume: str) -> Iterator[str]:
        yield volume
        known = self._storage.volume(volume)
        if known is not None and known.claim:
            yield known.claim
        yield from self._storage.claims_naming(volume)


def _attachment(found: VolumeAttachment | None) -> tuple[str, Attached] | None:
    """Return machine and volume of an attachment; None if the attachment does not exist, or does not state both."""
    if found is None or not found.spec.node_name or not found.spec.attacher:
        return None
    driver, source = found.spec.attacher, found.spec.source
    if source.persistent_volume_name:
        return found.spec.node_name, Attached(source.persistent_volume_name, driver)
    inline = source.inline_volume_spec
    if inline is None or inline.csi is None or not inline.csi.volume_handle:
        return None
    kind = next((kind for kind, known in DRIVER_OF_SOURCE.items() if known == driver), driver)
    return found.spec.node_name, Attached(f"{kind}{DISK}{inline.csi.volume_handle}", driver)
