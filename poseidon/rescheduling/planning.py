"""Which moves of running pods pay in a cluster as it is, once those who wait have their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poseidon.bridge.watched_pods import ANY_SCHEDULER
from poseidon.offline.cluster import build
from poseidon.offline.migrations import find_migrations
from poseidon.offline.plan import plan_of
from poseidon.pods.moves import MOVE_TO
from poseidon.pods.requests.resources import effective_requests
from poseidon.pods.tasks import scheduler_of
from poseidon.rescheduling.move import PlannedMove
from poseidon.rescheduling.permission import Permission
from poseidon.rescheduling.waves import Waves, in_waves

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.kube.api.core import Pod
    from poseidon.manifests.loader import Manifests


@dataclass(frozen=True, slots=True)
class MoveLimits:
    """Each move saves at least ``move_cost`` points; no more than ``most`` are made, and ``at_once`` in a wave."""

    move_cost: float = 20.0
    most: int = 100
    at_once: int = 10


@dataclass(frozen=True, slots=True)
class PlannedMoves:
    """``released``: how many pods of ours may be moved as far as their owners are concerned."""

    waves: Waves
    released: int
    warnings: tuple[str, ...]


def plan_moves(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, limits: MoveLimits
) -> PlannedMoves:
    """Return the moves of pods of our schedulers that pay.

    Pods that wait have their places before, and pods that make way for them are not moved besides. A move that is under
    way is not planned again.
    """
    cluster = build(manifests, configuration, now)
    plan = plan_of(cluster, manifests)
    permission = Permission(manifests.namespaces)
    names = configuration.scheduler_names

    def may_move(pod: Pod) -> bool:
        ours = ANY_SCHEDULER in names or scheduler_of(pod) in names
        return ours and MOVE_TO not in pod.metadata.annotations and permission.allows(pod)

    allowed = frozenset(uid for uid, pod in cluster.pods.items() if pod.spec.node_name and may_move(pod))
    leaving = {each.pod for each in plan.preemptions}
    migrations, faults = find_migrations(cluster, manifests, leaving, limits.move_cost, allowed, limits.most)
    free = {each.node: each.free for each in plan.nodes}
    moves = [_planned(cluster.pods[each.pod], each.source, each.target, each.saves) for each in migrations]
    warnings = (*plan.warnings, *permission.faults, *faults)
    return PlannedMoves(in_waves(moves, free, limits.at_once), len(allowed), warnings)


def _planned(pod: Pod, source: str, target: str, saves: float) -> PlannedMove:
    metadata = pod.metadata
    owner = metadata.controller()
    assert owner is not None, "pods without a controller are no candidates"
    return PlannedMove(
        f"{metadata.namespace}/{metadata.name}",
        source,
        target,
        saves,
        (metadata.namespace, owner.kind, owner.name),
        {**effective_requests(pod.spec, []), "pods": 1},
    )
