"""Decides what to write to each device claim: the pods for which it is reserved, and its devices.

Each claim has at most one write under way. The next write follows from the claim as the API server shows it, and from
the pods that join and leave it. The state of writes need therefore not be stored, and a lost answer does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from poseidon.devices.claims import DeviceClaim, list_devices
from poseidon.devices.sharing.virtual_claims import build_patch, is_virtual
from poseidon.kube.api.devices import Json
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite, WriteEnd

LOOK_AGAIN_SECONDS = 5.0
"""Seconds after which a failed write is tried again, if it is still necessary."""


@dataclass(slots=True)
class ClaimProgress:
    """The state of one claim: the pods that join and leave it, the devices that it will get, and its write."""

    allocations: dict[str, Json] = field(default_factory=dict)
    """By uid of a pod: the devices that the solver gave it, which must still be written into the claim."""
    joining: dict[str, PodRef] = field(default_factory=dict)
    """Pods for which the claim is to be reserved, by uid."""
    leaving: set[str] = field(default_factory=set)
    """Uids of pods whose reservations of the claim end."""
    freeing: bool = False
    """Whether the claim, which is reserved for no pod, must release its devices."""
    unsure: bool = False
    """Whether the last write failed without an answer, so that the claim must be read before the next write."""
    writing: DeviceClaimWrite | None = None
    """The write that is under way."""
    look_at: float | None = None
    """The time to try a failed write again, by the monotonic clock; None if no write has failed."""

    @property
    def allocation(self) -> Json | None:
        """The devices that the claim will get, None for none."""
        return next(iter(self.allocations.values()), None)

    def is_unknown_to(self, uid: str) -> bool:
        """Return whether a pod must not be placed yet, because the claim may lose its devices."""
        return self.unsure or self.freeing or uid in self.leaving

    @property
    def is_over(self) -> bool:
        """Whether no write to the claim, and no change of its reservations, is under way any more."""
        return not (self.allocations or self.joining or self.leaving or self.writing or self.freeing)


class ClaimWrites:
    """The next write of each ResourceClaim, and the outcomes of these writes.

    ``find`` returns a claim (``namespace/name``) as the API server shows it, None if unknown. ``find_report`` returns
    what must be written together with a claim: see ``DeviceClaimWrite.report``.
    """

    def __init__(
        self,
        find: Callable[[str], DeviceClaim | None],
        find_report: Callable[[str], tuple[str, Json] | None],
    ) -> None:
        self._find, self._find_report = find, find_report
        self._by_claim: dict[str, ClaimProgress] = {}
        self._writes: list[DeviceClaimWrite] = []
        self._ended: list[tuple[str, str, str]] = []

    def get(self, key: str) -> ClaimProgress | None:
        """Return the state of a claim's writes, None if none is under way."""
        return self._by_claim.get(key)

    @property
    def has_news(self) -> bool:
        """Whether ``take_writes`` or ``take_ended`` has results to return."""
        return bool(self._writes or self._ended)

    def take_writes(self) -> list[DeviceClaimWrite]:
        """Return the writes to carry out, each once."""
        writes, self._writes = self._writes, []
        return writes

    def take_ended(self) -> Iterator[tuple[str, str, str]]:
        """Yield each ended reservation once: pod, claim, and "" if the claim is reserved for the pod, else why not."""
        ended, self._ended = self._ended, []
        yield from ended

    def count_on(self, key: str, uid: str, allocation: Json) -> None:
        """Record the devices that a pod's claim will get."""
        self._begin(key).allocations[uid] = allocation

    def reserve(self, key: str, pod: PodRef, now: float) -> None:
        """Reserve a claim for a pod; the write follows."""
        progress = self._begin(key)
        progress.leaving.discard(pod.uid)
        progress.freeing = False
        progress.joining[pod.uid] = pod
        self.advance(key, now)

    def give_back(self, key: str, uid: str, now: float) -> None:
        """End the reservation of a claim for a pod, even if it is not written yet."""
        progress = self._begin(key)
        joined = progress.joining.pop(uid, None) is not None
        claim = self._find(key)
        if (joined and progress.writing is not None) or (claim is not None and uid in claim.reserved):
            # The pod's devices count as used until the API server shows that they are free.
            progress.leaving.add(uid)
        elif uid not in progress.leaving:
            progress.allocations.pop(uid, None)
        self.advance(key, now)

    def free(self, key: str, now: float) -> None:
        """Release the devices of a claim if it is reserved for no pod."""
        progress = self._begin(key)
        progress.freeing = not progress.joining
        self.advance(key, now)

    def forget(self, key: str, uid: str) -> None:
        """Remove a pod. Reservations that have been written stay."""
        progress = self._by_claim.get(key)
        if progress is not None:
            progress.allocations.pop(uid, None)
            progress.joining.pop(uid, None)
            self._drop_if_over(key, progress)

    def advance(self, key: str, now: float) -> None:
        """Compare a claim's wanted state with what the API server shows, and prepare its next write."""
        progress = self._by_claim.get(key)
        if progress is None:
            return
        claim = self._find(key)
        if claim is None:
            self._fail_all(key, progress, f'resourceclaim "{key.partition("/")[2]}" not found')
            progress.leaving.clear()
            progress.allocations.clear()
            progress.freeing = False
            self._drop_if_over(key, progress)
            return
        self._note_shown(key, progress, claim)
        if progress.writing is None:
            self._write_next(progress, claim, now)
        self._drop_if_over(key, progress)

    def note_ended(self, end: WriteEnd, now: float) -> None:
        """Record the outcome of a write, and prepare the next one."""
        key = end.write.key
        progress = self._by_claim.get(key)
        if progress is None or progress.writing is not end.write:
            return
        progress.writing = None
        progress.unsure = end.unsure
        if end.reason:
            for pod in end.write.join:
                if progress.joining.pop(pod.uid, None) is not None:
                    self._ended.append((pod.uid, key, end.reason))
                if end.unsure:
                    progress.leaving.add(pod.uid)
                elif pod.uid not in progress.leaving:
                    progress.allocations.pop(pod.uid, None)
            if not progress.joining:
                progress.look_at = now + LOOK_AGAIN_SECONDS
                self._drop_if_over(key, progress)
                return
        else:
            progress.look_at = None
        self.advance(key, now)

    def expire(self, now: float) -> list[str]:
        """Repeat the failed writes that are due; return the keys of their claims."""
        due = [
            key for key, each in self._by_claim.items() if each.look_at is not None and each.look_at <= now
        ]
        for key in due:
            progress = self._by_claim[key]
            progress.look_at = None
            self.advance(key, now)
        return due

    # --- private steps -------------------------------------------------------------------------------------

    def _begin(self, key: str) -> ClaimProgress:
        return self._by_claim.setdefault(key, ClaimProgress())

    def _drop_if_over(self, key: str, progress: ClaimProgress) -> None:
        if progress.is_over:
            self._by_claim.pop(key, None)

    def _fail_all(self, key: str, progress: ClaimProgress, reason: str) -> None:
        for uid in progress.joining:
            progress.allocations.pop(uid, None)
            self._ended.append((uid, key, reason))
        progress.joining.clear()

    def _note_shown(self, key: str, progress: ClaimProgress, claim: DeviceClaim) -> None:
        """Record which pods have joined and left a claim, by the claim that the API server shows."""
        if claim.allocation:
            devices = list_devices(claim.found.status.allocation or {})
            for uid in [uid for uid in progress.joining if self._has(progress, claim, uid)]:
                del progress.joining[uid]
                wanted = progress.allocations.pop(uid, None)
                others = wanted is not None and list_devices(wanted) != devices
                problem = f'resourceclaim "{claim.name}" has got other devices' if others else ""
                self._ended.append((uid, key, problem))
        if progress.writing is None:
            self._note_left(progress, claim)
        if claim.deleting and progress.joining:
            self._fail_all(key, progress, f'resourceclaim "{claim.name}" is being deleted')

    @staticmethod
    def _has(progress: ClaimProgress, claim: DeviceClaim, uid: str) -> bool:
        """Return whether a claim is reserved for a pod, and the write under way does not end the reservation."""
        if progress.unsure or (progress.writing is not None and uid in progress.writing.leave):
            return False
        return uid in claim.reserved

    @staticmethod
    def _note_left(progress: ClaimProgress, claim: DeviceClaim) -> None:
        """Record which pods have left a claim, unless a write without an answer makes the claim's state uncertain."""
        if progress.unsure:
            return
        progress.freeing = progress.freeing and bool(claim.allocation) and not claim.reserved
        for uid in progress.leaving.difference(claim.reserved):
            progress.allocations.pop(uid, None)
        progress.leaving.intersection_update(claim.reserved)

    def _write_next(self, progress: ClaimProgress, claim: DeviceClaim, now: float) -> None:
        join = tuple(pod for uid, pod in progress.joining.items() if not self._has(progress, claim, uid))
        leave = tuple(sorted(progress.leaving))
        if not join and not leave and not progress.freeing:
            return
        if progress.look_at is not None and progress.look_at > now and not join:
            return  # A failed write is tried again later.
        instead = partial(build_patch, claim.found) if is_virtual(claim.found) else None
        report = self._find_report(claim.key)
        write = DeviceClaimWrite(
            claim.found, progress.allocation, join, leave, progress.unsure, instead, report
        )
        progress.writing = write
        self._writes.append(write)
