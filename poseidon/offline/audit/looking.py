"""Looks at a cluster: what the programs know of it, and what trials of the solver say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.embedding import EmbeddedTrials
from poseidon.offline.audit.costs import find_costs
from poseidon.offline.audit.cures import find_cures
from poseidon.offline.audit.findings import Audit, Cure, Hot, Misplaced, Move, Staying
from poseidon.offline.cluster import build
from poseidon.offline.movable import goes_with_its_node, move_prices, obstacles
from poseidon.offline.plan import node_uses, plan_of
from poseidon.pods.tasks import Disposition, disposition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.loader import Manifests


_TRIES = 40
"""Of rounds, for the cures of a single pod."""


def make_audit(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    *,
    tries: int,
    budget: int | None,
    move_cost: float,
    hot: Mapping[str, float],
) -> Audit:
    """Look at a cluster. ``tries``: how often a choice of nodes is tried; ``budget``: of moves, None for any number;
    ``move_cost``: points that a move has to save to be worth it; ``hot``: percent of use by resource.
    """
    cluster = build(manifests, configuration, now)
    running = {uid: pod for uid, pod in cluster.pods.items() if disposition(pod) is Disposition.BOUND}
    nodes = {uid: pod.spec.node_name for uid, pod in running.items()}
    goes = {uid for uid, pod in running.items() if goes_with_its_node(pod)}
    stays = obstacles(manifests, (pod for uid, pod in running.items() if uid not in goes))
    keeping = {nodes[uid]: Staying(nodes[uid], uid, why) for uid, why in sorted(stays.items(), reverse=True)}
    names = {node.metadata.name for node in manifests.nodes}
    uses = sorted(node_uses(cluster.scheduler), key=lambda each: each.node)
    known = tuple(cluster.state.snapshot())
    misplaced = sorted(each for each in cluster.scheduler.broken_rules() if each[0] not in goes)
    hottest = sorted(cluster.scheduler.hot(hot), key=lambda each: (-each[2], each))
    waiting = plan_of(cluster, manifests)  # the cluster is another one from here on
    trials = EmbeddedTrials(configuration, lambda: now, known, goes)
    prices, faults = move_prices(running[uid] for uid in sorted(running.keys() - goes - stays.keys()))
    costs = find_costs(trials, prices, nodes, move_cost, budget)
    found = trials.consolidate(names - keeping.keys(), tries, budget)
    cures: tuple[Cure, ...] = ()
    if waiting.pending:
        places = {each.pod: each.node for each in waiting.bindings}
        trials = EmbeddedTrials(configuration, lambda: now, known, {*goes, *stays}, places)
        cures = find_cures(trials, {each.pod for each in waiting.pending}, tries, nodes | places)
    return Audit(
        nodes=len(names),
        pods=len(running),
        freed=tuple(sorted(found.machines)),
        moves=_moves(found.moves, nodes),
        most_freed=found.most,
        staying=tuple(keeping[name] for name in sorted(keeping)),
        overcommitted=tuple(each for each in uses if any(free < 0 for free in each.free.values())),
        hot=tuple(Hot(*each) for each in hottest),
        misplaced=tuple(Misplaced(*each) for each in misplaced),
        pending=waiting.pending,
        cures=cures,
        costs=costs,
        warnings=(*waiting.warnings, *faults),
    )


def cures_of(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, pod: str
) -> tuple[Cure, ...]:
    """Return what would give one pod (uid) that waits a place."""
    cluster = build(manifests, configuration, now)
    known = tuple(cluster.state.snapshot())
    waiting = plan_of(cluster, manifests)
    running = {uid: each for uid, each in cluster.pods.items() if disposition(each) is Disposition.BOUND}
    fixed = {uid for uid, each in running.items() if goes_with_its_node(each)}
    fixed |= obstacles(manifests, (each for uid, each in running.items() if uid not in fixed)).keys()
    places = {each.pod: each.node for each in waiting.bindings}
    trials = EmbeddedTrials(configuration, lambda: now, known, fixed, places)
    nodes = {uid: each.spec.node_name for uid, each in running.items()}
    return find_cures(trials, {pod}, _TRIES, nodes | places)


def _moves(targets: Mapping[str, str], nodes: Mapping[str, str]) -> tuple[Move, ...]:
    """Return the moves that bring pods to ``targets``; ``nodes``: where they are; both by uid."""
    return tuple(Move(uid, nodes[uid], target) for uid, target in sorted(targets.items()))
