"""Which pods could be moved to another node, what keeps the others where they are, and which moves would pay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from poseidon.kube.api.pods import Pod
from poseidon.manifests.budgets import covered_by
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import OfflineCluster
from poseidon.pod_groups.membership import MIRROR_ANNOTATION
from poseidon.pods.daemon_sets import claimed
from poseidon.pods.tasks import Disposition, disposition

REFUSALS: Mapping[str, str] = MappingProxyType(
    {"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
)
"""Annotations, of Karpenter and of cluster-autoscaler, that forbid to move a pod, and the values by which they do."""

MOVE_COST = "firmament.io/move-cost"
"""Annotation: points that moving the pod costs, beside what every move costs."""

_MOST_PRICE = 10_000_000

WORTH_MOVING = 20.0
"""Points that a move saves at least to be worth it, unless asked for otherwise."""


def goes_with_its_node(pod: Pod) -> bool:
    """Whether a pod ends before its node does, or with it: one that is being deleted, of a DaemonSet, or static."""
    being_deleted = pod.metadata.deletion_timestamp is not None
    return being_deleted or claimed(pod) is not None or MIRROR_ANNOTATION in pod.metadata.annotations


class RunningPods(NamedTuple):
    """``pods`` that are on nodes, by uid; of them ``goes`` end with their nodes, ``stays`` must not move, and why."""

    pods: Mapping[str, Pod]
    goes: frozenset[str]
    stays: Mapping[str, str]

    @property
    def nodes(self) -> dict[str, str]:
        """The node of each."""
        return {uid: pod.spec.node_name for uid, pod in self.pods.items()}

    @property
    def movable(self) -> list[str]:
        """Those that may be moved, in order of uid."""
        return sorted(self.pods.keys() - self.goes - self.stays.keys())


def running_pods(pods: Mapping[str, Pod], manifests: Manifests) -> RunningPods:
    """Return those of some pods (by uid) that are on nodes."""
    bound = {uid: pod for uid, pod in pods.items() if disposition(pod) is Disposition.BOUND}
    goes = frozenset(uid for uid, pod in bound.items() if goes_with_its_node(pod))
    stays = obstacles(manifests, (pod for uid, pod in bound.items() if uid not in goes))
    return RunningPods(bound, goes, stays)


def obstacles(manifests: Manifests, pods: Iterable[Pod]) -> dict[str, str]:
    """Return why pods must stay on their nodes, by uid; others may be evicted, and come up elsewhere."""
    listed = list(pods)
    found = {uid: reason for pod in listed for uid, reason in _own(pod)}
    for budget in manifests.budgets:
        if budget.status is not None and budget.status.disruptions_allowed < 1:
            reason = f"PodDisruptionBudget {budget.metadata.name} allows no disruption"
            found |= {pod.metadata.uid: reason for pod in covered_by(budget, listed)}
    return found


def move_prices(pods: Iterable[Pod]) -> tuple[dict[str, float], list[str]]:
    """Return by uid what moving each pod costs, in points, by its annotation, 0 without one; and faults.

    A pod whose annotation makes no sense is left out, and so stays.
    """
    prices: dict[str, float] = {}
    faults: list[str] = []
    for pod in pods:
        stated = pod.metadata.annotations.get(MOVE_COST, "0")
        try:
            price = float(stated)
        except ValueError:
            price = -1.0
        if 0 <= price <= _MOST_PRICE:
            prices[pod.metadata.uid] = price
        else:
            faults.append(
                f"pod {pod.metadata.uid}: annotation {MOVE_COST} is {stated!r}; it must be a number from 0 to "
                f"{_MOST_PRICE:,}; the pod stays"
            )
    return prices, faults


def _own(pod: Pod) -> Iterator[tuple[str, str]]:
    for key, value in REFUSALS.items():
        if pod.metadata.annotations.get(key) == value:
            yield pod.metadata.uid, f"has the annotation {key}: {value}"
    if pod.metadata.controller() is None:
        yield pod.metadata.uid, "has no controller that would replace it"


@dataclass(frozen=True, slots=True)
class PaidMove:
    """A pod (``namespace/name``) that would go from one node to another, and the points that this saves."""

    pod: str
    source: str
    target: str
    saves: float

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {"pod": self.pod, "from": self.source, "to": self.target, "saves": round(self.saves, 2)}


def find_migrations(
    cluster: OfflineCluster, manifests: Manifests, leaving: Collection[str], move_cost: float
) -> tuple[tuple[PaidMove, ...], list[str]]:
    """Return moves that each save more than ``move_cost`` points, those that save most first.

    Also returns faults of annotations. ``leaving``: uids of pods that have to go anyway.
    """
    running = running_pods(cluster.pods, manifests)
    prices, faults = move_prices(running.pods[uid] for uid in running.movable if uid not in leaving)
    moves = cluster.scheduler.cheaper(prices, move_cost, None).moves
    return tuple(PaidMove(each.uid, each.source, each.target, each.gain) for each in moves), faults
