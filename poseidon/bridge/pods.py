"""What pods, and the priority classes that they name, come to: records, jobs, groups, and why some wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from poseidon.bridge.records import PodRecord
from poseidon.translate import pod as pod_translation
from poseidon.translate.pod import Disposition
from poseidon.translate.priority import PriorityResolver, UnknownPriorityClassError

if TYPE_CHECKING:
    from poseidon.bridge.books import Books
    from poseidon.kube.following import Change
    from poseidon.kube.objects import Pod, PriorityClass

ANY_SCHEDULER = "*"
RUNNING = "Running"
"""The phase of a pod that has a container which runs, or did."""


class Pods:
    """Takes pods as they are now and brings ``books`` up to date.

    ``ours`` are the values of ``spec.schedulerName`` that are for this scheduler to place ("*": all). ``clock`` is
    monotonic.
    """

    def __init__(self, ours: frozenset[str], books: Books, clock: Callable[[], float]) -> None:
        self._ours = ours
        self._books = books
        self._clock = clock
        self._priorities = PriorityResolver()
        self._priority_names: dict[str, str] = {}
        self._unranked: dict[str, Pod] = {}

    def take(self, changes: Sequence[Change[Pod]]) -> None:
        """Take pods as they are now."""
        books = self._books
        for change in changes:
            if change.object is not None:
                self._changed(change.uid, change.object)
                if books.applications is not None:
                    books.applications.pod_changed(change.uid, change.object)
                continue
            books.history.gone(change.uid)
            books.refused.gone(change.uid)
            books.gangs.pod_gone(change.uid)
            self._ended(change.uid)
            if books.applications is not None:
                books.applications.pod_gone(change.uid)
        self._settle()

    def take_priority_classes(self, changes: Sequence[Change[PriorityClass]]) -> None:
        """Take priority classes as they are now. They count for pods seen from here on, as in admission."""
        for change in changes:
            if change.object is not None:
                self._priority_names[change.uid] = change.object.metadata.name
                self._priorities.upsert(change.object)
            else:
                name = self._priority_names.pop(change.uid, "")
                if name not in self._priority_names.values():
                    self._priorities.remove(name)
        for uid, pod in list(self._unranked.items()):
            self._changed(uid, pod)
        self._settle()

    def _settle(self) -> None:
        self._books.storage.apply()
        self._books.gangs.apply()

    def _changed(self, uid: str, pod: Pod) -> None:
        books = self._books
        disposition = pod_translation.disposition(pod)
        known = books.tasks.get(uid)
        ours = ANY_SCHEDULER in self._ours or pod_translation.scheduler_of(pod) in self._ours
        if ours:
            books.gangs.pod_changed(uid, pod)
        schedulable = ours and disposition is Disposition.PENDING
        placed = disposition is Disposition.BOUND or (known is not None and bool(known.place))
        if disposition is Disposition.FINISHED or not (placed or schedulable):
            # Not for us, or not now. One that is being bound stays until the outcome is known.
            if disposition is Disposition.FINISHED:
                books.history.finished(uid, pod)
                if ours:
                    books.refused.finished(uid, pod, known)
            self._ended(uid)
            return
        task = pod_translation.task(pod, books.classes, self._priorities)
        if not ours:
            # Nothing is decided about pods of other schedulers, so their jobs do not matter.
            task = replace(task, job="")
        place = pod.spec.node_name or (known.place if known is not None else "")
        task, claims_wait = books.storage.translated(pod, task, place)
        task, group_wait = books.gangs.translated(task) if ours else (task, "")
        record = PodRecord(task, schedulable) if known is None else known
        record.claims_wait, record.group_wait = claims_wait, group_wait
        record.priority_wait = self._priority_wait(uid, pod) if ours else ""
        record.schedulable = schedulable
        record.ran = record.ran or pod.status.phase == RUNNING
        record.leaving = disposition is Disposition.BOUND and pod.metadata.deletion_timestamp is not None
        if known is None:
            self._add(pod, record)
        else:
            self._update(pod, record, task)
        books.storage.announce(record)

    def _add(self, pod: Pod, record: PodRecord) -> None:
        record.node = pod.spec.node_name
        record.message = _reported_reason(pod)
        record.announced_at = self._clock()
        record.nominated = pod.status.nominated_node_name
        self._join(pod, record)
        self._books.tasks.add(record)

    def _update(self, pod: Pod, record: PodRecord, task: pod_translation.Task) -> None:
        if task != record.task:
            self._books.jobs.leave(record.task.job)
            record.task = task
            self._join(pod, record)
        if pod.spec.node_name:
            self._books.tasks.move(record, node=pod.spec.node_name)
        else:
            # A pod never loses its node: an event that shows none is older than the binding.
            self._books.tasks.mark(task.uid)

    def _join(self, pod: Pod, record: PodRecord) -> None:
        jobs, job_id = self._books.jobs, record.task.job
        if not job_id:
            return
        group_job = self._books.gangs.job(record.task.uid)
        if group_job is not None:
            jobs.join(group_job)
            # Others of the same owner may have been met before.
            jobs.replace(group_job)
        elif not jobs.join_known(job_id):
            job = pod_translation.job(pod.metadata)
            if job is not None:
                jobs.join(job)

    def _priority_wait(self, uid: str, pod: Pod) -> str:
        """Return why a pod's importance is not known yet, or ""."""
        try:
            self._priorities.priority(pod.spec)
        except UnknownPriorityClassError as error:
            self._unranked[uid] = pod
            return f"spec.priorityClassName: {error}; create it, or create the pod again with another one"
        self._unranked.pop(uid, None)
        return ""

    def _ended(self, uid: str) -> None:
        record = self._books.tasks.remove(uid)
        self._unranked.pop(uid, None)
        self._books.volumes.remove_pod(uid)
        if record is not None:
            self._books.jobs.leave(record.task.job)
            self._books.placements.ended(uid)


def _reported_reason(pod: Pod) -> str:
    """Return why the pod is unschedulable as its own condition says, so that a restart repeats nothing."""
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "False" or condition.reason != "Unschedulable":
        return ""
    return condition.message
