"""Looks at a cluster: what the programs know of it, and what trials of the solver say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedTrials
from poseidon.manifests.loader import Manifests
from poseidon.offline.audit.costs import find_costs
from poseidon.offline.audit.cures import find_cures
from poseidon.offline.audit.findings import Audit, Cure, Hot, Misplaced, Move, Staying
from poseidon.offline.audit.on_objects import Objects
from poseidon.offline.cluster import build
from poseidon.offline.evictability import RunningPods, running_pods
from poseidon.offline.movable import move_prices
from poseidon.offline.plan import Plan, node_uses, plan_of
from protos.firmament.v1 import scheduler_pb2 as pb

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
    local_data_may_go: bool = False,
) -> Audit:
    """Look at a cluster. ``tries``: how often a choice of nodes is tried; ``budget``: of moves, None for any number;
    ``move_cost``: points that a move has to save to be worth it; ``hot``: percent of use by resource;
    ``local_data_may_go``: what pods have in folders of their nodes keeps none of them.
    """
    cluster = build(manifests, configuration, now)
    running = running_pods(cluster, manifests, local_data_may_go=local_data_may_go)
    nodes = running.nodes
    why = sorted(running.stays.items(), reverse=True)
    keeping = {nodes[uid]: Staying(nodes[uid], uid, reason) for uid, reason in why}
    names = {node.metadata.name for node in manifests.nodes}
    uses = sorted(node_uses(cluster.scheduler), key=lambda each: each.node)
    known = tuple(cluster.state.snapshot())
    misplaced = sorted(each for each in cluster.scheduler.broken_rules() if each[0] not in running.goes)
    hottest = sorted(cluster.scheduler.hot(hot), key=lambda each: (-each[2], each))
    waiting = plan_of(cluster, manifests)  # the cluster is another one from here on
    trials = EmbeddedTrials(configuration, lambda: now, known, running.goes)
    prices, faults = move_prices(running.pods[uid] for uid in running.movable)
    costs = find_costs(trials, prices, nodes, move_cost, budget)
    found = trials.consolidate(names - keeping.keys(), tries, budget)
    pending = {each.pod for each in waiting.pending}
    return Audit(
        nodes=len(names),
        pods=len(running.pods),
        freed=tuple(sorted(found.machines)),
        moves=tuple(Move(uid, nodes[uid], target) for uid, target in sorted(found.moves.items())),
        most_freed=found.most,
        staying=tuple(keeping[name] for name in sorted(keeping)),
        overcommitted=tuple(each for each in uses if any(free < 0 for free in each.free.values())),
        hot=tuple(Hot(*each) for each in hottest),
        misplaced=tuple(Misplaced(*each) for each in misplaced),
        pending=waiting.pending,
        cures=cures_of(manifests, configuration, now, known, running, waiting, pending, tries),
        costs=costs,
        warnings=(*waiting.warnings, *faults),
    )


def cures_of(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    events: Iterable[pb.Event],
    running: RunningPods,
    plan: Plan,
    pods: Collection[str],
    tries: int = _TRIES,
) -> tuple[Cure, ...]:
    """Return what would give ``pods`` (uids) places, which wait after a ``plan`` for the cluster of ``events``.

    ``manifests`` say whether it can be done.
    """
    if not pods:
        return ()
    places = {each.pod: each.node for each in plan.bindings}
    fixed = {*running.goes, *running.stays}
    trials = EmbeddedTrials(configuration, lambda: now, events, fixed, places)
    return find_cures(trials, pods, tries, running.nodes | places, Objects(manifests))
