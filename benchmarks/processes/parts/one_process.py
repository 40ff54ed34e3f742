"""Runs the simulated cluster, the bridge's state and the solver in one process and in one simulated time.

No part waits: the caller moves the clock. Objects pass between the parts in the same form as over HTTP and gRPC:
encoded by the cluster, decoded by the bridge, sent to the solver as the protocol's messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from poseidon.bridge.state import BridgeState
from poseidon.embedding import EmbeddedScheduler
from poseidon.kube.api.decoding import decode_object
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.other_projects.metrics import NodeMetric
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.lifecycle.actions import Bind
from poseidon.metrics_sources.intake import Intake, SourceMetrics
from poseidon.metrics_sources.koordinator import NodeMetricTaker
from poseidon.metrics_sources.samples import NODE_METRIC
from poseidon.testbed.api_server.measured_use import KoordletSimulation, ReportOptions
from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.controllers.kubelet import KubeletSimulation
from poseidon.testbed.controllers.true_use import TrueUse
from poseidon.testbed.objects.binding import Binding, bind
from poseidon.testbed.objects.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from protos.configuration.sections import Document

    T = TypeVar("T", bound=KubeStruct)

_HISTORY = 200_000


class SteppedCluster:
    """A cluster in simulated time, which ``advance`` moves on from ``start`` (seconds since the epoch)."""

    def __init__(self, configuration: Document, reports: ReportOptions, *, start: float, seed: int) -> None:
        self.now = start
        self.rounds = 0
        store = Store(clock=lambda: self.now, history_limit=_HISTORY, seed=seed)
        self.operations = Operations(store)
        self.use = TrueUse(store)
        self._store = store
        self._koordlets = KoordletSimulation(self.operations, self.use, reports)
        self._kubelets = KubeletSimulation(store)
        self._scheduler = EmbeddedScheduler(configuration, lambda: self.now)
        self.state = BridgeState(needs=self._scheduler.needs)
        intake = Intake(
            NODE_METRIC,
            self.state.samples,
            self.state,
            metrics=SourceMetrics(CollectorRegistry()),
            changed=lambda: None,
        )
        self._metrics = NodeMetricTaker(intake, lambda: self.now)
        names = ("nodes", "pods", "nodemetrics.slo.koordinator.sh")
        self._nodes, self._pods, self._reports = (Follower(store.collection(name)) for name in names)

    def advance(self, seconds: float) -> None:
        """Advance the time, and do all work that is due: reports, rounds, bindings, starts of pods."""
        self.now += seconds
        self._koordlets.advance(self.now)
        self.schedule()
        self._kubelets.advance(self.now)
        self.use.refresh()

    def schedule(self) -> None:
        """Send the cluster's state to the solver, and run rounds until no further pod can be placed."""
        self._look()
        self._scheduler.apply(self.state.take_events())
        while self._scheduler.has_work():
            result = self._scheduler.run_round()
            self.rounds += 1
            self.state.on_round(result)
            if not self._bind():
                return
            reports = self.state.take_reports()
            self._scheduler.report(each for each in reports if each.bound)
            self._look()
            self._scheduler.apply(self.state.take_events())

    def _look(self) -> None:
        """Pass changes in the cluster to the bridge."""
        self.state.nodes_changed(_changes(self._nodes, Node))
        self.state.pods_changed(_changes(self._pods, Pod))
        self._metrics.take_changes(_changes(self._reports, NodeMetric))

    def _bind(self) -> int:
        """Carry out the bindings that the bridge requests; return their number."""
        wanted = [action for action in self.state.take_actions() if isinstance(action, Bind)]
        for action in wanted:
            pod = action.pod
            binding = Binding()
            binding.target.name = action.node
            bind(self._store, pod.namespace, pod.name, binding)
            request = BindRequest(pod.uid, pod.namespace, pod.name, action.node)
            self.state.binding_ended(BindOutcome(request, BindResult.BOUND))
        return len(wanted)


def _changes(follower: Follower, kind: type[T]) -> Sequence[Change[T]]:
    _, changes = follower.take_changes()
    return [Change(record.uid, None if gone else decode_object(record.raw, kind)) for gone, record in changes]
