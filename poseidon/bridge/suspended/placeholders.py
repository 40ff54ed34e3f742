"""Keeps placeholders: tasks that stand for the pods that a suspended object would have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from poseidon.bridge.suspended.limit_ranges import LimitRanges
from poseidon.bridge.suspended.workloads import Workload, expand, reduce_spec
from poseidon.kube.api.decoding import MalformedObjectError
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.actions import Evict
from poseidon.lifecycle.pod_records import PodRecords
from poseidon.manifests.workloads.common.fields import NotKnownError
from poseidon.pods.tasks import scheduler_of
from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.owners import OwnerKey


class AdmissionStage(Enum):
    """Stages of the admission of an object that is in a queue."""

    WAITING = "waiting for places"
    RESUMING = "being resumed"
    RUNNING = "resumed"
    """An object that was never suspended also has this stage.

    Placeholders hold the places of pods that do not exist yet.
    """
    SUSPENDING = "being suspended"


class PodTaker(Protocol):
    """A function that receives changes of pods."""

    def __call__(self, changes: Sequence[Change[Pod]]) -> None:
        """Take pods as they are now."""


@dataclass(slots=True)
class WorkloadAdmission:
    """The admission of an object in a queue that this program may resume and suspend."""

    found: Workload
    """The object as the watch last showed it, or as this program has written it since then."""
    stage: AdmissionStage
    """The present stage."""
    since: float
    """The time when the present stage began, in seconds of the monotonic clock."""
    written: int = -1
    """The object's generation for which the latest write was made.

    Once the write has succeeded, objects of this generation are out of date.
    """
    overtaken: bool = False
    """Whether the latest write failed because the object had changed."""
    pods: dict[str, Pod] = field(default_factory=dict)
    """The object's placeholders by uid."""
    taken: set[str] = field(default_factory=set)
    """The uids of the object's pods that took the places of placeholders."""
    evicts: list[Evict] = field(default_factory=list)
    """The requested evictions of the object's pods, which suspending the object replaces."""
    pause: float = 0.0
    """The length of the object's last pause in seconds; the object pauses if its pods were not created."""
    not_before: float = float("-inf")
    """The time from which the object may wait for places again, in seconds of the monotonic clock."""
    said: str = ""
    """The last event about the object, without counts."""
    unsaid_reason: str = ""
    """Why the object waits, if no event has stated this reason yet."""
    limits: int = -1
    """The version of the namespace's LimitRanges when the placeholders were last made."""
    idle: bool = False
    """Whether the object gets no placeholders until it changes: another scheduler places its pods, or it is faulty."""

    @property
    def stage_written(self) -> AdmissionStage:
        """The object's stage in the API server if the last write has not been carried out."""
        before = {
            AdmissionStage.RESUMING: AdmissionStage.WAITING,
            AdmissionStage.SUSPENDING: AdmissionStage.RUNNING,
        }
        return before.get(self.stage, self.stage)

    @property
    def key(self) -> OwnerKey:
        """The object as an owner of pods."""
        ref = self.found.ref
        return OwnerKey(ref.namespace, ref.kind, ref.name)


class Placeholders:
    """All placeholders: tasks that stand for the pods of suspended objects.

    ``take_pods`` receives placeholders as pods; ``is_ours`` returns whether this program places the pods that name a
    scheduler. ``take_pods`` and ``is_ours`` must be set before the first placeholder. ``queues`` knows which pods each
    owner has.
    """

    def __init__(self, tasks: PodRecords, queues: KnownQueues) -> None:
        self._tasks = tasks
        self._queues = queues
        self.take_pods: PodTaker = _take_none
        self.is_ours: Callable[[str], bool] = bool
        self.limit_ranges = LimitRanges()
        self._owners: dict[str, str] = {}
        self._attempts = 0

    def __len__(self) -> int:
        return len(self._owners)

    def find_owner(self, uid: str) -> str:
        """Return the uid of the object whose pod a placeholder stands for, "" if ``uid`` is no placeholder."""
        return self._owners.get(uid, "")

    def add(self, entry: WorkloadAdmission, count: int) -> str:
        """Create ``count`` placeholders for pods of an object; return why that is impossible, "" if it is possible."""
        if entry.idle or count <= 0:
            return ""
        self._attempts += 1
        entry.limits = self.limit_ranges.find_version(entry.key.namespace)
        try:
            pods, problem = self.limit_ranges.complete(expand(entry.found, self._attempts)[:count])
        except (MalformedObjectError, NotKnownError, RecursionError) as error:
            entry.idle = True
            return str(error)
        if not all(self.is_ours(scheduler_of(pod)) for pod in pods):
            entry.idle = True
            return ""
        if problem:
            entry.idle = True
            return problem
        entry.pods.update((pod.metadata.uid, pod) for pod in pods)
        self._owners.update((pod.metadata.uid, entry.found.ref.uid) for pod in pods)
        self.take_pods([Change(pod.metadata.uid, pod) for pod in pods])
        return ""

    def renew(self, entry: WorkloadAdmission) -> None:
        """Drop an object's placeholders, to be made anew, if the LimitRanges that apply to them have changed."""
        if entry.limits not in (-1, self.limit_ranges.find_version(entry.key.namespace)):
            entry.idle, entry.limits = False, -1
            self.drop_placeholders(entry)

    def drop_placeholders(self, entry: WorkloadAdmission, count: int | None = None) -> None:
        """Drop ``count`` placeholders of an object (None: all); placeholders without places go first."""
        self.drop_by_uid(entry, sorted(entry.pods, key=self._has_place)[:count])

    def drop_by_uid(self, entry: WorkloadAdmission, uids: Sequence[str]) -> None:
        """Drop the placeholders with these uids."""
        for uid in uids:
            del entry.pods[uid]
            del self._owners[uid]
        if uids:
            self.take_pods([Change(uid, None) for uid in uids])

    def choose_placeholder(self, entry: WorkloadAdmission, pod: Pod) -> str:
        """Return the uid of the placeholder that best matches a pod's spec and labels, "" if none does."""
        spec, labels = reduce_spec(pod.spec), pod.metadata.labels.items()
        # All placeholders of one template share its spec, so few specs have to be compared.
        specs = {id(each.spec): each.spec for each in entry.pods.values()}
        alike = {key: reduce_spec(each) == spec for key, each in specs.items()}

        def rank(uid: str) -> tuple[bool, bool, bool]:
            stands = entry.pods[uid]
            return (
                alike[id(stands.spec)],
                stands.metadata.labels.items() <= labels,
                self._has_place(uid),
            )

        found = max(entry.pods, key=rank)
        return found if any(rank(found)[:2]) else ""

    def list_pods(self, entry: WorkloadAdmission) -> list[str]:
        """Return the uids of an object's real pods."""
        return [uid for uid in self._queues.list_owned(entry.key) if uid not in entry.pods]

    def _has_place(self, uid: str) -> bool:
        record = self._tasks.get(uid)
        return record is not None and bool(record.place)


def _take_none(changes: Sequence[Change[Pod]]) -> None:
    """Take no pods: ``connect`` has not been called yet."""
