"""Audits a cluster, from its objects and from trial rounds of the solver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedTrials
from poseidon.group_trees.status.placement import natural
from poseidon.manifests.loader import Manifests
from poseidon.offline.audit.costs import find_costs
from poseidon.offline.audit.cures import find_cures
from poseidon.offline.audit.findings import Audit, Cure, Hot, Misplaced, Move, Staying
from poseidon.offline.audit.object_changes import Objects
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.evictability import RunningPods, list_running_pods
from poseidon.offline.freeable_nodes import find_free_nodes, make_trials
from poseidon.offline.move_costs import move_prices
from poseidon.offline.plan import Plan, list_node_uses, schedule_pods
from protos.firmament.v1 import scheduler_pb2 as pb

_TRIES = 40
"""The most trial rounds that are run to find cures of a single pod."""


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
    note: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Audit a cluster; meanwhile, pass lines about the progress to ``note``.

    ``tries``: most sets of nodes to try to free; ``budget``: most moves (None: any number); ``move_cost``: points that
    a move has to save; ``hot``: a hot node's percentages of use; ``local_data_may_go``: pods with local data may move.
    """
    note("looking at the cluster")
    cluster = build_offline_cluster(manifests, configuration, now)
    running = list_running_pods(cluster, manifests, local_data_may_go=local_data_may_go)
    nodes = running.nodes
    names = {node.metadata.name for node in manifests.nodes}
    uses = sorted(list_node_uses(cluster.scheduler), key=lambda each: natural(each.node))
    known = tuple(cluster.state.snapshot())
    misplaced = [
        Misplaced(*each) for each in cluster.scheduler.iter_broken_rules() if each[0] not in running.goes
    ]
    hottest = sorted(cluster.scheduler.iter_hot(hot), key=lambda each: (-each[2], natural(each[0]), each[1]))
    note("placing pods that wait")
    waiting = schedule_pods(cluster, manifests)  # also places and removes pods of ``cluster``
    note("looking for cheaper places")
    trials = make_trials(configuration, now, known, cluster.pods, running, waiting, running.stays)
    leaving = {each.pod for each in waiting.preemptions}
    prices, faults = move_prices(running.pods[uid] for uid in running.movable if uid not in leaving)
    costs = find_costs(trials, prices, nodes, move_cost, budget)
    note("looking for what would place pods that wait")
    cures = _try_cures(trials, manifests, running, waiting, {each.pod for each in waiting.pending}, tries)
    free = find_free_nodes(
        trials, cluster.pods, running, running.stays, waiting, names, tries=tries, budget=budget,
        note=lambda made: note(f"trying which nodes can be freed: {made:,} of at most {tries:,} tries"),
    )  # fmt: skip
    staying = [Staying(node, uid, why) for node, kept in free.kept.items() for uid, why in kept.items()]
    return Audit(
        nodes=len(names),
        pods=len(running.pods),
        freed=tuple(sorted(free.nodes, key=natural)),
        moves=tuple(
            Move(uid, nodes[uid], target)
            for uid, target in sorted(free.moves.items(), key=lambda move: natural(move[0]))
        ),
        most_freed=free.most,
        staying=tuple(sorted(staying, key=lambda each: (natural(each.node), natural(each.pod)))),
        overcommitted=tuple(each for each in uses if any(free < 0 for free in each.free.values())),
        hot=tuple(Hot(*each) for each in hottest),
        misplaced=tuple(sorted(misplaced, key=lambda each: (natural(each.pod), each.node))),
        pending=tuple(sorted(waiting.pending, key=lambda each: natural(each.pod))),
        cures=cures,
        costs=costs,
        warnings=(*waiting.warnings, *faults),
    )


def find_cures_of_pods(
    manifests: Manifests,
    configuration: BridgeConfiguration,
    now: float,
    events: Iterable[pb.Event],
    running: RunningPods,
    plan: Plan,
    pods: Collection[str],
    tries: int = _TRIES,
) -> tuple[Cure, ...]:
    """Return cures of the pods ``pods`` (uids), which still wait after ``plan``.

    ``events`` describe the cluster before the plan. The objects of ``manifests`` show which changes people can make.
    """
    if not pods:
        return ()
    places = {each.pod: each.node for each in plan.bindings}
    fixed = {*running.goes, *running.stays}
    trials = EmbeddedTrials(configuration, lambda: now, events, fixed, places)
    return _try_cures(trials, manifests, running, plan, pods, tries)


def _try_cures(
    trials: EmbeddedTrials,
    manifests: Manifests,
    running: RunningPods,
    plan: Plan,
    pods: Collection[str],
    tries: int,
) -> tuple[Cure, ...]:
    """Return cures of waiting pods; ``trials`` know the cluster with the placements of ``plan``."""
    if not pods:
        return ()
    nodes = running.nodes | {each.pod: each.node for each in plan.bindings}
    return find_cures(trials, pods, tries, nodes, Objects(manifests))
