"""Translates watched pods and priority classes into records, jobs and groups, and notes why some pods wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from poseidon.bridge.stores import Stores
from poseidon.devices.claims import NO_CLAIMS, DeviceResolution, device_claims_of
from poseidon.devices.extended_resources import drop_resources
from poseidon.devices.shared_gpus import without_devices
from poseidon.kube.api.nodes import PriorityClass, Service
from poseidon.kube.api.pod_groups import ScaledOwner
from poseidon.kube.api.pods import Pod, attachable_of
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.kept_places import KeptPlaces
from poseidon.lifecycle.nominated_node_names import make_foreign_nomination
from poseidon.lifecycle.phases import Event, PodRecord
from poseidon.lifecycle.pod_records import read_reported_reason
from poseidon.pods import tasks as pod_translation
from poseidon.pods.daemon_sets import find_daemon_set
from poseidon.pods.priority_classes import UnknownPriorityClassError
from poseidon.pods.requests_and_limits import names_extended_resources
from poseidon.pods.tasks import Disposition, Task, reduce_pod
from poseidon.volumes.requirements import VolumeNeeds
from poseidon.volumes.resolution import NOTHING, Resolution

ANY_SCHEDULER = "*"
KIND = "pods"
RUNNING = "Running"
"""The phase of a pod of which a container runs or has run."""


class WatchedPods:
    """The receiver of changes of pods, which updates ``stores``.

    ``ours`` are the values of ``spec.schedulerName`` that this scheduler places ("*": all). ``clock`` is
    monotonic.
    """

    def __init__(self, ours: frozenset[str], stores: Stores, clock: Callable[[], float]) -> None:
        self._ours = ours
        self._stores = stores
        self._clock = clock
        self._priorities = stores.priorities
        stores.gangs.retake = self._take_again
        self._priority_names: dict[str, str] = {}
        self._unranked: dict[str, Pod] = {}
        self._unowned: dict[str, Pod] = {}
        self._without_owners: dict[str, Pod] = {}

    def take_changes(self, changes: Sequence[Change[Pod]]) -> None:
        """Update ``stores`` with changed pods."""
        for change in changes:
            if change.object is not None:
                self._update_pod(change.uid, change.object)
            else:
                self._forget(change.uid)
        self._settle()

    def is_ours(self, scheduler: str) -> bool:
        """Return whether this program places the pods that name this scheduler."""
        return ANY_SCHEDULER in self._ours or scheduler in self._ours

    def send_for_explanation(self, uid: str) -> None:
        """Send a pod to the solver although something keeps it from being placed, so that the solver can explain it.

        If the pod's claims wait for something, this counts as a fault of the pod, because of which it fits no node.
        """
        stores = self._stores
        record = stores.tasks.get(uid)
        reason = stores.volumes.resolution(uid).reason or stores.devices.resolution(uid).waits
        if record is None or record.place:
            return
        if reason:
            traits = stores.classes.set_needs(record.task.traits, VolumeNeeds(invalid=reason))
            record.task = replace(record.task, traits=traits)
        stores.tasks.hold(record, group="", queue="", claims="", devices="", priority="", fault="")

    def take_priority_classes(self, changes: Sequence[Change[PriorityClass]]) -> None:
        """Store changed PriorityClasses, which apply only to pods seen later, as in the API server's admission."""
        for change in changes:
            if change.object is not None:
                self._priority_names[change.uid] = change.object.metadata.name
                self._priorities.upsert(change.object)
            else:
                name = self._priority_names.pop(change.uid, "")
                if name not in self._priority_names.values():
                    self._priorities.remove(name)
        self._take_again(list(self._unranked.items()))
        self._stores.groups.priorities_changed()
        self._settle()

    def _take_again(self, pods: Iterable[tuple[str, Pod]]) -> None:
        for uid, pod in pods:
            self._update_pod(uid, pod)

    def take_daemon_sets(self, changes: Sequence[Change[ScaledOwner]]) -> None:
        """Store changed DaemonSets. Pods that came before their DaemonSet are then counted as pods of it."""
        known = self._stores.daemon_sets
        for change in changes:
            if change.object is not None:
                known.put(change.uid, change.object.metadata)
            else:
                known.remove(change.uid)
        for uid, pod in [each for each in self._unowned.items() if known.owns(each[1])]:
            self._update_pod(uid, pod)
        self._settle()

    def take_owned(self, uids: Iterable[str]) -> None:
        """Translate pods again whose owners have become known, because an owner decides the group of its pods."""
        self._take_again([(uid, self._without_owners[uid]) for uid in uids if uid in self._without_owners])
        self._settle()

    def take_again(self, pods: Sequence[tuple[str, Pod]]) -> None:
        """Translate these pods, given with their uids, again, because objects that affect the pods have changed."""
        self._take_again(pods)
        self._settle()

    def take_services(self, changes: Sequence[Change[Service]]) -> None:
        """Store changed Services, and update the pods that they spread."""
        tasks = self._stores.tasks
        for uid, spread in self._stores.spreading.take_services(changes).items():
            record = tasks.get(uid)
            if record is not None and record.task.spread != spread:
                record.task = replace(record.task, spread=spread)
                tasks.touch(uid)

    def _settle(self) -> None:
        if self._stores.volume_effects.in_use:
            self._stores.volume_effects.apply()
        if self._stores.device_effects.in_use:
            self._stores.device_effects.apply()
        if self._stores.groups.has_news:
            self._stores.gangs.apply()

    def _update_pod(self, uid: str, pod: Pod) -> None:
        """Update a pod. If that fails, the pod stays pending; a pod with a node still uses capacity there."""
        stores = self._stores
        try:
            self._apply_change(uid, pod)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not hold up other pods
            reason = stores.quarantine.set_aside(
                KIND, uid, error, name=pod_translation.get_qualified_name(pod.metadata)
            )
            with stores.quarantine.attempt("pods set aside", uid):
                self._apply_change(
                    uid, reduce_pod(pod), fault=f"the pod cannot be dealt with, and is left aside: {reason}"
                )
        else:
            stores.quarantine.release(KIND, uid)
        if stores.applications is not None:
            with stores.quarantine.attempt("pods of applications", uid):
                stores.applications.members.pod_changed(uid, pod)

    def _forget(self, uid: str) -> None:
        """Remove a deleted pod in each store, even if another store fails."""
        stores = self._stores
        leave = [
            stores.history.forget_pod,
            stores.refused_pods.forget_pod,
            self._note_ended,
            stores.gangs.pod_gone,
            self._no_longer_nominated,
        ]
        if stores.kept_places is not None:
            leave.append(stores.kept_places.note_gone)
        if stores.applications is not None:
            leave.append(stores.applications.members.pod_gone)
        for forget in leave:
            with stores.quarantine.attempt("pods that are gone", uid):
                forget(uid)
        for kind in (KIND, "pods set aside", "pods of applications", "pods that are gone"):
            stores.quarantine.release(kind, uid)

    def _apply_change(self, uid: str, pod: Pod, fault: str = "") -> None:
        stores = self._stores
        disposition = pod_translation.classify_pod(pod)
        known = stores.tasks.get(uid)
        ours = self.is_ours(pod_translation.scheduler_of(pod))
        group = stores.groups.put_pod(uid, pod) if ours else None
        if not ours:
            stores.groups.put_foreign(uid, pod)
            stores.nominations.foreign(uid, make_foreign_nomination(pod, self._priorities))
        schedulable = ours and disposition is Disposition.PENDING
        placed = disposition is Disposition.BOUND or (known is not None and bool(known.place))
        if disposition is Disposition.FINISHED or not (placed or schedulable):
            # The pod is not for this scheduler, or must not be placed now. A pod that is being bound remains known
            # until the outcome of its binding is known.
            if disposition is Disposition.FINISHED:
                self._note_finished(uid, pod, known, ours=ours)
            self._note_ended(uid, pod)
            return
        extended = names_extended_resources(pod.spec)
        asked = stores.extended_resources.list_asked(pod) if extended else None
        task = self._translate(uid, drop_resources(pod, asked) if asked else pod, ours=ours)
        if (
            known is not None
            and task.scheduled != known.task.scheduled
            and not stores.classes.visibility.timed
        ):
            # The solver knows where it placed a pod, so it needs no message when the kubelet starts the pod.
            task = replace(task, scheduled=known.task.scheduled)
        place = pod.spec.node_name or (known.place if known is not None else "")
        task, on_volumes, on_devices = self._add_claims(pod, task, place, asked)
        group_wait = ""
        if group is not None:
            task, group_wait = stores.gangs.assign_job(group, task)
            stores.restart_rooms.note_pod(pod, task, known)
        if stores.kept_places is not None:
            task = self._apply_kept_place(stores.kept_places, pod, task, disposition, ours=ours)
        record = PodRecord(task, schedulable) if known is None else known
        self._note_claims(record, on_volumes, on_devices)
        stores.tasks.hold(
            record,
            group=group_wait,
            queue=stores.queues.resolve(uid).problem if stores.queues is not None else "",
            priority=self._priority_wait(uid, pod) if ours else "",
            fault=fault,
            schedulable=schedulable,
        )
        record.ran = record.ran or pod.status.phase == RUNNING
        if known is None:
            self._add(pod, record)
        else:
            self._update(pod, record, task, ours=ours)
        if disposition is Disposition.BOUND and pod.metadata.deletion_timestamp is not None:
            stores.tasks.move(record, Event.DELETED)
        if stores.resumptions is not None and stores.resumptions.holds_places and ours:
            stores.resumptions.take_place(record, pod)
        if record.waits_for:
            stores.pending_reasons.consider_wait(record)

    def _translate(self, uid: str, pod: Pod, *, ours: bool) -> Task:
        """Translate a pod into a task, without its claims and the resources that devices provide."""
        stores = self._stores
        if stores.shared_gpus is not None:
            pod = without_devices(pod, stores.shared_gpus.system)
        task = pod_translation.translate_pod(pod, stores.classes, self._priorities)
        if stores.classes.visibility.daemons:
            self._note_owner(uid, pod)
        if spread := stores.spreading.group(uid, pod):
            task = replace(task, spread=spread)
        if stores.queues is not None:
            quota, _ = stores.queues.assign_quota(uid, pod)
            task = replace(task, priority=stores.queues.priorities.rank_pod(uid, task.priority))
            if stores.queues.find_lacking(uid) is not None or stores.queues.priorities.lacks(uid):
                self._without_owners[uid] = pod
            else:
                self._without_owners.pop(uid, None)
            given = stores.queues.find_given(quota)
            task = replace(task, traits=stores.classes.set_queue(task.traits, quota, given))
        # The bridge decides nothing about pods of other schedulers, so the jobs of such pods do not matter.
        return task if ours else replace(task, job="")

    def _add_claims(
        self, pod: Pod, task: Task, place: str, asked: frozenset[str] | None
    ) -> tuple[Task, Resolution | None, DeviceResolution | None]:
        """Return the task with the needs of its claims, and the resolutions of its claims of volumes and of devices.

        The resolution is None for a kind of claims that the pod does not have. ``asked`` are the extended resources
        that the pod requests and devices provide; None without extended resources.
        """
        stores = self._stores
        on_volumes, on_devices = None, None
        if claims := attachable_of(pod):
            task, on_volumes = stores.volume_effects.add_claim_needs(claims, task, place)
        named = device_claims_of(pod) if pod.spec.resource_claims else ()
        if asked is not None:
            named = (*named, *stores.extended_resources.make_claim(task.uid, pod, asked))
        if stores.shared_gpus is not None:
            named = (*named, *stores.shared_gpus.put_pod(task.uid, pod))
        if named or pod.spec.resource_claims:
            task, on_devices = self._stores.device_effects.add_claim_needs(named, task, place)
        return task, on_volumes, on_devices

    def _note_claims(
        self, record: PodRecord, on_volumes: Resolution | None, on_devices: DeviceResolution | None
    ) -> None:
        """Note whether claims of volumes or devices keep a pod from being placed."""
        if on_volumes is not None or record.uses_claims:
            self._stores.volume_effects.note(record, on_volumes or NOTHING)
        if on_devices is not None or record.uses_devices:
            self._stores.device_effects.note(record, on_devices or NO_CLAIMS)

    def _note_finished(self, uid: str, pod: Pod, known: PodRecord | None, *, ours: bool) -> None:
        self._stores.history.count_finished(uid, pod)
        if ours:
            self._stores.refused_pods.note_finished(uid, pod, known)

    def _apply_kept_place(
        self, places: KeptPlaces, pod: Pod, task: Task, disposition: Disposition, *, ours: bool
    ) -> Task:
        """Return the task; if a node is kept for it, the task may go only to that node."""
        if ours and disposition is Disposition.BOUND:
            places.note_running(pod, task)
        elif ours and disposition is Disposition.PENDING:
            node = places.node_for(task)
            if node:
                return replace(task, traits=self._stores.classes.set_node(task.traits, node))
        return task

    def release_kept_place(self, uid: str) -> None:
        """Give up the node of a pod that found no place: the node kept for it, then its old node, then any node."""
        places = self._stores.kept_places
        if places is None or not places.release(uid):
            return
        record = self._stores.tasks.get(uid)
        if record is not None:
            traits = self._stores.classes.set_node(record.task.traits, places.node_now(uid))
            record.task = replace(record.task, traits=traits)
            self._stores.tasks.touch(uid)

    def _add(self, pod: Pod, record: PodRecord) -> None:
        record.message = read_reported_reason(pod)
        record.announced_at = self._clock()
        record.nominated = pod.status.nominated_node_name
        if record.nominated and record.schedulable:
            self._stores.nominations.put(record)
        self._join(pod, record)
        self._stores.tasks.add(record, pod.spec.node_name)

    def _update(self, pod: Pod, record: PodRecord, task: Task, *, ours: bool) -> None:
        if task != record.task:
            former, record.task = record.task.job, task
            # Join before leaving: a job is forgotten with its last member, and both jobs may be the same.
            self._join(pod, record)
            self._stores.jobs.leave(former)
        node = pod.spec.node_name
        if node and ours:
            self._stores.placements.note_shown(record, node)
        elif node:
            self._stores.tasks.move(record, Event.SHOWN, node)
        else:
            # A pod never loses its node, so an event that shows no node is older than the binding.
            self._stores.tasks.mark(task.uid)
            if not record.said_here:
                record.message = read_reported_reason(pod)

    def _join(self, pod: Pod, record: PodRecord) -> None:
        jobs, job_id = self._stores.jobs, record.task.job
        if not job_id:
            return
        # All pods of a batch are handled before changes of groups are applied. A group's job is thus described once,
        # not for each pod.
        if jobs.join_known(job_id):
            return
        groups = self._stores.groups
        group = groups.group_of(record.task.uid)
        job = groups.job(group) if group is not None else pod_translation.job(pod.metadata)
        if job is not None:
            jobs.join(job)

    def _note_owner(self, uid: str, pod: Pod) -> None:
        """Remember a pod whose DaemonSet is not known yet."""
        if find_daemon_set(pod) is not None and not self._stores.daemon_sets.owns(pod):
            self._unowned[uid] = pod
        else:
            self._unowned.pop(uid, None)

    def _priority_wait(self, uid: str, pod: Pod) -> str:
        """Return why a pod's priority is not known yet, or ""."""
        try:
            self._priorities.priority(pod.spec)
        except UnknownPriorityClassError as error:
            self._unranked[uid] = pod
            return f"spec.priorityClassName: {error}; create it, or create the pod again with another one"
        self._unranked.pop(uid, None)
        return ""

    def _no_longer_nominated(self, uid: str) -> None:
        self._stores.nominations.foreign(uid, None)

    def _note_ended(self, uid: str, pod: Pod | None = None) -> None:
        if (known := self._stores.tasks.get(uid)) is not None:  # before the pod's group is forgotten
            self._stores.restart_rooms.note_departure(known, pod)
        record = self._stores.tasks.remove(uid)
        self._unranked.pop(uid, None)
        self._unowned.pop(uid, None)
        self._without_owners.pop(uid, None)
        if self._stores.volume_effects.in_use:
            self._stores.volumes.remove_pod(uid)
        if self._stores.device_effects.in_use:
            self._stores.devices.remove_pod(uid)
        self._stores.extended_resources.drop_claim(uid)
        if self._stores.shared_gpus is not None:
            self._stores.shared_gpus.release_gpus(uid)
        self._stores.spreading.forget_pod(uid)
        if self._stores.queues is not None:
            self._stores.queues.forget_pod(uid)
        if record is not None:
            self._stores.jobs.leave(record.task.job)
            self._stores.nominations.end(uid)
            self._stores.pending_bindings.forget_ended(uid)
