"""Finds out which nodes of a cluster can be freed, and what keeps the others: one rule for audits and moves.

Waiting pods come first. A node that a waiting pod gets in the next round is not freed, nor is a node that one would
take once it is empty.
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
    """``nodes`` can be emptied together by ``moves`` (uid -> node); no choice frees more than ``most``.

    ``kept``: by node and uid of the pods that keep it, why. ``room``: nodes that moves empty for pods that wait.
    """

    nodes: tuple[str, ...]
    moves: Mapping[str, str]
    most: int
    kept: Mapping[str, Mapping[str, str]]
    room: Mapping[str, str]


def placement_trials(
    configuration: BridgeConfiguration,
    now: float,
    events: tuple[pb.Event, ...],
    pods: Mapping[str, Pod],
    running: RunningPods,
    plan: Plan,
    fixed: Collection[str] = (),
) -> EmbeddedTrials:
    """Return what tries moves in a cluster of ``events``, where pods that a ``plan`` places have their places.

    ``fixed``: uids of pods that are no part of any move.
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

    ``staying``: why pods (uids) that run stay. ``plan``: what the next rounds do with the pods that wait. At most so
    many ``tries`` are made; ``note`` is told how many have been.
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
