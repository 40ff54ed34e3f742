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
    from collections.abc import Iterable, Mapping

    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.loader import Manifests
    from poseidon.offline.plan import NodeUse, Pending

_CURE_TRIES = 20
"""Machines that are tried for each class of pods that wait."""


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
class Misplaced:
    """A pod that runs on a node where it would not be placed now, and why not."""

    pod: str
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cure:
    """A pod that waits would get ``node`` once the moves are made; tried by rounds."""

    pod: str
    node: str
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """``freed``: nodes that could be emptied together by ``moves``; no choice frees more than ``most_freed``.

    ``overcommitted``: nodes on which more is requested than they offer; ``misplaced``: pods against rules about their
    nodes; ``pending``: pods that would go on waiting; ``cures``: of those, each by itself, who would have a place if
    others moved.
    """

    nodes: int
    pods: int
    freed: tuple[str, ...]
    moves: tuple[Move, ...]
    most_freed: int
    staying: tuple[Staying, ...]
    overcommitted: tuple[NodeUse, ...]
    misplaced: tuple[Misplaced, ...]
    pending: tuple[Pending, ...]
    cures: tuple[Cure, ...]
    warnings: tuple[str, ...]

    @property
    def proof(self) -> str:
        """How good the choice of nodes is known to be, for people."""
        if len(self.freed) >= self.most_freed:
            return "no choice frees more"
        return f"at most {self.most_freed} could be"

    def rows(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the rows of each table that shows it, by the names of its parts."""
        return {
            "freed": [(name,) for name in self.freed],
            "moves": [(each.pod, each.source, each.target) for each in self.moves],
            "staying": [(each.node, each.pod, each.reason) for each in self.staying],
            "overcommitted": [(each.node, _lacking(each)) for each in self.overcommitted],
            "misplaced": [(each.pod, each.node, each.reason) for each in self.misplaced],
            "pending": [(each.pod, each.reason) for each in self.pending],
            "cures": [
                (each.pod, each.node, ", ".join(f"{move.pod} to {move.target}" for move in each.moves))
                for each in self.cures
            ],
        }

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {
            "nodes": self.nodes,
            "pods": self.pods,
            "consolidation": {
                "freed": list(self.freed),
                "mostFreed": self.most_freed,
                "moves": [_move(each) for each in self.moves],
                "staying": [
                    {"node": each.node, "pod": each.pod, "reason": each.reason} for each in self.staying
                ],
            },
            "overcommitted": [
                {"node": each.node, "lacking": {key: -free for key, free in each.free.items() if free < 0}}
                for each in self.overcommitted
            ],
            "misplaced": [
                {"pod": each.pod, "node": each.node, "reason": each.reason} for each in self.misplaced
            ],
            "pending": [{"pod": each.pod, "reason": each.reason} for each in self.pending],
            "cures": [
                {"pod": each.pod, "node": each.node, "moves": [_move(move) for move in each.moves]}
                for each in self.cures
            ],
        }


def _lacking(use: NodeUse) -> str:
    """Return what is requested of a node beyond what it offers, as quantities for people."""
    return ", ".join(f"{key} {_quantity(key, -free)}" for key, free in sorted(use.free.items()) if free < 0)


def _quantity(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount}m"
    if resource in ("memory", "ephemeral-storage"):
        return f"{-(-amount // 2**20)}Mi"
    return str(amount)


def _move(move: Move) -> dict[str, str]:
    return {"pod": move.pod, "from": move.source, "to": move.target}


def make_audit(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, *, tries: int, budget: int | None
) -> Audit:
    """Look at a cluster. ``tries``: how often a choice of nodes is tried; ``budget``: of moves, None for any number."""
    waiting = make_plan(manifests, configuration, now)
    cluster = build(manifests, configuration, now)
    running = {uid: pod for uid, pod in cluster.pods.items() if disposition(pod) is Disposition.BOUND}
    nodes = {uid: pod.spec.node_name for uid, pod in running.items()}
    goes = {uid for uid, pod in running.items() if goes_with_its_node(pod)}
    stays = obstacles(manifests, (pod for uid, pod in running.items() if uid not in goes))
    keeping = {nodes[uid]: Staying(nodes[uid], uid, why) for uid, why in sorted(stays.items(), reverse=True)}
    names = {node.metadata.name for node in manifests.nodes}
    uses = sorted(node_uses(cluster.scheduler), key=lambda each: each.node)
    known = tuple(cluster.state.snapshot())
    trials = EmbeddedTrials(configuration, lambda: now, known, goes)
    found = trials.consolidate(names - keeping.keys(), tries, budget)
    cures: Iterable[Cure] = ()
    if waiting.pending:
        places = {each.pod: each.node for each in waiting.bindings}
        trials = EmbeddedTrials(configuration, lambda: now, known, {*goes, *stays}, places)
        rooms = trials.room_for({each.pod for each in waiting.pending}, min(tries, _CURE_TRIES))
        cures = (
            Cure(pod, room.machine, _moves(room.moves, nodes | places)) for pod, room in sorted(rooms.items())
        )
    return Audit(
        nodes=len(names),
        pods=len(running),
        freed=tuple(sorted(found.machines)),
        moves=_moves(found.moves, nodes),
        most_freed=found.most,
        staying=tuple(keeping[name] for name in sorted(keeping)),
        overcommitted=tuple(each for each in uses if any(free < 0 for free in each.free.values())),
        misplaced=tuple(
            Misplaced(*each) for each in sorted(cluster.scheduler.broken_rules()) if each[0] not in goes
        ),
        pending=waiting.pending,
        cures=tuple(cures),
        warnings=waiting.warnings,
    )


def _moves(targets: Mapping[str, str], nodes: Mapping[str, str]) -> tuple[Move, ...]:
    """Return the moves that bring pods to ``targets``; ``nodes``: where they are; both by uid."""
    return tuple(Move(uid, nodes[uid], target) for uid, target in sorted(targets.items()))
