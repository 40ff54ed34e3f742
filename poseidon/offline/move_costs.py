"""Computes what moving a running pod to another node costs, and which moves would pay."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.cluster import OfflineCluster
from poseidon.offline.evictability import list_running_pods

MOVE_COST = "firmament.io/move-cost"
"""Annotation of a pod: how many points moving it costs, in addition to the cost of every move."""

_MOST_PRICE = 10_000_000

WORTH_MOVING = 20.0
"""Points that a move has to save unless the user gives another number."""


def move_prices(pods: Iterable[Pod]) -> tuple[dict[str, float], list[str]]:
    """Return, by uid, the points that moving a pod costs (from its annotation, else 0), and faults of annotations.

    A pod with an invalid annotation is left out, so it is not moved.
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


@dataclass(frozen=True, slots=True)
class PaidMove:
    """A move of a pod (``namespace/name``) from one node to another, and the points that the move saves."""

    pod: str
    source: str
    target: str
    saves: float

    def as_json(self) -> dict[str, Any]:
        """Return the move as the JSON object that the documents describe."""
        return {"pod": self.pod, "from": self.source, "to": self.target, "saves": round(self.saves, 2)}


def find_migrations(
    cluster: OfflineCluster, manifests: Manifests, leaving: Collection[str], move_cost: float
) -> tuple[tuple[PaidMove, ...], list[str]]:
    """Return the moves that save more than ``move_cost`` points each, best first, and faults of annotations.

    ``leaving`` has the uids of pods that are preempted anyway.
    """
    running = list_running_pods(cluster, manifests)
    prices, faults = move_prices(running.pods[uid] for uid in running.movable if uid not in leaving)
    moves = cluster.scheduler.find_cheaper_moves(prices, move_cost, None).moves
    return tuple(PaidMove(each.uid, each.source, each.target, each.gain) for each in moves), faults
