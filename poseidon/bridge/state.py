"""Keeps the bridge's state without any I/O: takes watch events, rounds and outcomes; returns messages and actions.

All data are keyed by uid, and each update may be repeated. The API server holds the true state; this is a slim copy
that can describe itself to a solver at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from poseidon.bridge.queues.queued_owners import owner_changes
from poseidon.bridge.queues.queued_pods import QueueNews
from poseidon.bridge.solver_stream.events import EventStream
from poseidon.bridge.stores import Stores
from poseidon.bridge.watched_nodes import WatchedNodes
from poseidon.bridge.watched_pods import WatchedPods
from poseidon.configuration.document import BridgeConfiguration
from poseidon.custom_records import CustomResource
from poseidon.devices.records import DEVICE_CLASSES, DEVICE_SLICES
from poseidon.disruption_budgets.records import budget_resource
from poseidon.kube.api import kinds
from poseidon.kube.api.devices import DeviceClass, NodeDeviceList, ResourceClaim
from poseidon.kube.api.kinds import WatchedKind
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.namespaces import LimitRange, Namespace
from poseidon.kube.api.other_projects.queues import QueuedOwner
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.write.binder import BindOutcome
from poseidon.kube.write.suspension_writer import SuspensionEnd
from poseidon.lifecycle.actions import Action
from poseidon.lifecycle.phases import Phase, PodRecord, Stories
from poseidon.numa.node_topology import RECORD_KIND, node_topology_resource
from poseidon.pod_groups.kinds import GROUP_KINDS
from poseidon.queues.known_queues import KnownQueues
from protos.firmament.v1 import scheduler_pb2 as pb

T = TypeVar("T", bound=KubeStruct)


class BridgeState(Stores):
    """All stores of a bridge; passes each watch event, round and outcome to the stores that it changes.

    This scheduler places the pods whose ``spec.schedulerName`` is among the names in ``configuration`` ("*": all
    pods). Pods of other schedulers count only as use of the nodes that they are bound to. ``needs``: the facts that
    the solver's models use, in the words of ``Welcome``; pods that differ in them get different classes. ``clock`` is
    monotonic. ``quarantine`` sets aside an object whose handling fails. ``stories`` records each step of each pod.
    Not thread-safe.

    ``handlers`` has, by kind, the function to call with changed objects; those for nodes and pods are also
    attributes. The binder calls ``refusal`` before it binds, and ``eviction_ended`` with the result of an eviction.
    ``claim_refused`` records that the write which begins the binding of a claim has failed for good; with an empty
    reason, that the write has succeeded.
    """

    def __init__(
        self,
        configuration: BridgeConfiguration | None = None,
        needs: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        quarantine: Quarantine | None = None,
        stories: Stories | None = None,
    ) -> None:
        if configuration is None:
            configuration = BridgeConfiguration()
        if quarantine is None:
            quarantine = Quarantine()
        self._services_matter = configuration.pod_topology_spread.enabled
        super().__init__(configuration, needs, clock, wall, quarantine, stories or Stories(clock))
        self.custom_resources = self._custom_resources()
        """Custom resources to watch for ``custom_records``, because some overlay reads them."""
        self.event_stream = EventStream(self)
        """``event_stream`` yields the same events as ``snapshot`` and ``take_events``, one by one."""
        self.queue_news = QueueNews(self, self.queues, clock, wall) if self.queues is not None else None
        """Reports of the state of queues; None if no queues are read."""
        self._pods = WatchedPods(frozenset(configuration.scheduler_names), self, clock)
        if self.resumptions is not None:
            self.resumptions.connect(self._pods.take_changes, self._pods.is_ours)
        self._nodes = WatchedNodes(self)
        self.nodes_changed = self._provide_after(self._refresh_claims_after(self._nodes.take_changes))
        self.pods_changed = self._pods.take_changes
        self.send_for_explanation = self._pods.send_for_explanation
        self.refusal = self.placements.refusal
        self.eviction_ended = self.placements.eviction_ended
        self.device_claim_written = self.device_effects.note_written
        self.claim_refused = self.volume_effects.note_failure
        self.handlers = self._list_handlers()
        """By kind, the functions to call with changed objects: for pods, and for kinds that are loaded before pods."""

    def _list_handlers(self) -> dict[WatchedKind, Callable[[Sequence[Change[Any]]], None]]:
        volumes = self.volumes
        return {
            kinds.NODE: self.nodes_changed,
            kinds.PRIORITY_CLASS: self._pods.take_priority_classes,
            kinds.NAMESPACE: self._take_namespaces,
            kinds.LIMIT_RANGE: self._take_limit_ranges,
            kinds.SERVICE: self._pods.take_services,
            kinds.STORAGE_CLASS: self._refresh_claims_after(volumes.storage_classes_changed),
            kinds.CSI_NODE: self._refresh_claims_after(volumes.csi_nodes_changed),
            kinds.CSI_DRIVER: self._refresh_claims_after(volumes.csi_drivers_changed),
            kinds.STORAGE_CAPACITY: self._refresh_claims_after(volumes.storage_capacities_changed),
            kinds.VOLUME_ATTACHMENT: self._refresh_claims_after(volumes.volume_attachments_changed),
            kinds.VOLUME: self._refresh_claims_after(volumes.volumes_changed),
            kinds.CLAIM: self._refresh_claims_after(volumes.claims_changed),
            kinds.DEVICE_CLASS: self._provide_after(self._take_device_classes),
            kinds.RESOURCE_SLICE: self.first_records.get_handler(DEVICE_SLICES, 0),
            kinds.RESOURCE_CLAIM: self.device_claims_changed,
            kinds.NODE_DEVICES: self.node_devices_changed,
            kinds.DAEMON_SET: self._pods.take_daemon_sets,
            kinds.HYPER_NODE: self._nodes.take_hyper_nodes,
            **{kind: self.gangs.get_handler(name) for name, kind in GROUP_KINDS.items()},
            kinds.GROUP_MAP: self.gangs.group_maps_changed,
            **{kind: self._queue_taker(kind) for kind in kinds.QUEUES},
            kinds.POD: self.pods_changed,
        }

    def _refresh_claims_after(
        self, take: Callable[[Sequence[Change[T]]], None]
    ) -> Callable[[Sequence[Change[T]]], None]:
        """Return a function that passes changes to ``take``, then applies them to pods that use claims of volumes."""

        def take_changes(changes: Sequence[Change[T]]) -> None:
            take(changes)
            self.volume_effects.apply()

        return take_changes

    def _take_limit_ranges(self, changes: Sequence[Change[LimitRange]]) -> None:
        if self.resumptions is not None:
            self.resumptions.limit_ranges.take_changes(changes)

    def _take_device_classes(self, changes: Sequence[Change[DeviceClass]]) -> None:
        self.first_records.get_handler(DEVICE_CLASSES, 0)(changes)
        self.extended_resources.take_classes(changes)

    def _provide_after(
        self, take: Callable[[Sequence[Change[T]]], None]
    ) -> Callable[[Sequence[Change[T]]], None]:
        """Return a function that passes changes to ``take``, then translates the pods again that are affected.

        Affected pods are those that request resources which devices provide.
        """

        def take_changes(changes: Sequence[Change[T]]) -> None:
            take(changes)
            affected = self.extended_resources.take_affected()
            if affected:
                self._pods.take_again(affected)

        return take_changes

    def _queue_taker(self, kind: WatchedKind) -> Callable[[Sequence[Change[Any]]], None]:
        """Return the function to call with changed queues of a kind.

        The function ignores the changes if no source of queues is configured.
        """
        if self.queues is None or not self.queues.reads(kind):
            return lambda _: None
        take = self.queues.get_handler(kind)
        if kind is kinds.TOPOLOGY and self.queues.options.enforces("kueue"):
            return self._locate_after(take)
        return self._rank_after(take, self.queues) if kind is kinds.WORKLOAD_PRIORITY_CLASS else take

    def _locate_after(
        self, take: Callable[[Sequence[Change[Any]]], None]
    ) -> Callable[[Sequence[Change[Any]]], None]:
        """Return a function that passes changed Topologies to ``take``, then labels each machine with its domains."""

        def take_changes(changes: Sequence[Change[Any]]) -> None:
            take(changes)
            self._nodes.take_topologies(changes)

        return take_changes

    def _rank_after(
        self, take: Callable[[Sequence[Change[Any]]], None], queues: KnownQueues
    ) -> Callable[[Sequence[Change[Any]]], None]:
        """Return a function that passes WorkloadPriorityClasses to ``take``, then translates the pods that waited."""

        def take_changes(changes: Sequence[Change[Any]]) -> None:
            take(changes)
            queues.settle()
            self._pods.take_owned(queues.take_regrouped())

        return take_changes

    def owner_taker(self, kind: str) -> Callable[[Sequence[Change[Any]]], None]:
        """Return the function to call with changed objects of a kind that owns pods."""
        take = self.gangs.get_handler(kind)

        def take_changes(changes: Sequence[Change[Any]]) -> None:
            if self.queues is not None:
                self.queues.take_owners(kind, changes)
                self._pods.take_owned(self.queues.take_regrouped())
            take(changes)

        return take_changes

    def make_owner_taker(
        self, kind: str, resource: Resource[QueuedOwner]
    ) -> Callable[[Sequence[Change[QueuedOwner]]], None]:
        """Return the function to call with changed objects of a kind that owns pods and may be suspended."""
        return owner_changes(kind, resource, self.owner_taker(kind), self.resumptions, self.quarantine)

    def begin(self) -> None:
        """Begin to place pods. Call this method once all objects and pods are known."""
        self.gangs.begin()
        if self.resumptions is not None:
            self.resumptions.begin()

    def suspension_written(self, end: SuspensionEnd) -> None:
        """Note the outcome of a write that resumes or suspends an object."""
        if self.resumptions is not None:
            self.resumptions.note_written(end)

    def get_workload_creation_time(self, uid: str) -> float:
        """Return when an object in a queue was created, in seconds since the epoch; 0 if that is unknown."""
        return self.resumptions.get_creation_time(uid) if self.resumptions is not None else 0.0

    def _take_namespaces(self, changes: Sequence[Change[Namespace]]) -> None:
        self.namespaces.take_changes(changes)
        if self.queues is not None:
            self.queues.take_namespaces(changes)

    def device_claims_changed(self, changes: Sequence[Change[ResourceClaim]]) -> None:
        """Handle changes of claims of devices."""
        self.devices.claims_changed(changes)
        self.device_effects.apply()

    def node_devices_changed(self, changes: Sequence[Change[NodeDeviceList]]) -> None:
        """Handle changes of objects that list the devices of nodes."""
        if self.shared_gpus is not None and self.shared_gpus.reads_objects:
            self.shared_gpus.take_objects(changes)
            self.device_effects.apply()

    def _apply_claims(self) -> None:
        """Update pods with claims of volumes or devices, after a change that may affect these claims."""
        if self.volume_effects.in_use:
            self.volume_effects.apply()
        if self.device_effects.in_use:
            self.device_effects.apply()

    def _custom_resources(self) -> tuple[CustomResource[Any], ...]:
        """Return the custom resources that cost models read, with the functions that make records of them."""
        budgets = budget_resource(self.classes)
        if RECORD_KIND not in self.classes.visibility.records:
            return (budgets,)
        return budgets, node_topology_resource(self.tasks.on_node, self.classes)

    def follows(self, kind: WatchedKind) -> bool:
        """Return whether the bridge must watch a kind of objects, because of its configuration or of cost models."""
        if kind in kinds.QUEUES:
            return self.queues is not None and self.queues.reads(kind)
        if kind is kinds.NODE_DEVICES:
            return self.shared_gpus is not None and self.shared_gpus.reads_objects
        if kind is kinds.LIMIT_RANGE:
            return self.resumptions is not None
        if (
            kind is kinds.SERVICE
        ):  # These kinds are known before pods, so that no pod is sent again because a Service spreads it.
            return self._services_matter
        return kind is not kinds.DAEMON_SET or self.classes.visibility.daemons

    # --- questions about pods and nodes --------------------------------------------------------------------

    def pending_count(self) -> int:
        """Count the pods that wait for a node. Reads every record. Any thread may call this."""
        return sum(1 for record in self.records() if record.schedulable and not record.place)

    def records(self) -> Iterable[PodRecord]:
        """Return the records of all pods that concern the solver. Any thread may call this."""
        return list(self.tasks)

    def get_creation_time(self, uid: str) -> float:
        """Return when a pod was created, in seconds since the epoch; 0 if that is unknown."""
        record = self.tasks.get(uid)
        return record.task.created if record is not None else 0.0

    def is_pending(self, uid: str) -> bool:
        """Return whether a pod waits for a node."""
        record = self.tasks.get(uid)
        return record is not None and record.schedulable and not record.place

    def list_held(self) -> dict[str, str]:
        """Return, by uid, why pods that this scheduler has to place are not sent to the solver."""
        return {each.task.uid: each.waits_for for each in self.tasks if each.phase is Phase.HELD}

    # --- methods for the sources of measured use --------------------------------------------------

    def knows_node(self, name: str) -> bool:
        """Return whether a node of this name exists."""
        return name in self.machines

    def node_of(self, namespace: str, name: str) -> str:
        """Return the node where a pod runs or is being bound to, "" for nowhere and for an unknown pod."""
        record = self.tasks.find_by_name(f"{namespace}/{name}")
        return record.place if record is not None else ""

    def uid_of(self, namespace: str, name: str, node: str) -> str:
        """Return the uid of the pod of this name if it is on ``node``, else ""."""
        record = self.tasks.find_by_name(f"{namespace}/{name}")
        return record.task.uid if record is not None and record.place == node else ""

    # --- results from the solver and the writers ---------------------------------------------------------

    def on_round(self, result: pb.RoundResult) -> None:
        """Carry out the result of a round."""
        self.placements.on_round(result)
        if self.kept_places is not None:
            for group in result.unscheduled:
                for uid in group.tasks:
                    self._pods.release_kept_place(uid)
        if self.queue_news is not None:
            self.queue_news.on_round(result.queues)
        if result.gangs or self.gangs.topology.lives:
            self.gangs.on_round(result)
        self._apply_claims()

    def binding_ended(self, outcome: BindOutcome) -> None:
        """Note the outcome of a binding."""
        self.placements.binding_ended(outcome)
        if self.restart_rooms.rooms and (record := self.tasks.get(outcome.request.uid)) is not None:
            self.restart_rooms.note_bound(record)
        self._apply_claims()

    def expire(self) -> None:
        """Give up work that has taken too long, and carry out postponed writes. Call this method about every second."""
        self.volume_effects.expire()
        self.device_effects.expire()
        if self.kept_places is not None:
            self.kept_places.expire()
        if self.restart_rooms.rooms:
            self.restart_rooms.expire()
        self.pending_reasons.say_due()
        self.gangs.expire()
        if self.resumptions is not None:
            self.resumptions.expire()
        if self.queue_news is not None:
            self.actions += self.queue_news.take_queue_actions()

    # --- messages to the solver, and actions -------------------------------------------------------------

    def snapshot(self) -> list[pb.Event]:
        """Return the whole state, for a solver without any state; later events are changes of this state.

        Pods that are being bound appear as assumed on their nodes.
        """
        return list(self.event_stream.snapshot())

    def take_events(self) -> list[pb.Event]:
        """Return the new events for the solver, each once, in an order in which they can be applied."""
        return list(self.event_stream.take_events())

    @property
    def has_news(self) -> bool:
        """Whether ``take_events`` or ``take_reports`` may return anything."""
        return self.pending_bindings.has_reports or self.event_stream.has_news

    def take_reports(self) -> list[pb.BindingReport]:
        """Return the outcomes of the solver's deltas, each once."""
        return self.pending_bindings.take_reports()

    def take_actions(self) -> list[Action]:
        """Return the actions to carry out, each once."""
        actions = self.actions[:]
        self.actions.clear()
        return actions if self.resumptions is None else self.resumptions.sort_out(actions)
