"""What could be better about a cluster as it is: nodes that could be freed by moves, nodes with too much on them.

Nothing is changed. Works for clusters that use any scheduler: what runs is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poseidon.offline.audit.costs import Costs
    from poseidon.offline.plan import NodeUse, Pending


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
    others moved. ``costs``: what moves could save; None: no pod may move.
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
    costs: Costs | None
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
            "cheaper": [] if self.costs is None else self.costs.rows(),
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
            "costs": None if self.costs is None else self.costs.as_json(),
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
