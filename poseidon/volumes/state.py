"""Keeps the cluster's storage and the pods that use it, and finds how each change affects pods and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from poseidon.kube.api.pods import PodClaim
from poseidon.kube.api.resource import Change
from poseidon.kube.api.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from poseidon.kube.quarantine import Quarantine
from poseidon.volumes.attachments import AttachedVolumes
from poseidon.volumes.available import AvailableVolumes
from poseidon.volumes.binding import VolumeBindings, VolumeOptions
from poseidon.volumes.catalogue import Catalogue
from poseidon.volumes.claims import Holders, Rank, Users
from poseidon.volumes.matching import implies
from poseidon.volumes.records import Profile
from poseidon.volumes.requirements import AttachLimits
from poseidon.volumes.resolution import (
    NOTHING,
    TAKEN,
    Resolution,
    add_sole_claims,
    find_obstacle,
    needs_of,
    require_volumes,
)
from poseidon.volumes.sole_claims import User, leaves_claims, list_contested, node_of_holders
from poseidon.volumes.storage_capacity import StorageCapacities


@dataclass(slots=True)
class _Pod:
    """A pod that uses claims.

    ``place`` is the node where the pod runs or to which it is being bound, "" while it waits.
    """

    name: str
    claims: tuple[PodClaim, ...]
    rank: Rank
    place: str
    resolution: Resolution = NOTHING


class VolumeState:
    """Claims, volumes, classes, CSI nodes, machines' labels, and the pods that use claims.

    Changes may come in any order and any number of times. Then ``take_affected`` returns the pods whose requirements
    have changed, and ``take_offers`` the new offers of machines. ``bindings`` are the bindings of claims under way,
    ``capacities`` the sizes of volumes that can be made. ``quarantine`` sets pods and machines aside that cannot be
    handled. Not thread-safe.
    """

    def __init__(self, options: VolumeOptions | None = None, quarantine: Quarantine | None = None) -> None:
        self._quarantine = quarantine if quarantine is not None else Quarantine()
        self._storage = Catalogue()
        self._limits = AttachLimits()
        self._available = AvailableVolumes()
        options = options or VolumeOptions()
        self.bindings = VolumeBindings(self._storage, self._available, options)
        self.capacities = StorageCapacities(scored=options.capacity_scoring)
        self._pods: dict[str, _Pod] = {}
        self._users = Users()
        self._holders = Holders()
        self._attached = AttachedVolumes(self._storage, self._limits, self._users, self._holders)
        self._interned: dict[Resolution, Resolution] = {}
        self._affected: dict[str, None] = {}
        self._changed_nodes: set[str] = set()

    # --- changes of objects --------------------------------------------------------------------------------

    def claims_changed(self, changes: Sequence[Change[PersistentVolumeClaim]]) -> None:
        """Store changed PersistentVolumeClaims, and check the pods that use them or may use their volumes."""
        for change in changes:
            key = self._storage.put_claim(change.uid, change.object)
            if key:
                self._claim_changed(key)

    def volumes_changed(self, changes: Sequence[Change[PersistentVolume]]) -> None:
        """Store changed PersistentVolumes, and check the pods and machines that each change concerns."""
        for change in changes:
            before, after = self._storage.put_volume(change.uid, change.object)
            if after is not None:
                self._available.put(after)
            elif before is not None:
                self._available.remove(before.name)
            for found in (before, after):
                if found is not None:
                    for key in {found.claim, *self._storage.claims_naming(found.name)}:
                        self._claim_changed(key)

    def storage_classes_changed(self, changes: Sequence[Change[StorageClass]]) -> None:
        """Store changed storage classes, and mark pods with unbound claims of these classes as affected."""
        for change in changes:
            name = self._storage.put_provision(change.uid, change.object)
            if name:
                concerned = (
                    uid
                    for uid, pod in self._pods.items()
                    if any(self._storage.is_unbound_of(each.key, name) for each in pod.claims)
                )
                self._affected.update(dict.fromkeys(concerned))

    def csi_nodes_changed(self, changes: Sequence[Change[CsiNode]]) -> None:
        """Update the limits of machines for attached volumes."""
        for change in changes:
            name, drivers = self._limits.put(change.uid, change.object)
            if name:
                self._changed_nodes.add(name)
            if drivers:
                self._changed_nodes.update(self._available.machines)
                self._affected.update(dict.fromkeys(self._pods))

    def csi_drivers_changed(self, changes: Sequence[Change[CsiDriver]]) -> None:
        """Update CSI drivers; if one begins or stops to publish its capacity, check all pods again."""
        for change in changes:
            driver = change.object
            states = driver is not None and bool(driver.spec.storage_capacity)
            if self._storage.put_driver(change.uid, driver.metadata.name if driver and states else ""):
                self._affected.update(dict.fromkeys(self._pods))

    def volume_attachments_changed(self, changes: Sequence[Change[VolumeAttachment]]) -> None:
        """Store changed VolumeAttachments, and check the pods and machines that each change concerns."""
        for change in changes:
            nodes, users = self._attached.put(change.uid, change.object)
            self._changed_nodes |= nodes & self._available.machines.keys()
            self._affected.update(dict.fromkeys(users))

    def storage_capacities_changed(self, changes: Sequence[Change[CsiStorageCapacity]]) -> None:
        """Update the capacities from which volumes can be made."""
        for change in changes:
            self._changed_nodes |= self.capacities.put(change.uid, change.object)

    def node_changed(self, name: str, labels: Mapping[str, str]) -> None:
        """Add or update a machine."""
        if name not in self._available.machines:
            self._changed_nodes.add(name)
        self._available.put_node(name, labels)
        if self.capacities.put_node(name, labels):
            self._changed_nodes.add(name)

    def node_gone(self, name: str) -> None:
        """Remove a machine that has been removed."""
        self._available.remove_node(name)
        self.capacities.remove_node(name)
        self._changed_nodes.discard(name)
        self.bindings.node_gone(name)

    # --- pods ----------------------------------------------------------------------------------------------

    def put_pod(
        self, uid: str, name: str, claims: tuple[PodClaim, ...], rank: Rank, place: str
    ) -> Resolution:
        """Add or update a pod; return what it needs, or waits for, because of its claims.

        A pod's claims never change.
        """
        if not claims:
            return NOTHING
        pod = self._pods.get(uid)
        if pod is None:
            pod = self._pods[uid] = _Pod(name, claims, rank, "")
            for each in claims:
                alone = not self._users.has_several(each.key)
                self._users.add(each.key, uid)
                if alone:
                    self._sharing_changed(each.key)
                self._changed_nodes |= self._attached.nodes_of(each.key)
            self._mark_rivals(pod)
        elif pod.rank != rank:
            pod.rank = rank
            self._mark_rivals(pod)
        self.move_pod(uid, place)
        if uid not in self.bindings:
            pod.resolution = self._resolve(uid, pod)
            self._affected.pop(uid, None)
        return pod.resolution

    def move_pod(self, uid: str, place: str) -> None:
        """Set the machine of a pod, with or without claims; "" for none."""
        pod = self._pods.get(uid)
        if pod is None or pod.place == place:
            return
        for each in pod.claims:
            several = self._users.has_several(each.key)
            if pod.place:
                self._affected.update(dict.fromkeys(self._holders.remove(each.key, pod.place, uid)))
            if place:
                self._affected.update(dict.fromkeys(self._holders.add(each.key, place, uid)))
            places = (each for each in (pod.place, place) if each)
            self._changed_nodes.update(each for each in places if several or self._attached.has_any(each))
        pod.place = place
        self._affected[uid] = None
        self._mark_rivals(pod)

    def remove_pod(self, uid: str) -> None:
        """Remove a pod, with or without claims, that was deleted or has ended."""
        if uid not in self._pods:
            return
        self.bindings.abandon(uid)
        self.move_pod(uid, "")
        pod = self._pods.pop(uid)
        for each in pod.claims:
            several = self._users.has_several(each.key)
            self._users.remove(each.key, uid)
            if several and not self._users.has_several(each.key):
                self._sharing_changed(each.key)
        self._mark_rivals(pod)
        self._affected.pop(uid, None)

    def resolution(self, uid: str) -> Resolution:
        """Return what a pod needs, or waits for, because of its claims."""
        pod = self._pods.get(uid)
        return pod.resolution if pod is not None else NOTHING

    @property
    def has_news(self) -> bool:
        """Whether one of the methods whose names begin with ``take_`` may have results to return."""
        changed = self._affected or self._changed_nodes or self._available.has_changed
        return bool(changed) or self.bindings.has_news

    def take_affected(self) -> list[tuple[str, Resolution]]:
        """Return the pods whose needs, or reasons to wait, have changed because of claims, with their new resolutions.

        Pods whose claims are being bound are left out.
        """
        found: dict[str, Resolution] = {}
        while self._affected:  # Resolving one pod may affect other pods.
            affected, self._affected = self._affected, {}
            for uid in affected:
                pod = self._pods.get(uid)
                if pod is None or uid in self.bindings:
                    continue
                with self._quarantine.attempt("claims of pods", uid, name=pod.name):
                    resolution = self._resolve(uid, pod)
                    if resolution != pod.resolution:
                        pod.resolution = found[uid] = resolution
        return list(found.items())

    def take_offers(self) -> dict[str, dict[str, int]]:
        """Return, by machine, the offers for volumes (amount by resource) that may have changed since the last call."""
        changed = self._changed_nodes | self._available.take_changed()
        self._changed_nodes = set()
        found = {}
        for name in sorted(changed):
            with self._quarantine.attempt("volumes of nodes", name):
                found[name] = self.offers(name)
        return found

    def list_attached(self, node: str) -> tuple[str, ...]:
        """Return the names of a machine's attached volumes that classes of waiting pods may name."""
        return self._attached.list_named(node)

    def count_already_attached(self, uid: str) -> Counter[str]:
        """Return, by resource, how many attachments a placed pod need not request on its node; see ``not_needed``."""
        pod = self._pods.get(uid)
        return self._attached.not_needed(pod.place, {each.key for each in pod.claims}) if pod else Counter()

    def offers(self, node: str) -> dict[str, int]:
        """Return, by resource, how many attachments of each driver, and available volumes, a machine offers."""
        left = self._attached.count_unknown(node)
        limits = {name: max(0, amount - left[name]) for name, amount in self._limits.amounts(node)}
        return limits | dict(self._available.amounts(node))

    # --- binding claims ------------------------------------------------------------------------------------

    def begin(self, uid: str, node: str, now: float) -> str:
        """Start to bind the claims of a pod that has a node now; return why that is impossible, "" if it is possible.

        The pod is in ``bindings`` while its claims are being bound; ``take_settled`` returns the outcome.
        """
        pod = self._pods.get(uid)
        if pod is None:
            return ""
        if any(rival.place for _, rival in self._rivals(uid, pod)):
            # One round has placed two pods that need the same claim, before either placement was known.
            return TAKEN.refused
        unbound = pod.resolution.unbound
        return self.bindings.begin(uid, node, unbound, now) if unbound else ""

    def abandon(self, uid: str) -> None:
        """Give up the bindings of a pod that will not be bound any more."""
        self.bindings.abandon(uid)
        self._affected[uid] = None

    def take_settled(self) -> dict[str, str]:
        """Return the bindings that have ended since the last call, by uid of the pod: "" for success, else why not."""
        settled = self.bindings.take_settled()
        self._affected.update(dict.fromkeys(settled))
        return settled

    # --- private steps -------------------------------------------------------------------------------------

    def _sharing_changed(self, key: str) -> None:
        """Mark the pods and machines of a claim that has gained or lost its second user, or has another volume."""
        users = self._users.list_users(key)
        self._affected.update(dict.fromkeys(users))
        self._changed_nodes |= self._attached.nodes_of(key)
        self._changed_nodes.update(pod.place for uid in users if (pod := self._pods.get(uid)) and pod.place)

    def _claim_changed(self, key: str) -> None:
        self._sharing_changed(key)
        self.bindings.claim_changed(key)

    def _mark_rivals(self, pod: _Pod) -> None:
        """Mark all users of a pod's claims for one pod at a time, because another user may get the claim now."""
        for each in pod.claims:
            claim = self._storage.claim(each.key)
            if claim is not None and claim.exclusive:
                self._affected.update(dict.fromkeys(self._users.list_users(each.key)))

    def _resolve(self, uid: str, pod: _Pod) -> Resolution:
        rivals = self._rivals(uid, pod)
        if not pod.place:
            found = find_obstacle(self._storage, uid, pod.name, pod.claims)
            if found is not None:
                return found
            if leaves_claims(pod, rivals):
                return TAKEN
        resolution = needs_of(
            self._storage,
            pod.claims,
            lambda key: not pod.place or self._holders.holds(key, pod.place, uid),
            self._limits.counts,
            self._attached.volume_of,
            lambda key: not pod.place and (self._users.has_several(key) or self._attached.is_left(key)),
            self._want_and_list_implied,
        )
        if not pod.place:
            resolution = require_volumes(self._storage, pod.claims, resolution)
        contested = list_contested(pod, rivals)
        if contested:
            resolution = add_sole_claims(resolution, contested, node_of_holders(pod, rivals))
        if resolution.unbound:
            return resolution
        return self._interned.setdefault(resolution, resolution)

    def _want_and_list_implied(self, profile: Profile) -> list[Profile]:
        """Return the wanted profiles whose volumes a claim of this ``profile`` may take, including its own.

        The profile is wanted from now on. If it is new, pods whose profiles imply it are marked as affected.
        """
        if self._available.want(profile):
            concerned = (
                uid
                for uid, pod in self._pods.items()
                if any(implies(each, profile) for each in pod.resolution.profiles)
            )
            self._affected.update(dict.fromkeys(concerned))
        return self._available.list_implied(profile)

    def _rivals(self, uid: str, pod: _Pod) -> list[tuple[str, User]]:
        """Return the other users of a pod's claims that are for one pod at a time, each user with the claim."""
        keys = [
            key
            for key in dict.fromkeys(each.key for each in pod.claims)
            if (claim := self._storage.claim(key)) is not None and claim.exclusive
        ]
        return [
            (key, self._pods[other]) for key in keys for other in self._users.list_users(key) if other != uid
        ]
