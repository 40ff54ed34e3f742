"""The cluster before any move: which pods run where, which may be moved, and which wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedScheduler
from poseidon.kube.api.nodes import Namespace
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import build
from poseidon.offline.evictability import RunningPods, running_pods
from poseidon.offline.movable import move_prices
from poseidon.offline.plan import Plan, plan_of
from poseidon.pods.moves import parse_announced_move
from poseidon.pods.tasks import scheduler_of
from protos.firmament.v1 import scheduler_pb2 as pb

RESCHEDULE = "firmament.io/reschedule"
"""Label of a namespace, and annotation of a pod, which goes before it."""

ALLOW, DENY = "allow", "deny"


class Permission:
    """``faults``: what was said that makes no sense; it allows nothing. Pods without any such statement stay."""

    def __init__(self, namespaces: Iterable[Namespace]) -> None:
        self.faults: list[str] = []
        self._allowed = {
            each.metadata.name
            for each in namespaces
            if self._allows(f"namespace {each.metadata.name}: label", each.metadata.labels, default=False)
        }

    def allows(self, pod: Pod) -> bool:
        """Return whether the owners of a pod allow moving it."""
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
        fault = f"{where} {RESCHEDULE} is {value!r}; write {ALLOW} or {DENY}; nothing of it moves"
        if fault not in self.faults:
            self.faults.append(fault)
        return False


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster before moves are planned. Keys are uids, which are ``namespace/name`` here."""

    configuration: BridgeConfiguration
    """The bridge's configuration."""
    now: float
    """Seconds since the epoch."""
    scheduler: EmbeddedScheduler
    """A solver that knows the cluster, with all pods placed that ``plan`` places."""
    events: tuple[pb.Event, ...]
    """Events that describe the cluster as it is."""
    pods: Mapping[str, Pod]
    """All pods."""
    plan: Plan
    """Placements of the pods that wait."""
    running: RunningPods
    """The pods that run."""
    prices: Mapping[str, float]
    """Points for moving a pod, for pods that may move."""
    released: int
    """How many pods their owners allow to move, whatever else keeps them."""
    warnings: tuple[str, ...]
    """Warnings for people."""

    @property
    def staying(self) -> Mapping[str, str]:
        """Pods that run, do not end with their nodes, and may not be moved; and why."""
        stays = self.running.pods.keys() - self.running.goes - self.prices.keys()
        return {uid: self.running.stays.get(uid, "is not released") for uid in stays}


def standing(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    *,
    local_data_may_go: bool = False,
) -> Standing:
    """Look at a cluster. Pods that make way for others are not moved besides, nor is one that is being moved."""
    cluster = build(manifests, configuration, now)
    events = tuple(cluster.state.snapshot())
    plan = plan_of(cluster, manifests)
    running = running_pods(cluster, manifests, local_data_may_go=local_data_may_go)
    permission = Permission(manifests.namespaces)
    names = configuration.scheduler_names

    def is_released(pod: Pod) -> bool:
        ours = ANY_SCHEDULER in names or scheduler_of(pod) in names
        return ours and not parse_announced_move(pod, now)[0] and permission.allows(pod)

    released = {uid for uid, pod in running.pods.items() if uid not in running.goes and is_released(pod)}
    leaving = {each.pod for each in plan.preemptions}
    movable = (uid for uid in running.movable if uid in released and uid not in leaving)
    prices, faults = move_prices(running.pods[uid] for uid in movable)
    return Standing(
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
