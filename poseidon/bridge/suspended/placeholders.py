"""Placeholders: tasks that stand for the pods that suspended objects would have."""

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
from poseidon.queues.book import QueueBook
from poseidon.queues.owners import OwnerKey


class AdmissionStage(Enum):
    """How far the admission of an object in a queue has come."""

    WAITING = "waiting for places"
    RESUMING = "being resumed"
    RUNNING = "resumed"
    """Also if it has never been suspended. Placeholders hold the places of pods that have not come."""
    SUSPENDING = "being suspended"


class PodTaker(Protocol):
    """A function that receives changes of pods."""

    def __call__(self, changes: Sequence[Change[Pod]]) -> None:
        """Take pods as they are now."""


@dataclass(slots=True)
class WorkloadAdmission:
    """An object in a queue that may be resumed and suspended here."""

    found: Workload
    """The object as it was shown last, or as it has been written since."""
    stage: AdmissionStage
    """How far it has come."""
    since: float
    """When it came to its stage, by the monotonic clock."""
    written: int = -1
    """Generation of the spec that the latest write was about: when it is done, older ones are out of date."""
    overtaken: bool = False
    """Whether that write has failed because the object is another by now."""
    pods: dict[str, Pod] = field(default_factory=dict)
    """Its placeholders by uid."""
    taken: set[str] = field(default_factory=set)
    """Its pods that have come."""
    evicts: list[Evict] = field(default_factory=list)
    """Evictions of its pods, which the suspension stands for."""
    pause: float = 0.0
    """Seconds for which it paused last, because its pods did not come."""
    not_before: float = float("-inf")
    """When it may wait for places again, by the monotonic clock."""
    said: str = ""
    """The gist of the last event about it."""
    untold: str = ""
    """Why it waits, as long as no event has said so."""
    limits: int = -1
    """The version of the LimitRanges of its namespace when its pods were described last."""
    idle: bool = False
    """Whether its pods are not placed here, or it makes no sense, as long as it does not change."""

    @property
    def stage_written(self) -> AdmissionStage:
        """How far the object has come for the API server, if the last write to it has not been carried out."""
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
    """All placeholders: pods that stand for those of suspended objects. ``take_pods`` receives them; ``is_ours``:
    whether this program places pods of a scheduler's name.

    Both must be set before there are some. ``queues`` knows which pods are below which owners.
    """

    def __init__(self, tasks: PodRecords, queues: QueueBook) -> None:
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
        """Return the uid of the object for whose pod a placeholder stands, "" for none."""
        return self._owners.get(uid, "")

    def add(self, entry: WorkloadAdmission, count: int) -> str:
        """Create placeholders for pods of an object; return why that makes no sense, "" if it does."""
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
        """Create placeholders again if the LimitRanges that apply to them have changed."""
        if entry.limits not in (-1, self.limit_ranges.find_version(entry.key.namespace)):
            entry.idle, entry.limits = False, -1
            self.drop_placeholders(entry)

    def drop_placeholders(self, entry: WorkloadAdmission, count: int | None = None) -> None:
        """Drop ``count`` placeholders, or all; first those without places."""
        self.drop_by_uid(entry, sorted(entry.pods, key=self._has_place)[:count])

    def drop_by_uid(self, entry: WorkloadAdmission, uids: Sequence[str]) -> None:
        """Drop these placeholders."""
        for uid in uids:
            del entry.pods[uid]
            del self._owners[uid]
        if uids:
            self.take_pods([Change(uid, None) for uid in uids])

    def choose_placeholder(self, entry: WorkloadAdmission, pod: Pod) -> str:
        """Return the placeholder that stands for a pod, "" for none: one made from its template, by spec or labels."""
        spec, labels = reduce_spec(pod.spec), pod.metadata.labels.items()
        # All placeholders of one template share its spec, so there are few specs to compare.
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
        """Return the pods of an object that need places, or have them."""
        return [uid for uid in self._queues.list_owned(entry.key) if uid not in entry.pods]

    def _has_place(self, uid: str) -> bool:
        record = self._tasks.get(uid)
        return record is not None and bool(record.place)


def _take_none(changes: Sequence[Change[Pod]]) -> None:
    """Take no pods: ``connect`` has not been called yet."""
