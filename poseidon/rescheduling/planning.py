"""Plans the moves that serve an objective, and divides them into waves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.pods.requests_and_limits import effective_requests
from poseidon.rescheduling.cluster_access import FREED
from poseidon.rescheduling.failures import list_failed, state_digest
from poseidon.rescheduling.initial_cluster import InitialCluster, examine
from poseidon.rescheduling.moves import PlannedMove, Waves, divide_into_waves
from poseidon.rescheduling.objectives import (
    Choice,
    Objective,
    ObjectiveOptions,
    Wanted,
    choose_moves,
    rehearse,
)


@dataclass(frozen=True, slots=True)
class PlannedMoves:
    """A plan of moves in waves."""

    waves: Waves
    """The moves, in waves."""
    freed: tuple[str, ...]
    """Nodes that will be empty after the moves."""
    given_back: tuple[str, ...]
    """Nodes that an earlier plan cordoned to free them, and that this plan does not free; they are uncordoned."""
    released: int
    """How many pods of this scheduler their owners allow to be moved."""
    notes: tuple[str, ...]
    """Notes for people."""
    warnings: tuple[str, ...]
    """Warnings for people."""
    state: str = ""
    """Digest of the cluster's state; every change that matters for freeing nodes changes it."""


def plan_moves(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    options: ObjectiveOptions,
    at_once: int,
) -> PlannedMoves:
    """Return a plan of the moves that serve an objective, in waves of at most ``at_once`` moves.

    A trial round has placed each pod on its target, in the state that holds during its wave: nodes to be freed are
    cordoned, and all earlier waves have been carried out.
    """
    state = state_digest(manifests)
    failed = list_failed(manifests.nodes, state)
    found = examine(manifests, configuration, now, local_data_may_go=options.local_data_may_go)
    chosen = choose_moves(found, replace(options, failed=frozenset(failed)))
    waves, freed, notes = _keep_proven(
        found, chosen, at_once, freeing=options.objective is Objective.FREE_NODES
    )
    given_back: tuple[str, ...] = ()
    if options.objective is Objective.FREE_NODES:
        given_back = tuple(sorted(_list_half_freed(manifests, found) - set(freed)))
    return PlannedMoves(
        waves, freed, given_back, found.released, (*chosen.notes, *notes), found.warnings, state
    )


def _keep_proven(
    found: InitialCluster, chosen: Choice, at_once: int, *, freeing: bool
) -> tuple[Waves, tuple[str, ...], list[str]]:
    """Return the moves that reach their targets when made in waves, the nodes that they free, and notes for people.

    If one pod of a node that is to be freed cannot reach its target, no pod of that node moves.
    """
    free = {each.node: each.free for each in found.plan.nodes}
    moves = [_make_move(found.running.pods[each.uid], each) for each in chosen.moves]
    freed, notes = chosen.freed, list[str]()
    while True:
        waves = divide_into_waves(moves, free, at_once)
        if not waves.waves and not (freeing and waves.left):
            return waves, freed, notes
        failed = rehearse(found, [{move.pod: move.target for move in wave} for wave in waves.waves], freed)
        if not freeing:
            notes += [f"pod {name} stays: its new node is not free when it leaves" for name in sorted(failed)]
            proven = (tuple(move for move in wave if move.pod not in failed) for wave in waves.waves)
            return Waves(tuple(wave for wave in proven if wave), waves.left), freed, notes
        staying = {move.source for move in moves if move.pod in failed or move in waves.left}
        if not staying:
            return waves, freed, notes
        notes += [f"node {name} cannot be freed by one move after the other" for name in sorted(staying)]
        freed = tuple(name for name in freed if name not in staying)
        moves = [each for each in moves if each.source not in staying]


def _list_half_freed(manifests: Manifests, found: InitialCluster) -> set[str]:
    """Return the nodes that an earlier plan has cordoned, and on which pods still run that would have to move."""
    busy = {node for uid, node in found.running.nodes.items() if uid not in found.running.goes}
    return {
        node.metadata.name
        for node in manifests.nodes
        if FREED in node.metadata.annotations and node.metadata.name in busy
    }


def _make_move(pod: Pod, wanted: Wanted) -> PlannedMove:
    metadata = pod.metadata
    owner = metadata.controller()
    assert owner is not None, "pods without a controller are not moved"
    return PlannedMove(
        f"{metadata.namespace}/{metadata.name}",
        pod.spec.node_name,
        wanted.target,
        wanted.why,
        wanted.saves,
        (metadata.namespace, owner.kind, owner.name),
        {**effective_requests(pod.spec, []), "pods": 1},
    )
