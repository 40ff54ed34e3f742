"""What the bridge knows, without any I/O: watch events, rounds, outcomes in; messages and actions out.

Everything is keyed by uid and idempotent. The state of record is the API server's; this is a slim copy that
can describe itself to a solver at any time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from poseidon.bridge.announcements import COUNTS_SECONDS, Announcements
from poseidon.bridge.budgets import budget_resource
from poseidon.bridge.custom_records import CustomRecords, CustomResource
from poseidon.bridge.fitness import Fitness
from poseidon.bridge.gangs import Gangs
from poseidon.bridge.jobs import Jobs
from poseidon.bridge.machines import Machines
from poseidon.bridge.namespaces import Namespaces
from poseidon.bridge.node_topologies import NodeTopologies
from poseidon.bridge.occupancy import Occupancy
from poseidon.bridge.placements import Placements
from poseidon.bridge.records import PodRecord
from poseidon.bridge.refused import RefusedPods
from poseidon.bridge.storage import Storage
from poseidon.bridge.tasks import Tasks
from poseidon.kube.pod_recovery import RecoveryOptions
from poseidon.network.book import NetworkBook
from poseidon.network.options import NetworkOptions
from poseidon.sources.book import SampleBook
from poseidon.sources.utilisation import SOURCES
from poseidon.translate import node as node_translation
from poseidon.translate import pod as pod_translation
from poseidon.translate.classes import ClassTable
from poseidon.translate.history import RuntimeHistory
from poseidon.translate.node_images import NodeImages
from poseidon.translate.pod import Disposition
from poseidon.translate.priority import PriorityResolver, UnknownPriorityClassError
from poseidon.translate.visibility import visible_to
from poseidon.volumes.state import BIND_SECONDS, VolumeState
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.bridge.actions import Action
    from poseidon.kube.binder import BindOutcome
    from poseidon.kube.claim_writer import ClaimWrite
    from poseidon.kube.evictor import EvictionOutcome
    from poseidon.kube.following import Change
    from poseidon.kube.objects import Namespace, Node, Pod, PriorityClass
    from poseidon.kube.storage_objects import (
        CsiNode,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
    )

_log = logging.getLogger(__name__)

ANY_SCHEDULER = "*"
RUNNING = "Running"
"""The phase of a pod that has a container which runs, or did."""


class BridgeState:
    """Nodes, pods and what has been said about them.

    ``scheduler_names`` are the values of ``spec.schedulerName`` that are for this scheduler to place ("*":
    all). Pods of other schedulers count on the nodes that they are bound to. ``policy`` is the solver's base
    policy, ``overlays`` are its overlays: what they look at tells pods apart. ``volume_seconds`` is how long
    binding a pod's claims may take by ``clock``, which is monotonic, ``counts_seconds`` how long the counts
    in what is said of a pending pod may be out of date. Not thread-safe.
    """

    def __init__(
        self,
        scheduler_names: Iterable[str],
        policy: str = "",
        overlays: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        volume_seconds: float = BIND_SECONDS,
        counts_seconds: float = COUNTS_SECONDS,
        recovery: RecoveryOptions | None = None,
        network: NetworkOptions | None = None,
        fair_share: bool = False,
    ) -> None:
        self._clock = clock
        self._ours = frozenset(scheduler_names)
        network = network or NetworkOptions()
        self._classes = ClassTable(
            visible_to(policy, overlays, bandwidth=network.annotations, namespaces=fair_share)
        )
        self._history = RuntimeHistory()
        self._priorities = PriorityResolver()
        self._priority_names: dict[str, str] = {}
        self._namespaces = Namespaces()
        self._machines = Machines()
        self._images = NodeImages()
        self._jobs = Jobs()
        self._occupancy = Occupancy()
        self._fitness = Fitness(self._machines, self._occupancy, self._classes)
        self._volumes = VolumeState(volume_seconds)
        self._tasks = Tasks(self._machines, self._occupancy, self._fitness, self._volumes.move_pod)
        announcements = Announcements(self._tasks, clock, counts_seconds)
        self._placements = Placements(
            self._tasks, self._machines, self._fitness, self._volumes, announcements, clock
        )
        self._refused = RefusedPods(recovery or RecoveryOptions())
        self._storage = Storage(
            self._volumes, self._tasks, self._machines, self._placements, self._classes, clock
        )
        self.gangs = Gangs(self._tasks, self._jobs, self._placements, self._machines, wall)
        """The groups of pods, whose objects their reflectors write."""
        self._unranked: dict[str, Pod] = {}
        self._told_classes: set[int] = set()
        self.samples = SampleBook(SOURCES)
        """The latest samples of use, which sources write."""
        self.custom_records = CustomRecords()
        """Records out of custom resources, which their reflectors write."""
        self.applications = NetworkBook(network) if network.follows else None
        """Applications and networks, which their controllers look after; None if nobody looks at them."""
        self.custom_resources: tuple[CustomResource[Any], ...] = (budget_resource(self._classes),)
        """What is to be followed for them: what some overlay reads."""
        if self._classes.visibility.topologies:
            topologies = NodeTopologies(self._tasks.on_node, self._classes)
            self.custom_resources += (topologies.custom_resource(),)

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self._machines)

    @property
    def pod_count(self) -> int:
        """How many pods the solver should know of."""
        return len(self._tasks)

    def used(self, node: str) -> Mapping[str, int]:
        """Return what the pods on a node, and those being bound to it, request together, by resource."""
        return self._occupancy.used(node)

    def pending_count(self) -> int:
        """How many pods wait for a node. Looks at every record; may be called from another thread."""
        return sum(1 for record in list(self._tasks) if record.schedulable and not record.place)

    # --- what sources of use ask ---------------------------------------------------------------------------

    def knows_node(self, name: str) -> bool:
        """Whether there is a node of this name."""
        return name in self._machines

    def node_of(self, namespace: str, name: str) -> str:
        """Return where a pod runs or is being bound to, "" for nowhere and for a pod that is not known."""
        record = self._tasks.named(f"{namespace}/{name}")
        return record.place if record is not None else ""

    def uid_of(self, namespace: str, name: str, node: str) -> str:
        """Return the uid of the pod of this name if it is on ``node``, else ""."""
        record = self._tasks.named(f"{namespace}/{name}")
        return record.task.uid if record is not None and record.place == node else ""

    # --- what the API server says --------------------------------------------------------------------------

    def nodes_changed(self, changes: Sequence[Change[Node]]) -> None:
        """Take nodes as they are now."""
        for change in changes:
            if change.object is None:
                name = self._machines.remove(change.uid)
                if name:
                    if self.applications is not None:
                        self.applications.node_gone(name)
                    self._images.forget(name)
                    self._volumes.node_gone(name)
                    self._fitness.forget(name)
                    self._placements.node_gone(name)
                    self._tasks.mark_node(name)
                    self.samples.mark(name)
                continue
            machine, defects = node_translation.machine(
                change.object, self._classes.visibility.node_annotations
            )
            if not machine.name:
                continue
            self._images.put(machine.name, machine.images)
            del machine.images[:]
            machine.images.extend(self._images.heavy_on(machine.name))
            self._volumes.node_changed(machine.name, change.object.metadata.labels)
            if self.applications is not None:
                self.applications.node_changed(machine.name, change.object.metadata.labels)
            if self._machines.put(change.uid, machine):
                self._tasks.mark_node(machine.name)
                self.samples.mark(machine.name)
                for defect in defects:
                    _log.warning('node has a defect node=%s defect="%s"', machine.name, defect)

        self._storage.apply()

    def claims_changed(self, changes: Sequence[Change[PersistentVolumeClaim]]) -> None:
        """Take claims as they are now."""
        self._volumes.claims_changed(changes)
        self._storage.apply()

    def volumes_changed(self, changes: Sequence[Change[PersistentVolume]]) -> None:
        """Take volumes as they are now."""
        self._volumes.volumes_changed(changes)
        self._storage.apply()

    def storage_classes_changed(self, changes: Sequence[Change[StorageClass]]) -> None:
        """Take storage classes as they are now."""
        self._volumes.storage_classes_changed(changes)
        self._storage.apply()

    def csi_nodes_changed(self, changes: Sequence[Change[CsiNode]]) -> None:
        """Take what nodes can attach as it is now."""
        self._volumes.csi_nodes_changed(changes)
        self._storage.apply()

    def priority_classes_changed(self, changes: Sequence[Change[PriorityClass]]) -> None:
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
            self._pod_changed(uid, pod)
        self._storage.apply()
        self.gangs.apply()

    def namespaces_changed(self, changes: Sequence[Change[Namespace]]) -> None:
        """Take namespaces as they are now."""
        for change in changes:
            if change.object is not None:
                self._namespaces.put(change.uid, change.object)
            else:
                self._namespaces.remove(change.uid)

    def pods_changed(self, changes: Sequence[Change[Pod]]) -> None:
        """Take pods as they are now."""
        for change in changes:
            if change.object is None:
                self._history.gone(change.uid)
                self._refused.gone(change.uid)
                self.gangs.pod_gone(change.uid)
                self._pod_ended(change.uid)
                if self.applications is not None:
                    self.applications.pod_gone(change.uid)
            else:
                self._pod_changed(change.uid, change.object)
                if self.applications is not None:
                    self.applications.pod_changed(change.uid, change.object)
        self._storage.apply()
        self.gangs.apply()

    def _pod_changed(self, uid: str, pod: Pod) -> None:
        disposition = pod_translation.disposition(pod)
        known = self._tasks.get(uid)
        ours = ANY_SCHEDULER in self._ours or pod_translation.scheduler_of(pod) in self._ours
        if ours:
            self.gangs.pod_changed(uid, pod)
        schedulable = ours and disposition is Disposition.PENDING
        placed = disposition is Disposition.BOUND or (known is not None and bool(known.place))
        if disposition is Disposition.FINISHED or not (placed or schedulable):
            # Not for us, or not now. One that is being bound stays until the outcome is known.
            if disposition is Disposition.FINISHED:
                self._history.finished(uid, pod)
                if ours:
                    self._refused.finished(uid, pod, known)
            self._pod_ended(uid)
            return
        task = pod_translation.task(pod, self._classes, self._priorities)
        if not ours:
            # Nothing is decided about pods of other schedulers, so their jobs do not matter.
            task = replace(task, job="")
        place = pod.spec.node_name or (known.place if known is not None else "")
        task, claims_wait = self._storage.translated(pod, task, place)
        task, group_wait = self.gangs.translated(task) if ours else (task, "")
        priority_wait = self._priority_wait(uid, pod) if ours else ""
        if known is None:
            known = PodRecord(task, schedulable, node=pod.spec.node_name, message=_reported_reason(pod))
            known.announced_at = self._clock()
            known.ran = pod.status.phase == RUNNING
            known.claims_wait, known.group_wait, known.priority_wait = claims_wait, group_wait, priority_wait
            known.nominated = pod.status.nominated_node_name
            known.leaving = disposition is Disposition.BOUND and pod.metadata.deletion_timestamp is not None
            self._join(pod, known)
            self._tasks.add(known)
            self._storage.announce(known)
            return
        known.claims_wait, known.group_wait, known.priority_wait = claims_wait, group_wait, priority_wait
        known.leaving = disposition is Disposition.BOUND and pod.metadata.deletion_timestamp is not None
        if task != known.task:
            self._jobs.leave(known.task.job)
            known.task = task
            self._join(pod, known)
        known.schedulable = schedulable
        known.ran = known.ran or pod.status.phase == RUNNING
        if pod.spec.node_name:
            self._tasks.move(known, node=pod.spec.node_name)
        else:
            # A pod never loses its node: an event that shows none is older than the binding.
            self._tasks.mark(uid)
        self._storage.announce(known)

    def _join(self, pod: Pod, record: PodRecord) -> None:
        group_job = self.gangs.job(record.task.uid) if record.task.job else None
        job = group_job or (pod_translation.job(pod.metadata) if record.task.job else None)
        if job is not None:
            self._jobs.join(job)
        if group_job is not None:
            # Others of the same owner may have been met before.
            self._jobs.replace(group_job)

    def _priority_wait(self, uid: str, pod: Pod) -> str:
        """Return why a pod's importance is not known yet, or ""."""
        try:
            self._priorities.priority(pod.spec)
        except UnknownPriorityClassError as error:
            self._unranked[uid] = pod
            return f"spec.priorityClassName: {error}; create it, or create the pod again with another one"
        self._unranked.pop(uid, None)
        return ""

    def _pod_ended(self, uid: str) -> None:
        record = self._tasks.remove(uid)
        self._unranked.pop(uid, None)
        self._volumes.remove_pod(uid)
        if record is not None:
            self._jobs.leave(record.task.job)
            self._placements.ended(uid)

    # --- what the solver and the binder say ----------------------------------------------------------------

    def on_round(self, result: pb.RoundResult) -> None:
        """Take the result of a round."""
        self._placements.on_round(result)
        self.gangs.on_round(result)
        self._storage.apply()

    def refusal(self, uid: str, node: str) -> str:
        """Return why the binding of a pod to a node must not be posted now, or ""."""
        return self._placements.refusal(uid, node)

    def binding_ended(self, outcome: BindOutcome) -> None:
        """Take the outcome of a binding."""
        self._placements.binding_ended(outcome)
        self._storage.apply()

    def eviction_ended(self, outcome: EvictionOutcome) -> None:
        """Take what has become of an eviction."""
        self._placements.eviction_ended(outcome)

    def claim_refused(self, write: ClaimWrite, reason: str) -> None:
        """A write that was to begin the binding of a claim has failed for good."""
        self._storage.refused(write, reason)

    def expire(self) -> None:
        """Give up what has taken too long, and say what was put off. To be called about every second."""
        self._storage.expire()
        self._placements.announce_due()
        self.gangs.expire()

    # --- what is to be said and done -----------------------------------------------------------------------

    def snapshot(self) -> list[pb.Event]:
        """Return everything, for a solver that knows nothing; later events are relative to it.

        Pods that are being bound, or have just been, stand in it as bound.
        """
        self._machines.forget_told()
        self._jobs.forget_told()
        self._tasks.forget_told()
        self._history.forget_told()
        self._namespaces.forget_told()
        self.samples.forget_told()
        self.custom_records.forget_told()
        self._told_classes.clear()
        self._placements.forget_reports()
        return self.take_events()

    def take_events(self) -> list[pb.Event]:
        """Return what the solver has to be told, once, in an order in which it can be applied."""
        self._weigh_images()
        if self._classes.refresh():
            self._tasks.mark_moved()
        events = []
        for name in self._machines.take_removed():
            self._tasks.forget_node(name)
            events.append(pb.Event(machine_removed=name))
        events.extend(pb.Event(machine=machine) for machine in self._machines.take_changed())
        events.extend(self._history.take())
        events.extend(self._namespaces.take())
        events.extend(pb.Event(job=job) for job in self._jobs.take_changed())
        task_events, tasks = self._tasks.take()
        for number in dict.fromkeys(task.task_class for task in tasks):
            if number not in self._told_classes:
                self._told_classes.add(number)
                events.append(pb.Event(task_class=self._classes.message(number)))
        for job_id in dict.fromkeys(task.job for task in tasks if task.job):
            job = self._jobs.define(job_id)
            if job is not None:
                events.append(pb.Event(job=job))
        events.extend(task_events)
        # After the tasks: a record counts those that were on its machine before it, unless it says otherwise.
        self._tell_applications()
        events.extend(self.custom_records.take())
        events.extend(self.samples.take(self.knows_node))
        events.extend(pb.Event(job_removed=job_id) for job_id in self._jobs.take_ended())
        return events

    def _tell_applications(self) -> None:
        """Let models know what is in force, if one looks at it."""
        if self.applications is None or not self._classes.visibility.applications:
            return
        for kind, name, payload in self.applications.take_records():
            self.custom_records.tell(kind, name, payload)

    def _weigh_images(self) -> None:
        self._images.want(self._classes.take_images())
        heavy, nodes = self._images.take_heavy()
        self._classes.weigh_images(heavy)
        for node in nodes:
            self._machines.show_images(node, self._images.heavy_on(node))

    def take_reports(self) -> list[pb.BindingReport]:
        """Return what has become of the solver's deltas, once."""
        return self._placements.take_reports()

    def take_actions(self) -> list[Action]:
        """Return what has to be done, once."""
        return [
            *self._placements.take_actions(),
            *self.gangs.take_actions(),
            *self._refused.take_actions(),
        ]


def _reported_reason(pod: Pod) -> str:
    """Return why the pod is unschedulable as its own condition says, so that a restart repeats nothing."""
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "False" or condition.reason != "Unschedulable":
        return ""
    return condition.message
