"""Finds which nodes of a cluster can be freed, and which pods prevent that on other nodes, for audits and moves.

Waiting pods come first. A node is not freed if a waiting pod gets it in the next round, or would get it once it is
empty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from poseidon.configuration.document import BridgeConfiguration
from poseidon.embedding import EmbeddedTrials
from poseidon.kube.api.pods import Pod
from poseidon.offline.evictability import RunningPods, goes_with_its_node
from poseidon.offline.plan import Plan
from protos.firmament.v1 import scheduler_pb2 as pb

_TAKES_NOW = "waits, and gets this node in the next round"
_TAKES_THEN = "waits, and gets this node once it is empty"
_MAKES_WAY = "makes way for {}"


@dataclass(frozen=True, slots=True)
class FreeNodes:
    """Nodes that ``moves`` (uid -> node) empty together; no other set of moves frees more than ``most`` nodes.

    ``kept`` says, by node and by uid of a pod on it, why the pod prevents freeing the node. ``room`` has, for each
    node that moves empty, the uid of the waiting pod that gets the node.
    """

    nodes: tuple[str, ...]
    moves: Mapping[str, str]
    most: int
    kept: Mapping[str, Mapping[str, str]]
    room: Mapping[str, str]


def make_trials(
    configuration: BridgeConfiguration,
    now: float,
    events: tuple[pb.Event, ...],
    pods: Mapping[str, Pod],
    running: RunningPods,
    plan: Plan,
    fixed: Collection[str] = (),
) -> EmbeddedTrials:
    """Return trials of moves in the cluster that ``events`` describe, with the placements of ``plan`` carried out.

    ``fixed`` has the uids of pods that must not move.
    """
    placed = {each.pod: each.node for each in plan.bindings}
    ends = {uid for uid in placed if goes_with_its_node(pods[uid])}
    return EmbeddedTrials(configuration, lambda: now, events, {*running.goes, *ends, *fixed}, placed)


def find_free_nodes(
    trials: EmbeddedTrials,
    pods: Mapping[str, Pod],
    running: RunningPods,
    staying: Mapping[str, str],
    plan: Plan,
    candidates: Collection[str],
    *,
    tries: int,
    budget: int | None,
    note: Callable[[int], None] = lambda _: None,
) -> FreeNodes:
    """Return which of the ``candidates`` can be emptied together by at most ``budget`` moves.

    ``staying`` says, by uid, why running pods must stay. ``plan`` says what the next rounds do with the waiting pods.
    At most ``tries`` sets of nodes are tried; ``note`` receives the number of tries so far.
    """
    nodes = running.nodes
    kept: dict[str, dict[str, str]] = {}
    for uid, reason in staying.items():
        kept.setdefault(nodes[uid], {})[uid] = reason
    for victim in plan.preemptions:
        if victim.pod in nodes and victim.pod not in running.goes:
            kept.setdefault(victim.node, {})[victim.pod] = _MAKES_WAY.format(victim.preemptor)
    for each in plan.bindings:
        if not goes_with_its_node(pods[each.pod]):
            kept.setdefault(each.node, {})[each.pod] = _TAKES_NOW
    found = trials.consolidate(set(candidates) - kept.keys(), tries, budget, note)
    for uid, name in found.kept.items():
        kept.setdefault(name, {})[uid] = _TAKES_THEN
    return FreeNodes(found.machines, found.moves, found.most, kept, {v: k for k, v in found.kept.items()})
