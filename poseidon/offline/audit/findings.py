"""Types of an audit's findings: nodes that moves could free, overloaded and hot nodes, misplaced pods, and cures.

The audit changes nothing in the cluster. An audit works for clusters with any scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from poseidon.offline.audit.costs import Costs
from poseidon.offline.plan import NodeUse, Pending


@dataclass(frozen=True, slots=True)
class Move:
    """A pod (``namespace/name``) that would move from one node to another."""

    pod: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Staying:
    """A pod that keeps a node from being freed because it runs or will run there, and why it cannot leave."""

    node: str
    pod: str
    reason: str


@dataclass(frozen=True, slots=True)
class Hot:
    """A node with high measured use of a resource; ``percent`` is this use in percent of the allocatable amount."""

    node: str
    resource: str
    percent: float


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A pod on a node where the scheduler would not place it now, and the reason."""

    pod: str
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class CureStep:
    """One step of a cure, such as a smaller request or a new label.

    ``subject`` is a resource, label, taint or constraint. ``node`` is "" if the step changes no node. ``before`` and
    ``after`` are amounts or values, or None if the step has none.
    """

    kind: str
    subject: str
    node: str
    before: int | str | None
    after: int | str | None

    def as_json(self) -> dict[str, Any]:
        """Return the step as the JSON object that the documents describe."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cure:
    """Changes or moves that would give a waiting pod a node; trial rounds have shown that they do."""

    pod: str
    """Name of the waiting pod."""
    node: str
    """The node that the pod would get."""
    kind: str
    """Kind of the cure's first step."""
    text: str
    """The whole cure in words, for people."""
    changes: tuple[CureStep, ...]
    """The cure's steps, each of which changes an object."""
    moves: tuple[Move, ...]
    """Moves of other pods that make the node free for the waiting pod."""
    rival: str = ""
    """A waiting pod other than the cured one that would get the freed place first, "" if no pod would."""
    together: int = 0
    """How many waiting pods would get nodes through this cure; 0 if the cure was tried for this pod only."""
    commands: tuple[str, ...] = ()
    """Commands that carry out the cure; empty if no commands can."""

    def as_json(self) -> dict[str, Any]:
        """Return the cure as the JSON object that the documents describe."""
        return {**asdict(self), "moves": [_move(each) for each in self.moves]}


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit of a cluster."""

    nodes: int
    """Number of nodes in the cluster."""
    pods: int
    """Number of pods in the cluster."""
    freed: tuple[str, ...]
    """Nodes that ``moves`` would empty."""
    moves: tuple[Move, ...]
    """Moves of pods that free nodes. If moves empty a node for a waiting pod, that node is not in ``freed``."""
    most_freed: int
    """Upper bound on the number of nodes that any set of moves could free."""
    staying: tuple[Staying, ...]
    """Pods that keep a node from being freed."""
    overcommitted: tuple[NodeUse, ...]
    """Nodes on which the pods request more than the node offers."""
    hot: tuple[Hot, ...]
    """Nodes with a measured use above the given percentage."""
    misplaced: tuple[Misplaced, ...]
    """Pods that break a rule about their nodes."""
    pending: tuple[Pending, ...]
    """Pods that would stay pending after the next rounds."""
    cures: tuple[Cure, ...]
    """Cures of pending pods; each cure was tried for one pod alone."""
    costs: Costs | None
    """The points that moves could save; None if no pod may move."""
    warnings: tuple[str, ...]
    """Warnings about the input, one line each, for people."""

    @property
    def summary(self) -> list[str]:
        """The findings in sentences for people, the most important first."""
        room = {each.node for each in self.staying}.intersection(each.source for each in self.moves)
        freed = _count(len(self.freed), "node", "nodes")
        moves = _count(len(self.moves), "move", "moves")
        found = [
            f"{_count(self.pods, 'pod runs', 'pods run')} on {_count(self.nodes, 'node', 'nodes')}.",
            f"{freed} could be freed by {moves}; {self.proof}.",
        ]
        if room:
            found.append(f"{_count(len(room), 'more is', 'more are')} emptied by them for pods that wait.")
        if self.costs is not None:
            found.append(self.costs.summary)
        counted = [
            (len({each.node for each in self.staying}), "node is kept", "nodes are kept"),
            (len(self.overcommitted), "node is overcommitted", "nodes are overcommitted"),
            (len({each.node for each in self.hot}), "node is hot", "nodes are hot"),
            (len(self.misplaced), "pod is misplaced", "pods are misplaced"),
            (len(self.pending), "pod waits", "pods wait"),
        ]
        said = [_count(*each) for each in counted if each[0]]
        return [*found, f"{', '.join(said)}."] if said else found

    @property
    def proof(self) -> str:
        """A sentence on what is proved about the number of freed nodes."""
        if len(self.freed) >= self.most_freed:
            return "no choice frees more"
        return f"at most {self.most_freed} could be"

    def rows(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the rows of the tables that show the audit, by table name."""
        return {
            "freed": [(name,) for name in self.freed],
            "moves": [(each.pod, each.source, each.target) for each in self.moves],
            "keeping": self._reasons(),
            "staying": [(each.node, each.pod, each.reason) for each in self.staying],
            "cheaper": [] if self.costs is None else self.costs.rows(),
            "overcommitted": [(each.node, _lacking(each)) for each in self.overcommitted],
            "hot": [(each.node, each.resource, f"{each.percent:.0f} %") for each in self.hot],
            "misplaced": [(each.pod, each.node, each.reason) for each in self.misplaced],
            "pending": _merge_rows([(each.pod, each.reason) for each in self.pending]),
            "cures": _merge_rows([(each.pod, each.node, each.text) for each in self.cures]),
        }

    def _reasons(self) -> list[tuple[str, ...]]:
        """Return a row (pods, nodes, reason) for each reason why nodes are kept, the most frequent reason first."""
        nodes: dict[str, set[str]] = {}
        for each in self.staying:
            nodes.setdefault(each.reason, set()).add(each.node)
        pods = Counter(each.reason for each in self.staying)
        return [(f"{count:,}", f"{len(nodes[reason]):,}", reason) for reason, count in pods.most_common()]

    def as_json(self) -> dict[str, Any]:
        """Return the audit as the JSON object that the documents describe."""
        return {
            "nodes": self.nodes,
            "pods": self.pods,
            "consolidation": {
                "freed": list(self.freed),
                "mostFreed": self.most_freed,
                "moves": [_move(each) for each in self.moves],
                "staying": [asdict(each) for each in self.staying],
            },
            "costs": None if self.costs is None else self.costs.as_json(),
            "overcommitted": [
                {"node": each.node, "lacking": {key: -free for key, free in each.free.items() if free < 0}}
                for each in self.overcommitted
            ],
            "hot": [{**asdict(each), "percent": round(each.percent, 1)} for each in self.hot],
            "misplaced": [asdict(each) for each in self.misplaced],
            "pending": [asdict(each) for each in self.pending],
            "cures": [each.as_json() for each in self.cures],
        }


def _merge_rows(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Merge rows that differ only in their pods; a merged row names its first pod, and says how many pods follow."""
    pods: dict[tuple[str, ...], list[str]] = {}
    for pod, *said in rows:
        pods.setdefault(tuple(said), []).append(pod)
    return [
        (first if not more else f"{first} and {len(more):,} more", *said)
        for said, (first, *more) in pods.items()
    ]


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _lacking(use: NodeUse) -> str:
    """Return by how much the requests on a node exceed its allocatable amounts, in quantities for people."""
    return ", ".join(
        f"{key} {format_quantity(key, -free)}" for key, free in sorted(use.free.items()) if free < 0
    )


def _move(move: Move) -> dict[str, str]:
    return {"pod": move.pod, "from": move.source, "to": move.target}


def format_quantity(resource: str, amount: int, *, down: bool = False) -> str:
    """Return an amount as people write it: ``2`` or ``250m`` for cpu, ``1.5Gi`` for memory, else a plain number.

    Mebibytes are rounded up, or rounded down if ``down``.
    """
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else f"{amount // 1000}"
    if resource not in ("memory", "ephemeral-storage") and not resource.startswith("hugepages-"):
        return str(amount)
    mebibytes = amount // 2**20 if down else -(-amount // 2**20)
    if mebibytes < 1024 or mebibytes % 256:
        return f"{mebibytes}Mi"
    return f"{mebibytes / 1024:g}Gi"
