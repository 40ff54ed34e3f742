"""Keeps device claims and the pods that use them, writes claims of placed pods, and makes records for the solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from poseidon.devices.binding_conditions import find_failed_device, has_conditions, is_ready
from poseidon.devices.claim_writes import ClaimWrites
from poseidon.devices.claims import (
    NO_CLAIMS,
    Device,
    DeviceResolution,
    PodDeviceClaim,
    device_of,
    list_own_needs,
    list_results,
    resolve,
)
from poseidon.devices.device_use import DeviceUse
from poseidon.devices.known_claims import KnownClaims
from poseidon.devices.known_pods import ClaimUsers, KnownPod, PlacedPod
from poseidon.devices.options import DeviceOptions
from poseidon.devices.records import encode_claim
from poseidon.kube.api.devices import Json, ResourceClaim
from poseidon.kube.api.metadata import PodRef, format_time
from poseidon.kube.api.resource import Change
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, WriteEnd


class DeviceState:
    """All device claims, and the pods that name them. ``wall`` returns seconds since the epoch, ``clock`` is monotonic.

    ``holds_back(key, allocation)`` returns whether the write of a claim with these devices must wait for
    ``try_blocked``.

    A pod's needs follow its claims, except while the pod is placed, because the placement itself changes them.
    """

    def __init__(self, options: DeviceOptions, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._options = options
        self._clock, self._wall = clock, wall
        self._claims = KnownClaims()
        self._pods: dict[str, KnownPod] = {}
        self._users = ClaimUsers()
        self._placements: dict[str, PlacedPod] = {}
        self._use = DeviceUse()
        self._writes = ClaimWrites(self._claims.get, self._claims.find_report)
        self._changed: dict[str, None] = {}
        self._affected: dict[str, None] = {}
        self._settled: dict[str, str] = {}
        self._blocked: dict[str, None] = {}
        self.holds_back: Callable[[str, Json], bool] = lambda _key, _allocation: False

    def __contains__(self, uid: str) -> bool:
        """Return whether claims are being written for a pod."""
        return uid in self._placements

    @property
    def has_news(self) -> bool:
        """Whether one of the methods whose names begin with ``take_`` has results to return."""
        return bool(self._changed or self._affected or self._settled or self._writes.has_news)

    # --- changes of claims and pods ------------------------------------------------------------------------

    def claims_changed(self, changes: Sequence[Change[ResourceClaim]]) -> None:
        """Store changed ResourceClaims, and check the pods that each change concerns."""
        for change in changes:
            if change.object is None:
                key = self._claims.remove(change.uid)
            else:
                key = self._claims.put(change.uid, change.object)
            if key:
                self._claim_changed(key)

    def expect_claim(self, key: str, claim: ResourceClaim, report: tuple[str, Json]) -> None:
        """Store a claim that will be created once it gets devices; ``report`` is then written to its pod."""
        if self._claims.expect(key, claim, report):
            self._claim_changed(key)

    def forget_claim(self, key: str) -> None:
        """Stop expecting a claim."""
        if self._claims.forget(key):
            self._claim_changed(key)

    def list_claims(self) -> tuple[ResourceClaim, ...]:
        """Return all claims."""
        return tuple(each.found for each in self._claims)

    def put_pod(
        self, uid: str, name: str, claims: tuple[PodDeviceClaim, ...], place: str
    ) -> DeviceResolution:
        """Add or update a pod; return what it needs or waits for. ``place``: the pod's node, "" for none.

        A pod that is first seen with a node needs only the claims that were made for it.
        """
        known = self._pods.get(uid)
        if known is not None and known.claims == claims and known.place == place:
            if not place:
                known.resolution = self._resolve(uid, name, claims)
            return known.resolution
        self._forget_users(uid)
        if place:
            resolution = known.resolution if known else list_own_needs(uid, name, claims, self._claims.get)
        else:
            resolution = self._resolve(uid, name, claims)
        self._pods[uid] = KnownPod(name, claims, place, resolution)
        self._changed.update(dict.fromkeys(self._users.add(uid, claims)))
        return resolution

    def remove_pod(self, uid: str) -> None:
        """Remove a deleted pod, and end its reservations under way; a controller removes the written ones."""
        self._abandon(uid)
        self._forget_users(uid)
        self._pods.pop(uid, None)
        self._affected.pop(uid, None)
        self._settled.pop(uid, None)

    def move_pod(self, uid: str, place: str) -> None:
        """Set a pod's node, "" for none; a pod that has lost its node releases claims that are being written."""
        pod = self._pods.get(uid)
        if pod is None:
            return
        pod.place = place
        for each in pod.claims:
            if each.key:
                self._changed[each.key] = None
        if not place:
            self._abandon(uid)
            self._affected[uid] = None

    def resolution(self, uid: str) -> DeviceResolution:
        """Return what a pod needs, or waits for, because of its claims."""
        pod = self._pods.get(uid)
        return pod.resolution if pod is not None else NO_CLAIMS

    def list_devices(self, uid: str) -> Iterator[tuple[str, Device]]:
        """Yield the devices that are reserved for a pod, each with the pod's name for the claim."""
        pod = self._pods.get(uid)
        for each in pod.claims if pod is not None else ():
            claim = self._claims.get(each.key)
            if claim is not None and uid in claim.reserved:
                for result in list_results(claim.found.status.allocation or {}):
                    yield each.name, device_of(result)

    # --- placements ----------------------------------------------------------------------------------------

    def assume(self, pod: PodRef, allocations: Mapping[str, Json], after: Iterable[str] = ()) -> str:
        """Mark the devices that a round gives to a pod as used; return why that is impossible, "" if it is not.

        ``allocations`` are by the pod's names for its claims. ``after``: uids of pods that leave first; the pod may get
        devices that only these use.
        """
        known = self._pods.get(pod.uid)
        if known is None:
            return ""
        keys = dict.fromkeys(each.key for each in known.claims if each.key)
        placement = self._placements[pod.uid] = PlacedPod(pod, set(keys), after=frozenset(after))
        for each in known.claims:
            problem = self._count_on(placement, each, allocations.get(each.name))
            if problem:
                self._abandon(pod.uid)
                return problem
        return ""

    def begin(self, uid: str) -> None:
        """Start to write the claims of a placed pod; ``take_settled`` returns the outcome later."""
        placement = self._placements.get(uid)
        if placement is None:
            return
        now = self._clock()
        placement.deadline = now + self._options.bind_timeout
        for key in sorted(placement.missing):
            self._reserve(uid, placement, key)
        if not placement.missing:
            self._look_at_drivers(uid, placement)

    def note_written(self, end: WriteEnd) -> None:
        """Record the outcome of a write."""
        if end.claim is not None and end.write.key in self._claims:
            self._claims.put(end.claim.metadata.uid, end.claim)
        self._writes.note_ended(end, self._clock())
        self._note_use(end.write.key)

    def note_not_posted(self, uid: str) -> None:
        """Release the claims of a pod that will certainly not be bound although its claims were written."""
        pod = self._pods.get(uid)
        if pod is not None:
            self._leave(uid, [each.key for each in pod.claims if each.key])

    def note_unplaced(self, uid: str) -> bool:
        """Release devices held only by pods without a node, because one of these pods (``uid``) has found no node.

        Otherwise, waiting pods could block one another with devices that none of them uses. If claims are reserved
        only for waiting pods, their reservation for this pod ends. Claims that are reserved for no pod lose their
        devices, as in kube-scheduler. The result says whether any devices or reservations are released.
        """
        pod = self._pods.get(uid)
        if pod is None or pod.place:
            return False
        held = [found for each in pod.claims if (found := self._claims.get(each.key)) and found.allocation]
        left = [each.key for each in held if each.reserved and self._all_wait(each.reserved)]
        self._leave(uid, left)
        freed = [each.key for each in held if not each.reserved and self._all_wait(self._users.get(each.key))]
        for key in freed:
            self._writes.free(key, self._clock())
            self._note_use(key)
        return bool(left or freed)

    def expire(self) -> None:
        """Give up placements that have taken too long, and repeat failed writes that are due."""
        now = self._clock()
        for key in self._writes.expire(now):
            self._note_use(key)
        self.try_blocked()
        for uid, each in list(self._placements.items()):
            if each.deadline is not None and each.deadline <= now:
                late = "device binding timeout" if each.waiting else "claims were not written in time"
                self._settle(uid, late)

    # --- effects of changes --------------------------------------------------------------------------------

    def take_settled(self) -> dict[str, str]:
        """Return the placed pods whose claims are settled since the last call, by uid.

        The value is "" if all claims are reserved and ready, else the reason why not.
        """
        for uid, key, reason in self._writes.take_ended():
            placement = self._placements.get(uid)
            if placement is None:
                continue
            if reason:
                self._settle(uid, reason)
            else:
                placement.missing.discard(key)
                placement.waiting.add(key)
                self._look_at_drivers(uid, placement)
        settled, self._settled = self._settled, {}
        return settled

    def take_writes(self) -> list[DeviceClaimWrite]:
        """Return the writes to claims that have become necessary since the last call."""
        return self._writes.take_writes()

    def take_affected(self) -> Iterator[tuple[str, DeviceResolution]]:
        """Yield the pods without a node whose needs, or reason to wait, have changed since the last call."""
        affected, self._affected = self._affected, {}
        for uid in affected:
            pod = self._pods.get(uid)
            if pod is None or pod.place:
                continue
            resolution = self._resolve(uid, pod.name, pod.claims)
            if resolution != pod.resolution:
                pod.resolution = resolution
                yield uid, resolution

    def take_records(self) -> Iterator[tuple[str, bytes | None]]:
        """Yield key and payload (None: removed) of each claim record that may have changed since the last call."""
        changed, self._changed = self._changed, {}
        for key in changed:
            claim = self._claims.get(key)
            progress = self._writes.get(key)
            under_way = progress.allocation if progress is not None else None
            if claim is None or not (claim.allocation or under_way is not None or self._users.get(key)):
                yield key, None
                continue
            reserved = dict.fromkeys(claim.reserved)
            if progress is not None:
                reserved.update(dict.fromkeys((*progress.allocations, *progress.joining)))
            in_use = [uid for uid in reserved if (pod := self._pods.get(uid)) and pod.place]
            yield key, encode_claim(claim, under_way, reserved, in_use)

    # --- private steps -------------------------------------------------------------------------------------

    def _resolve(self, uid: str, name: str, claims: tuple[PodDeviceClaim, ...]) -> DeviceResolution:
        found = resolve(uid, name, claims, self._claims.get)
        for each in claims:
            progress = self._writes.get(each.key)
            if progress is not None and not found.waits and progress.is_unknown_to(uid):
                claim = each.key.partition("/")[2]
                return DeviceResolution(waits=f'resourceclaim "{claim}" is being deallocated')
        return found

    def _claim_changed(self, key: str) -> None:
        self._writes.advance(key, self._clock())
        self._note_use(key)
        for uid in self._users.get(key):
            placement = self._placements.get(uid)
            if placement is not None and key in placement.waiting:
                self._look_at_drivers(uid, placement)

    def _note_use(self, key: str) -> None:
        """Update which devices a claim has or will get; mark the claim's pods and its record as changed."""
        self._changed[key] = None
        self._affected.update(dict.fromkeys(self._users.get(key)))
        claim, progress = self._claims.get(key), self._writes.get(key)
        allocation = claim.found.status.allocation if claim is not None else None
        if allocation is None and progress is not None:
            allocation = progress.allocation
        self._use.put(key, allocation)
        if self._blocked:
            self.try_blocked()

    def _count_on(self, placement: PlacedPod, named: PodDeviceClaim, allocation: Json | None) -> str:
        claim = self._claims.get(named.key)
        if claim is None:
            return f'resourceclaim "{named.key.partition("/")[2]}" not found'
        if claim.allocation:
            return ""
        progress = self._writes.get(named.key)
        if allocation is None:
            under_way = progress.allocation if progress is not None else None
            if under_way is None:
                return f'no devices were chosen for resourceclaim "{claim.name}"'
            allocation = under_way
        makes_way = partial(self._makes_way, after=placement.after)
        if problem := self._use.find_conflict(named.key, allocation, makes_way):
            return problem
        if has_conditions(allocation):
            allocation = {**allocation, "allocationTimestamp": format_time(self._wall())}
        self._writes.count_on(named.key, placement.pod.uid, allocation)
        self._note_use(named.key)
        return ""

    def _makes_way(self, key: str, after: frozenset[str]) -> bool:
        """Return whether a claim has users, and all of them are in ``after``, so that they leave first."""
        claim, progress = self._claims.get(key), self._writes.get(key)
        users = {*(claim.reserved if claim else ()), *(progress.joining if progress else ())}
        return bool(users) and users <= after

    def _reserve(self, uid: str, placement: PlacedPod, key: str) -> None:
        """Reserve a claim for a pod, or mark it as blocked if another claim has its devices or must come first."""
        progress = self._writes.get(key)
        allocation = progress.allocation if progress is not None else None
        taken = placement.after and allocation and self._use.find_conflict(key, allocation)
        if taken or (allocation and self.holds_back(key, allocation)):
            placement.blocked.add(key)
            self._blocked[uid] = None
            return
        placement.blocked.discard(key)
        self._writes.reserve(key, placement.pod, self._clock())
        self._changed[key] = None

    def try_blocked(self) -> None:
        """Try again to reserve the claims whose reservation was blocked."""
        blocked, self._blocked = self._blocked, {}
        for uid in blocked:
            placement = self._placements.get(uid)
            for key in sorted(placement.blocked) if placement is not None else ():
                self._reserve(uid, self._placements[uid], key)

    def _look_at_drivers(self, uid: str, placement: PlacedPod) -> None:
        """End a placement whose claims are all reserved, if drivers have reported success or a failure."""
        for key in sorted(placement.waiting):
            claim = self._claims.get(key)
            if claim is None or not claim.allocation:
                self._settle(uid, f'resourceclaim "{key.partition("/")[2]}" has lost its devices')
                return
            failed = find_failed_device(claim)
            if failed:
                self._settle(uid, failed)
                return
            if is_ready(claim):
                placement.waiting.discard(key)
        if not placement.missing and not placement.waiting and placement.deadline is not None:
            self._settle(uid, "")

    def _settle(self, uid: str, reason: str) -> None:
        """Record a placement's outcome; a failed placement (``reason``) is known until the pod has lost its node."""
        self._settled[uid] = reason
        if not reason:
            placement = self._placements.pop(uid)
            pod = self._pods.get(uid)
            for each in pod.claims if pod is not None else ():
                self._writes.forget(each.key, placement.pod.uid)
        else:
            self._placements[uid].deadline = None

    def _abandon(self, uid: str) -> None:
        """End the placement of a pod, and release its claims."""
        placement, pod = self._placements.pop(uid, None), self._pods.get(uid)
        if placement is not None and pod is not None:
            self._settled.pop(uid, None)
            self._leave(uid, [each.key for each in pod.claims if each.key])

    def _leave(self, uid: str, keys: Iterable[str]) -> None:
        now = self._clock()
        for key in dict.fromkeys(keys):
            self._writes.give_back(key, uid, now)
            self._note_use(key)

    def _all_wait(self, uids: Iterable[str]) -> bool:
        found = ((self._pods.get(uid), uid in self._placements) for uid in uids)
        return all(pod is not None and not pod.place and not placed for pod, placed in found)

    def _forget_users(self, uid: str) -> None:
        pod = self._pods.get(uid)
        if pod is not None:
            self._changed.update(dict.fromkeys(self._users.remove(uid, pod.claims)))
