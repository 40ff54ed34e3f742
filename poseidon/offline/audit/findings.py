"""The findings of an audit: nodes that moves could free, nodes with too much on them, and more.

Nothing is changed. Works for clusters with any scheduler.
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
    """A pod that keeps a node from being freed because it runs there, or will, and the reason why it cannot leave."""

    node: str
    pod: str
    reason: str


@dataclass(frozen=True, slots=True)
class Hot:
    """A node that uses much of a resource; ``percent`` of allocatable, by its last report."""

    node: str
    resource: str
    percent: float


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A pod on a node where it would not be placed now, and why not."""

    pod: str
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class CureStep:
    """One change of a cure.

    ``subject``: a resource, label, taint or constraint; ``node``: "" if the change is not about a node; ``before``,
    ``after``: amounts or values, None where there are none.
    """

    kind: str
    subject: str
    node: str
    before: int | str | None
    after: int | str | None

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Cure:
    """Changes or moves that would give a waiting pod a node, as trial rounds have shown."""

    pod: str
    """Name of the waiting pod."""
    node: str
    """The node that it would get."""
    kind: str
    """Kind of the first change."""
    text: str
    """The whole change, for people."""
    changes: tuple[CureStep, ...]
    """Changes of objects."""
    moves: tuple[Move, ...]
    """Moves of other pods."""
    rival: str = ""
    """Another waiting pod that would get the place first, "" for none."""
    together: int = 0
    """How many waiting pods would get nodes; 0: only this pod was tested."""
    commands: tuple[str, ...] = ()
    """Commands that carry out the cure; empty if no commands can."""

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {**asdict(self), "moves": [_move(each) for each in self.moves]}


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit of a cluster."""

    nodes: int
    """Number of nodes."""
    pods: int
    """Number of pods."""
    freed: tuple[str, ...]
    """Nodes that ``moves`` would empty."""
    moves: tuple[Move, ...]
    """Moves of pods. Nodes that moves empty for waiting pods are not in ``freed``."""
    most_freed: int
    """Upper bound on how many nodes any choice of moves could free."""
    staying: tuple[Staying, ...]
    """Pods that keep a node from being freed."""
    overcommitted: tuple[NodeUse, ...]
    """Nodes with more requests than they offer."""
    hot: tuple[Hot, ...]
    """Nodes with more use than allowed."""
    misplaced: tuple[Misplaced, ...]
    """Pods that break rules about their nodes."""
    pending: tuple[Pending, ...]
    """Pods that would stay pending."""
    cures: tuple[Cure, ...]
    """Cures of pending pods, each of which was tried for one pod alone."""
    costs: Costs | None
    """The savings that moves could bring; None if no pod may move."""
    warnings: tuple[str, ...]
    """Lines for people."""

    @property
    def summary(self) -> list[str]:
        """Sentences for people, the most important first."""
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
        """Return the rows of the tables that show the audit, by the name of the table."""
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
        """Return the documented JSON object."""
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
    """Merge rows that differ in their pods only: the merged row names the first pod and how many more there are."""
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
    """Return how far the requests on a node exceed its allocatable amounts, as quantities for people."""
    return ", ".join(
        f"{key} {format_quantity(key, -free)}" for key, free in sorted(use.free.items()) if free < 0
    )


def _move(move: Move) -> dict[str, str]:
    return {"pod": move.pod, "from": move.source, "to": move.target}


def format_quantity(resource: str, amount: int, *, down: bool = False) -> str:
    """Return an amount as people write it: ``2`` or ``250m`` for cpu, ``1.5Gi`` or ``300Mi`` for memory, else a number.

    Mebibytes are rounded up, or ``down``.
    """
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else f"{amount // 1000}"
    if resource not in ("memory", "ephemeral-storage") and not resource.startswith("hugepages-"):
        return str(amount)
    mebibytes = amount // 2**20 if down else -(-amount // 2**20)
    if mebibytes < 1024 or mebibytes % 256:
        return f"{mebibytes}Mi"
    return f"{mebibytes / 1024:g}Gi"
