"""Running pods that would be better off elsewhere, once all else of a plan has happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poseidon.offline.movable import move_prices, running_pods

if TYPE_CHECKING:
    from collections.abc import Collection

    from poseidon.manifests.loader import Manifests
    from poseidon.offline.cluster import OfflineCluster


MOVE_COST = 20.0
"""Points that a move saves at least to be worth it, unless asked for otherwise."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A running pod that would be better off elsewhere, and the points that its move saves."""

    pod: str
    source: str
    target: str
    saves: float


def find_migrations(
    cluster: OfflineCluster,
    manifests: Manifests,
    leaving: Collection[str],
    move_cost: float,
) -> tuple[tuple[Migration, ...], list[str]]:
    """Return moves that each save more than ``move_cost`` points, those that save most first.

    Also returns faults of annotations. ``leaving``: uids of pods that have to go anyway.
    """
    running = running_pods(cluster.pods, manifests)
    prices, faults = move_prices(running.pods[uid] for uid in running.movable if uid not in leaving)
    moves = cluster.scheduler.cheaper(prices, move_cost, None).moves
    return tuple(Migration(each.uid, each.source, each.target, each.gain) for each in moves), faults
