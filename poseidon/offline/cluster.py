"""Builds a cluster from manifests: a bridge's state, a solver in this process, an API that accepts all writes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from poseidon.app_network.options import NetworkArguments, are_read
from poseidon.bridge.state import BridgeState
from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedScheduler
from poseidon.group_trees.spec.trees import models_need_trees
from poseidon.kube.api import kinds
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindOutcome, BindRequest, BindResult
from poseidon.kube.write.device_claim_writer import DeviceClaimWrite
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest
from poseidon.kube.write.volume_claim_writer import GiveVolume, SelectNode
from poseidon.lifecycle.actions import Bind, Evict, WithdrawEviction
from poseidon.manifests.controllers.applications import OrderedAppGroup, read_applications
from poseidon.manifests.left_out_objects import pods_left_out
from poseidon.manifests.loader import Manifests
from poseidon.manifests.missing_references import (
    warn_of_ignored_settings,
    warn_of_missing_app_groups,
    warn_of_missing_daemon_sets,
    warn_of_missing_groups,
)
from poseidon.metrics_sources.listed import take_listed
from poseidon.numa.node_topology import RECORD_KIND
from poseidon.offline.device_controllers import apply_report, make_write
from poseidon.offline.feeding import as_created, as_pending, feed
from poseidon.offline.refused_objects import apply_events
from poseidon.pods.scheduling_gates import GATED_REASON
from poseidon.pods.tasks import Disposition, classify_pod, get_qualified_name, scheduler_of
from poseidon.pods.visibility import visible_to
from poseidon.queues.model import QuotaNode
from protos.firmament.v1 import scheduler_pb2 as pb

_STAYS = "nobody needs its place any more"


@dataclass(slots=True)
class OfflineCluster:
    """A cluster made from manifests, with a solver in this process. The uid of a pod is ``namespace/name``."""

    scheduler: EmbeddedScheduler
    """The solver in this process."""
    state: BridgeState
    """The state of the bridge, which holds the cluster's objects."""
    held: Mapping[str, str]
    """Why some pods are not to be scheduled yet, by uid."""
    warnings: tuple[str, ...]
    """Warnings about the input, one line each, for people."""
    app_groups: tuple[OrderedAppGroup, ...]
    """The order of each application's workloads, even if no cost model uses it."""
    pods: dict[str, Pod]
    """Pods by uid; their status names the ResourceClaims that the bridge has made for them."""
    is_live: bool = False
    """Whether the objects come from a live cluster, directly or through saved files."""
    now: float = 0.0
    """The present time, in seconds since the epoch."""
    victims: dict[str, str] = field(default_factory=dict)
    """By uid of a pod that is to be evicted, the node that it will leave."""
    annotated: dict[str, dict[str, str]] = field(default_factory=dict)
    """By uid, annotations that the bridge has written on pods for programs that share out GPUs."""
    failed: dict[str, str] = field(default_factory=dict)
    """By uid, why the bridge could not carry out a decision about the pod."""
    _evictions: dict[str, Evict] = field(default_factory=dict)
    """Evictions that have begun and not ended, by uid."""
    _bound: dict[str, str] = field(default_factory=dict)
    """Nodes by uid of bound pods."""

    def run_round(self) -> pb.RoundResult:
        """Run a round and carry out its decisions: pods are bound at once, victims stay until ``remove_victims``.

        The bridge's state learns of the bindings when the next round begins.
        """
        self._show_bindings()
        result = self.scheduler.run_round()
        self.state.on_round(result)
        self._act()
        return result

    def assume_quotas(self, quotas: Iterable[QuotaNode]) -> None:
        """Replace quotas by ``quotas``, even if the objects of their queues state other amounts."""
        known_queues = self.state.queues
        if known_queues is not None:
            for quota in quotas:
                known_queues.assume(quota)
            self._act()

    def remove_victims(self) -> None:
        """Remove from the cluster all pods that are to be evicted."""
        if self.victims:
            self.state.pods_changed([Change(uid, None) for uid in self.victims])
            self._act()

    def is_placed(self, uid: str, node: str) -> bool:
        """Return whether a pod is on a node, or about to be bound to it."""
        return self.state.node_of(*uid.split("/", 1)) == node

    def runs(self, uid: str) -> bool:
        """Return whether a pod was on a node when the cluster was built."""
        pod = self.pods[uid]
        return classify_pod(pod) is Disposition.BOUND and pod.spec.node_name in self.state.machines

    def consider(self, uid: str) -> None:
        """Pass a pod to the solver as pending, even if it is held back or bound, so that the solver can explain it."""
        if uid not in {task.uid for task in self.scheduler.tasks()}:
            self.state.pods_changed([Change(uid, None)])  # A pod that was bound never waits again.
            self.state.pods_changed([Change(uid, as_pending(self.pods[uid]))])
            self.state.send_for_explanation(uid)
            self._act()

    def _act(self) -> None:
        """Carry out the actions that the bridge's state asks for, and pass its reports and events to the solver."""
        while actions := self.state.take_actions():
            for action in actions:
                if isinstance(action, Bind):
                    self._bind(action)
                elif isinstance(action, Evict):
                    self._evictions[action.pod.uid] = action
                    self.victims[action.pod.uid] = action.node
                elif isinstance(action, SelectNode | GiveVolume):
                    self.state.claim_refused(action, "")
                elif isinstance(action, DeviceClaimWrite):
                    self.annotated.update(make_write(self.state, action, self.now))
                    apply_report(self.pods, action)
                elif isinstance(action, WithdrawEviction) and self.victims.pop(action.uid, ""):
                    request = EvictionRequest(*self._evictions.pop(action.uid))
                    self.state.eviction_ended(EvictionOutcome(request, _STAYS))
        reports = self.state.take_reports()
        self.failed.update((each.task, each.reason) for each in reports if not each.bound)
        self.scheduler.report(reports)
        apply_events(self.scheduler, self.state, self.state.take_events(), is_live=self.is_live)

    def _show_bindings(self) -> None:
        """Pass the bindings made since the last call to the bridge's state, as a real bridge's watch would."""
        if self._bound:
            bound, self._bound = self._bound, {}
            pods = ((uid, self.pods[uid], node) for uid, node in bound.items())
            changes = [
                Change(uid, replace(pod, spec=replace(pod.spec, node_name=node))) for uid, pod, node in pods
            ]
            self.state.pods_changed(changes)
            self._act()

    def _bind(self, action: Bind) -> None:
        pod, node = action.pod, action.node
        request = BindRequest(pod.uid, pod.namespace, pod.name, node)
        refusal = self.state.refusal(pod.uid, node)
        result = BindResult.WITHHELD if refusal else BindResult.BOUND
        self.state.binding_ended(BindOutcome(request, result, refusal))
        if not refusal:
            self._bound[pod.uid] = node


def build_offline_cluster(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    *,
    scheduler_names: frozenset[str] = frozenset(),
    clock: Callable[[], float] | None = None,
    simulated: bool = False,
) -> OfflineCluster:
    """Pass all manifests to the state of a bridge, and the events that it makes of them to a new solver.

    All pending pods take part; if ``scheduler_names`` are given, only pods that name one of these schedulers. ``now``
    (seconds since the epoch) is the creation time of objects that state none. Unless a ``clock`` is given, ``now`` is
    also the solver's constant time. ``simulated`` has the same meaning as for ``EmbeddedScheduler``. Pods that run on
    a node outside the input are left out with a warning. Objects of a live cluster that the solver refuses are also
    left out; if the solver refuses objects of files, the function raises ``ManifestError``.
    """
    scheduler = EmbeddedScheduler(configuration, clock or (lambda: now), simulated=simulated)
    adapted = _adapt(configuration, scheduler_names, is_live=manifests.is_live)
    state = BridgeState(adapted, scheduler.needs, clock=lambda: now, wall=lambda: now)
    records = visible_to(scheduler.needs).records
    suspended = manifests.suspended if adapted.queues.enforces("kueue") else ()
    pods = {each.metadata.uid: as_created(each, now) for each in (*manifests.pods, *suspended)}
    refused = manifests.refused
    # If each scheduler sees only its own pods, a group consists of the pods of one scheduler. If schedulers are
    # chosen, a group therefore consists of the pods of the chosen schedulers.
    state.groups.one_scheduler = bool(scheduler_names)
    feed(
        manifests,
        state,
        [pod for uid, pod in pods.items() if uid not in refused],
        trees=models_need_trees(records),
    )
    nodes = {node.metadata.name for node in manifests.nodes}
    elsewhere, of_others, gated = _sort_out(pods.values(), nodes, scheduler_names)
    held = {**state.list_held(), **refused, **{pod.metadata.uid: GATED_REASON for pod in gated}}
    applications = read_applications(
        manifests.for_models, configuration.network.percentile_by(configuration.arguments(NetworkArguments))
    )
    warnings = [*applications.warnings]
    if are_read(records):
        warnings += warn_of_missing_app_groups(
            manifests.pods, [each.app_group for each in applications.app_groups]
        )
    warnings += _warnings(manifests, state, pods_left_out(elsewhere, of_others))
    warnings += take_listed(manifests.for_models, state.samples, state, now)
    warnings += apply_events(scheduler, state, state.snapshot(), is_live=manifests.is_live)
    state.take_actions()
    return OfflineCluster(
        scheduler, state, held, tuple(warnings), applications.app_groups, pods, manifests.is_live, now
    )


def _adapt(
    configuration: BridgeConfiguration, scheduler_names: frozenset[str], *, is_live: bool
) -> BridgeConfiguration:
    """Return the configuration with these scheduler names (all names if none is given) and unlimited evictions."""
    unhurried = configuration.evictions.model_copy(update={"burst": sys.maxsize})
    queues = configuration.queues
    if not is_live:  # Offline, no other program admits pods.
        queues = queues.model_copy(update={"admission": "poseidon"})
    names = tuple(scheduler_names) or (ANY_SCHEDULER,)
    return configuration.model_copy(
        update={"scheduler_names": names, "evictions": unhurried, "queues": queues}
    )


def _sort_out(
    pods: Iterable[Pod], nodes: Collection[str], scheduler_names: frozenset[str]
) -> tuple[list[Pod], list[Pod], list[Pod]]:
    """Return three lists: pods on nodes that are not in ``nodes``, waiting pods of other schedulers, and gated pods."""
    elsewhere: list[Pod] = []
    of_others: list[Pod] = []
    gated: list[Pod] = []
    for pod in pods:
        how = classify_pod(pod)
        waits = how in (Disposition.PENDING, Disposition.GATED)
        if how is Disposition.BOUND and pod.spec.node_name not in nodes:
            elsewhere.append(pod)
        elif waits and scheduler_names and scheduler_of(pod) not in scheduler_names:
            of_others.append(pod)
        elif how is Disposition.GATED:
            gated.append(pod)
    return elsewhere, of_others, gated


def _warnings(manifests: Manifests, state: BridgeState, left_out: Iterator[str]) -> Iterator[str]:
    """Yield the bridge's warnings about objects, the lines of ``left_out``, and lines about missing objects."""
    for described, text in state.gangs.topology.problems():
        yield f"ConfigMap {get_qualified_name(described.found.metadata)}: {text}"
    yield from warn_of_ignored_settings(state.gangs.groups)
    yield from _about_queues(manifests, state)
    yield from left_out
    yield from warn_of_missing_groups(state.gangs.groups)
    for name, defects in state.custom_records.complaints(RECORD_KIND).items():
        yield from (f"{RECORD_KIND} {name}: {defect}" for defect in defects)
    if state.follows(kinds.DAEMON_SET) and manifests.daemon_sets:
        yield from warn_of_missing_daemon_sets(manifests.pods, manifests.daemon_sets)
    for kind, name, reason in state.quarantine:
        yield f"{kind} {name} cannot be handled, and is set aside: {reason}"


def _about_queues(manifests: Manifests, state: BridgeState) -> Iterator[str]:
    """Yield warnings: faults in queues, settings of queues without effect here, and queues that are not read."""
    if state.queues is not None:
        yield from state.queues.list_remarks()
    structs = {kind.struct: kind.name for kind in kinds.QUEUES if not state.follows(kind)}
    unread = Counter(structs[type(each)] for each in manifests.for_models if type(each) in structs)
    if unread:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(unread.items()))
        yield f"queues are not read ({counts}); name their project in queues.source of the configuration"
