"""Describes the cluster before any move: which pods run where, which may be moved, and which wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedScheduler
from poseidon.kube.api.namespaces import Namespace
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.evictability import RunningPods, list_running_pods
from poseidon.offline.move_costs import move_prices
from poseidon.offline.plan import Plan, schedule_pods
from poseidon.pods.move_annotations import parse_announced_move
from poseidon.pods.tasks import scheduler_of
from protos.firmament.v1 import scheduler_pb2 as pb

RESCHEDULE = "firmament.io/reschedule"
"""Label of a namespace, and annotation of a pod, that allows or forbids moves; the annotation takes precedence."""

ALLOW, DENY = "allow", "deny"


class Permission:
    """Decides by labels and annotations which pods their owners allow to be moved; by default none.

    ``faults`` has a line about each value that is neither ``allow`` nor ``deny``; a faulty value allows no moves.
    """

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self.faults: list[str] = []
        self._allowed = {
            each.metadata.name
            for each in namespaces
            if self._allows(f"namespace {each.metadata.name}: label", each.metadata.labels, default=False)
        }

    def allows(self, pod: Pod) -> bool:
        """Return whether a pod's label or annotation allows moving it."""
        metadata = pod.metadata
        return self._allows(
            f"pod {metadata.namespace}/{metadata.name}: annotation",
            metadata.annotations,
            default=metadata.namespace in self._allowed,
        )

    def _allows(self, where: str, said: Mapping[str, str], *, default: bool) -> bool:
        value = said.get(RESCHEDULE)
        if value in (ALLOW, DENY):
            return value == ALLOW
        if value is None:
            return default
        fault = f"{where} {RESCHEDULE} is {value!r}; write {ALLOW} or {DENY}; no pod of it moves"
        if fault not in self.faults:
            self.faults.append(fault)
        return False


@dataclass(frozen=True, slots=True)
class InitialCluster:
    """The cluster before moves are planned.

    The keys of mappings are uids of pods, which are ``namespace/name`` here.
    """

    configuration: BridgeConfiguration
    """The bridge's configuration."""
    now: float
    """The present time, in seconds since the epoch."""
    scheduler: EmbeddedScheduler
    """A solver that knows the cluster, with all placements of ``plan`` carried out."""
    events: tuple[pb.Event, ...]
    """Events that describe the cluster as it is, without the placements of ``plan``."""
    pods: Mapping[str, Pod]
    """All pods of the cluster, by uid."""
    plan: Plan
    """A plan that places the waiting pods."""
    running: RunningPods
    """The pods that run, and why some of them may not be moved."""
    prices: Mapping[str, float]
    """By uid of a pod that may be moved, the points that moving it costs."""
    released: int
    """How many pods their owners allow to be moved; other rules may still forbid moving some of them."""
    warnings: tuple[str, ...]
    """Warnings for people."""

    @property
    def staying(self) -> Mapping[str, str]:
        """Why running pods may not be moved, by uid; pods that end with their node are left out."""
        stays = self.running.pods.keys() - self.running.goes - self.prices.keys()
        return {uid: self.running.stays.get(uid, "is not allowed to move") for uid in stays}


def examine(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    *,
    local_data_may_go: bool = False,
) -> InitialCluster:
    """Return the cluster before moves. Pods that will be preempted, or are already being moved, may not be moved."""
    cluster = build_offline_cluster(manifests, configuration, now)
    events = tuple(cluster.state.snapshot())
    plan = schedule_pods(cluster, manifests)
    running = list_running_pods(cluster, manifests, local_data_may_go=local_data_may_go)
    permission = Permission(manifests.namespaces)
    names = configuration.scheduler_names

    def is_released(pod: Pod) -> bool:
        ours = ANY_SCHEDULER in names or scheduler_of(pod) in names
        return ours and not parse_announced_move(pod, now)[0] and permission.allows(pod)

    released = {uid for uid, pod in running.pods.items() if uid not in running.goes and is_released(pod)}
    leaving = {each.pod for each in plan.preemptions}
    movable = (uid for uid in running.movable if uid in released and uid not in leaving)
    prices, faults = move_prices(running.pods[uid] for uid in movable)
    return InitialCluster(
        configuration=configuration,
        now=now,
        scheduler=cluster.scheduler,
        events=events,
        pods=cluster.pods,
        plan=plan,
        running=running,
        prices=prices,
        released=len(released),
        warnings=(*plan.warnings, *permission.faults, *faults),
    )
