"""What the bridge knows, without any I/O: watch events, rounds, outcomes in; messages and actions out.

Everything is keyed by uid and idempotent. The state of record is the API server's; this is a slim copy that
can describe itself to a solver at any time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from poseidon.bridge.solver_stream.events import EventStream
from poseidon.bridge.stores import Stores, open_stores
from poseidon.bridge.watched_nodes import Nodes
from poseidon.bridge.watched_pods import Pods
from poseidon.configuration.document import BridgeConfiguration
from poseidon.custom_records import CustomResource
from poseidon.disruption_budgets import budget_resource
from poseidon.kube.watch.quarantine import Quarantine
from poseidon.lifecycle.phases import Phase
from poseidon.lifecycle.stories import Stories
from poseidon.lifecycle.validation import violations
from poseidon.numa.node_topology import RECORD_KIND, node_topology_resource
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.kube.api.core import Namespace, Node, Pod, PriorityClass, Service
    from poseidon.kube.api.pod_groups import ScaledOwner
    from poseidon.kube.api.storage import (
        CsiDriver,
        CsiNode,
        CsiStorageCapacity,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
    )
    from poseidon.kube.watch.changes import Change
    from poseidon.kube.write.binder import BindOutcome
    from poseidon.kube.write.claim_writer import ClaimWrite
    from poseidon.kube.write.evictor import EvictionOutcome
    from poseidon.lifecycle.actions import Action
    from poseidon.lifecycle.records import PodRecord
    from poseidon.lifecycle.refusals import Kind, Reason


class BridgeState:
    """Nodes, pods and what has been said about them.

    Pods are for this scheduler to place whose ``spec.schedulerName`` is among those of ``configuration`` ("*": all);
    those of other schedulers count on the nodes that they are bound to. ``needs``: what the solver's models look at,
    which tells pods apart, in the words of ``Welcome``. ``clock`` is monotonic. ``quarantine`` takes what cannot be
    dealt with: whatever is said here of one object, only that one is set aside. ``stories`` are told each step of each
    pod. Not thread-safe.
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
        self.quarantine = quarantine if quarantine is not None else Quarantine()
        """What could not be dealt with."""
        stores = open_stores(configuration, needs, clock, wall, self.quarantine, stories or Stories(clock))
        self.gangs = stores.gangs
        """The groups of pods, whose objects their reflectors write."""
        self.samples = stores.samples
        """The latest samples of use, which sources write."""
        self.custom_records = stores.custom_records
        """Records out of custom resources, which their reflectors write."""
        self.applications = stores.applications
        """Applications and networks, which their controllers look after; None if nobody looks at them."""
        self.custom_resources = _custom_resources(stores)
        """What is to be followed for ``custom_records``: what some overlay reads."""
        self._classes = stores.classes
        self._machines = stores.machines
        self._namespaces = stores.namespaces
        self._tasks = stores.tasks
        self._requested = stores.requested
        self._stories = stores.stories
        self._bind_check = stores.bind_check
        self._volumes = stores.volumes
        self._storage = stores.storage
        self._placements = stores.placements
        self._kept_places = stores.kept_places
        self._outages = stores.outages
        self._outage_news: list[Action] = []
        self._refused = stores.refused
        self._refusals = stores.refusals
        self._nodes = Nodes(stores)
        self._pods = Pods(frozenset(configuration.scheduler_names), stores, clock)
        self.event_stream = EventStream(stores)
        """The same as ``snapshot`` and ``take_events``, one by one."""

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
        return self._requested.used(node)

    def pending_count(self) -> int:
        """How many pods wait for a node. Looks at every record; may be called from another thread."""
        return sum(1 for record in list(self._tasks) if record.schedulable and not record.place)

    def records(self) -> Iterable[PodRecord]:
        """Return all pods that the solver should know of, as they are; may be called from another thread."""
        return list(self._tasks)

    def created(self, uid: str) -> float:
        """Return when a pod was created, in seconds since the epoch; 0 if it is not known."""
        record = self._tasks.get(uid)
        return record.task.created if record is not None else 0.0

    def is_pending(self, uid: str) -> bool:
        """Whether a pod waits for a node."""
        record = self._tasks.get(uid)
        return record is not None and record.schedulable and not record.place

    def held(self) -> dict[str, str]:
        """Return why pods, by uid, are not offered to the solver although they are for it to place."""
        return {each.task.uid: each.waits_for for each in self._tasks if each.phase is Phase.HELD}

    def offer(self, uid: str) -> None:
        """Let the solver look at a pod whatever holds it back, for it to be explained."""
        self._pods.offer(uid)

    def story(self, uid: str) -> list[str]:
        """Return what has become of a pod lately, step by step, as lines for people; may be called from any thread."""
        return self._stories.of(uid)

    def violations(self) -> list[str]:
        """Return what does not hold of the pods here although it always must. Looks at every pod; for debugging."""
        return violations(
            self._tasks, self._placements.dependencies, self._volumes, self._requested, self._bind_check
        )

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
        self._nodes.take(changes)
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

    def csi_drivers_changed(self, changes: Sequence[Change[CsiDriver]]) -> None:
        """Take drivers as they are now."""
        self._volumes.csi_drivers_changed(changes)
        self._storage.apply()

    def storage_capacities_changed(self, changes: Sequence[Change[CsiStorageCapacity]]) -> None:
        """Take what volumes can be made as it is now."""
        self._volumes.storage_capacities_changed(changes)
        self._storage.apply()

    def priority_classes_changed(self, changes: Sequence[Change[PriorityClass]]) -> None:
        """Take priority classes as they are now. They count for pods seen from here on, as in admission."""
        self._pods.take_priority_classes(changes)

    @property
    def wants_daemon_sets(self) -> bool:
        """Whether it makes a difference which DaemonSets exist."""
        return self._classes.visibility.daemons

    def daemon_sets_changed(self, changes: Sequence[Change[ScaledOwner]]) -> None:
        """Take DaemonSets as they are now."""
        self._pods.take_daemon_sets(changes)

    def namespaces_changed(self, changes: Sequence[Change[Namespace]]) -> None:
        """Take namespaces as they are now."""
        for change in changes:
            if change.object is not None:
                self._namespaces.put(change.uid, change.object)
            else:
                self._namespaces.remove(change.uid)

    def services_changed(self, changes: Sequence[Change[Service]]) -> None:
        """Take services as they are now."""
        self._pods.take_services(changes)

    def pods_changed(self, changes: Sequence[Change[Pod]]) -> None:
        """Take pods as they are now."""
        self._pods.take(changes)

    # --- what the solver and the binder say ----------------------------------------------------------------

    def on_round(self, result: pb.RoundResult) -> None:
        """Take the result of a round."""
        self._placements.on_round(result)
        for group in result.unscheduled:
            for uid in group.tasks:
                self._pods.without_kept_place(uid)
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

    def claim_granted(self, write: ClaimWrite) -> None:
        """Take the claims of the pod behind a write as bound, whatever claims and volumes say."""
        self._storage.refused(write, "")

    def expire(self) -> None:
        """Give up what has taken too long, and say what was put off. To be called about every second."""
        self._storage.expire()
        self._kept_places.expire()
        self._placements.announce_due()
        self.gangs.expire()

    def solver_answers(self, answers: bool) -> None:
        """Take whether a solver answers at present. To be called about every second."""
        self._outage_news += self._outages.look(solver_answers=answers)

    # --- what is to be said and done -----------------------------------------------------------------------

    def snapshot(self) -> list[pb.Event]:
        """Return everything, for a solver that knows nothing; later events are relative to it.

        Pods that are being bound stand in it as assumed on their nodes.
        """
        return list(self.event_stream.snapshot())

    def take_events(self) -> list[pb.Event]:
        """Return what the solver has to be told, once, in an order in which it can be applied."""
        return list(self.event_stream.take_events())

    def refused(self, event: pb.Event, reason: str) -> None:
        """The solver has refused an event, and with it the batch and the stream that it came by."""
        self.event_stream.refused(event, reason)

    def take_reports(self) -> list[pb.BindingReport]:
        """Return what has become of the solver's deltas, once."""
        return self._placements.take_reports()

    def take_place_outcomes(self) -> Counter[str]:
        """Return what has become of places that were kept for moved pods, once."""
        return self._kept_places.take_outcomes()

    @property
    def suspicious_deltas(self) -> int:
        """How many deltas came so far that no solver asks for which knows the cluster."""
        return self._refusals.suspicious

    def take_refusals(self) -> Counter[tuple[Kind, Reason]]:
        """Return how many of the solver's deltas were not carried out, by what they ask for and why, once."""
        return self._refusals.take()

    def take_actions(self) -> list[Action]:
        """Return what has to be done, once."""
        news, self._outage_news = self._outage_news, []
        return [
            *news,
            *self._placements.take_actions(),
            *self.gangs.take_actions(),
            *self._refused.take_actions(),
        ]


def _custom_resources(stores: Stores) -> tuple[CustomResource[Any], ...]:
    """Return what becomes records for models, as far as some model looks at it."""
    budgets = budget_resource(stores.classes)
    if RECORD_KIND not in stores.classes.visibility.records:
        return (budgets,)
    return budgets, node_topology_resource(stores.tasks.on_node, stores.classes)
