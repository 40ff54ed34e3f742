"""What could be better about a cluster as it is: nodes that could be freed by moves, nodes with too much on them.

Nothing is changed. Works for clusters that use any scheduler: what runs is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poseidon.embedding import EmbeddedTrials
from poseidon.offline.cluster import build
from poseidon.offline.movable import goes_with_its_node, obstacles
from poseidon.offline.plan import make_plan, node_uses
from poseidon.pods.tasks import Disposition, disposition

if TYPE_CHECKING:
    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.loader import Manifests
    from poseidon.offline.plan import NodeUse, Pending

_NOBODYS = frozenset({"-"})
"""The name of no scheduler: pods that wait take no part in what is tried."""


@dataclass(frozen=True, slots=True)
class Move:
    """A pod (``namespace/name``) that would go from one node to another."""

    pod: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Staying:
    """A node that cannot be emptied, the first of its pods that keeps it, and why."""

    node: str
    pod: str
    reason: str


@dataclass(frozen=True, slots=True)
class Audit:
    """``freed``: nodes that could be emptied together by ``moves``; no choice frees more than ``most_freed``.

    ``overcommitted``: nodes on which more is requested than they offer; ``pending``: pods that wait, as things are.
    """

    nodes: int
    pods: int
    freed: tuple[str, ...]
    moves: tuple[Move, ...]
    most_freed: int
    staying: tuple[Staying, ...]
    overcommitted: tuple[NodeUse, ...]
    pending: tuple[Pending, ...]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {
            "nodes": self.nodes,
            "pods": self.pods,
            "consolidation": {
                "freed": list(self.freed),
                "mostFreed": self.most_freed,
                "moves": [{"pod": each.pod, "from": each.source, "to": each.target} for each in self.moves],
                "staying": [
                    {"node": each.node, "pod": each.pod, "reason": each.reason} for each in self.staying
                ],
            },
            "overcommitted": [
                {"node": each.node, "lacking": {key: -free for key, free in each.free.items() if free < 0}}
                for each in self.overcommitted
            ],
            "pending": [{"pod": each.pod, "reason": each.reason} for each in self.pending],
        }


def make_audit(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, *, tries: int, budget: int | None
) -> Audit:
    """Look at a cluster. ``tries``: how often a choice of nodes is tried; ``budget``: of moves, None for any number."""
    waiting = make_plan(manifests, configuration, now)
    cluster = build(manifests, configuration, now, scheduler_names=_NOBODYS)
    running = {
        uid: pod
        for uid, pod in cluster.pods.items()
        if disposition(pod) is Disposition.BOUND and pod.metadata.deletion_timestamp is None
    }
    goes = {uid for uid, pod in running.items() if goes_with_its_node(pod)}
    stays = obstacles(manifests, (pod for uid, pod in running.items() if uid not in goes))
    keeping = {
        running[uid].spec.node_name: Staying(running[uid].spec.node_name, uid, why)
        for uid, why in sorted(stays.items(), reverse=True)
    }
    names = {node.metadata.name for node in manifests.nodes}
    uses = sorted(node_uses(cluster.scheduler), key=lambda each: each.node)
    trials = EmbeddedTrials(configuration, lambda: now, cluster.state.snapshot(), goes)
    found = trials.consolidate(names - keeping.keys(), tries, budget)
    moves = sorted(found.moves.items())
    return Audit(
        nodes=len(names),
        pods=len(running),
        freed=tuple(sorted(found.machines)),
        moves=tuple(Move(uid, running[uid].spec.node_name, target) for uid, target in moves),
        most_freed=found.most,
        staying=tuple(keeping[name] for name in sorted(keeping)),
        overcommitted=tuple(each for each in uses if any(free < 0 for free in each.free.values())),
        pending=waiting.pending,
        warnings=waiting.warnings,
    )
