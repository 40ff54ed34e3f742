"""Applies the state of queues to their pods, and reports that state on the objects of the queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from poseidon.bridge.queues.queue_metrics import FigureKeeper
from poseidon.bridge.stores import Stores
from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef
from poseidon.kube.api.other_projects.queues import ClusterQueue
from poseidon.lifecycle.actions import Action, AnnounceGroup
from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.statuses import QueueStatuses, WorkloadOfPod
from protos.firmament.v1 import scheduler_pb2 as pb


def move_queued_pods(stores: Stores, queues: KnownQueues) -> None:
    """Apply changes of queues and owners to pods: the quota that each pod uses, its priority, and whether it waits."""
    queues.settle()
    if queues.take_topology_change():
        stores.groups.queues_changed()
        stores.gangs.apply()
    for uid in queues.take_moved():
        record = stores.tasks.get(uid)
        if record is None:
            continue
        quota, wait = queues.resolve(uid)
        traits = stores.classes.set_queue(record.task.traits, quota, queues.find_given(quota))
        priority = queues.priorities.find_rank(uid, record.task.priority)
        record.task = replace(record.task, traits=traits, priority=priority)
        stores.tasks.hold(record, queue=wait)
        stores.tasks.mark(uid)
        stores.pending_reasons.consider_wait(record)


class QueueNews:
    """The writes of queues' usage into their statuses, and events about settings that are wrong or have no effect.

    If Kueue admits workloads, this class writes nothing. ``clock`` is monotonic, ``wall`` returns seconds since the
    epoch.
    """

    def __init__(
        self, stores: Stores, queues: KnownQueues, clock: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        self._stores = stores
        self._queues = queues
        self.statuses = QueueStatuses(queues, self._find_workload, clock, wall)
        """Writes the statuses of queues."""
        self.figures = FigureKeeper(queues, self.statuses, clock)
        """Computes the metrics of queues."""
        self._said: dict[tuple[str, EventReason], str] = {}
        self._known: object = None

    def on_round(self, states: Sequence[pb.QueueState]) -> None:
        """Store the solver's reports about quotas that have changed."""
        self.statuses.on_round(states)

    def take_queue_actions(self) -> list[Action]:
        """Return the writes and events since the last call. Call this method about every second."""
        if self._queues.options.admission != "poseidon":
            self._queues.touched.clear()
            return []
        self.figures.refresh()
        writes: list[Action] = [*self.statuses.take_status_writes()]
        if self._queues.quotas is not self._known:
            self._known = self._queues.quotas
            writes += self._announce()
        return writes

    def _announce(self) -> Iterator[Action]:
        for name, quota in self._queues.quotas.items():
            found = self._queues.find_object(name)
            if found is None:
                continue
            kind, each = found
            # A ClusterQueue needs no event: its condition says what is wrong.
            problem = "" if isinstance(each, ClusterQueue) else quota.problem
            texts = {
                EventReason.INVALID_SPEC: problem,
                EventReason.NOT_HONOURED: self._queues.find_ignored(name),
            }
            metadata = each.metadata
            about = ObjectRef(
                kind.api_version, kind.name, metadata.uid, metadata.namespace or "default", metadata.name
            )
            for reason, text in texts.items():
                if text and self._said.get((name, reason)) != text:
                    yield AnnounceGroup(about, reason, text)
                self._said[name, reason] = text

    def _find_workload(self, uid: str) -> WorkloadOfPod | None:
        record = self._stores.tasks.get(uid)
        if record is None:
            return None
        in_group = self._stores.groups.group_of(uid) is not None
        return WorkloadOfPod(record.task.job if in_group else uid, bool(record.place))
