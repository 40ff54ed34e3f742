"""A plan of moves: what an objective asks for, in waves."""

from __future__ import annotations

from dataclasses import dataclass

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.pods.resources import effective_requests
from poseidon.rescheduling.cluster_access import FREED
from poseidon.rescheduling.moves import PlannedMove, Waves, in_waves
from poseidon.rescheduling.objectives import Objective, ObjectiveOptions, Wanted, choose
from poseidon.rescheduling.standing import Standing, standing


@dataclass(frozen=True, slots=True)
class PlannedMoves:
    """``freed``: nodes that are empty after the moves; ``given_back``: those that were to be freed by an earlier plan,
    and are not; ``released``: how many pods of ours may be moved as far as their
    owners are concerned; ``notes``: for people.
    """

    waves: Waves
    freed: tuple[str, ...]
    given_back: tuple[str, ...]
    released: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def plan_moves(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    options: ObjectiveOptions,
    at_once: int,
) -> PlannedMoves:
    """Return the moves of pods that an objective asks for, in waves of ``at_once``."""
    found = standing(manifests, configuration, now, local_data_may_go=options.local_data_may_go)
    chosen = choose(found, options)
    free = {each.node: each.free for each in found.plan.nodes}
    moves = [_planned(found.running.pods[each.uid], each) for each in chosen.moves]
    waves, freed = in_waves(moves, free, at_once), chosen.freed
    given_back: tuple[str, ...] = ()
    if options.objective is Objective.FREE_NODES:
        left = {move.source for move in waves.left}
        freed = tuple(name for name in chosen.freed if name not in left)
        given_back = tuple(sorted(_half_freed(manifests, found) - set(freed)))
    return PlannedMoves(waves, freed, given_back, found.released, chosen.notes, found.warnings)


def _half_freed(manifests: Manifests, found: Standing) -> set[str]:
    """Nodes that an earlier plan has cordoned, and that still have pods which would have to move."""
    busy = {node for uid, node in found.running.nodes.items() if uid not in found.running.goes}
    return {
        node.metadata.name
        for node in manifests.nodes
        if FREED in node.metadata.annotations and node.metadata.name in busy
    }


def _planned(pod: Pod, wanted: Wanted) -> PlannedMove:
    metadata = pod.metadata
    owner = metadata.controller()
    assert owner is not None, "pods without a controller are no candidates"
    return PlannedMove(
        f"{metadata.namespace}/{metadata.name}",
        pod.spec.node_name,
        wanted.target,
        wanted.why,
        wanted.saves,
        (metadata.namespace, owner.kind, owner.name),
        {**effective_requests(pod.spec, []), "pods": 1},
    )
