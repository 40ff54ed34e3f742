"""Everything that the dashboard knows, from any source; views are made of it."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from poseidon.ui.device_objects import DeviceObjects
from poseidon.ui.group_objects import GroupObjects
from poseidon.ui.history import FigureHistory
from poseidon.ui.round_book import RoundBook

if TYPE_CHECKING:
    from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
    from poseidon.ui.cluster.store import ClusterStore
    from poseidon.ui.versions import Versions

Kind = Literal["live", "manifests", "rounds"]
SolverState = Literal["connected", "refused", "unreachable", "embedded"]


@dataclass(slots=True)
class Capabilities:
    """The views for which there are data."""

    figures: bool = False
    """Rates, times and queues."""
    flow: bool = False
    """The flow of rounds."""
    cluster: bool = False
    """Nodes and pods."""
    pending: bool = False
    """Pending pods with their reasons."""
    explain: bool = False
    """Explanations of single pods."""
    cures: bool = False
    """Changes that would give a pod a place."""
    groups: bool = False
    """Groups of pods."""
    queues: bool = False
    """Queues and what waits in them."""


@dataclass(slots=True)
class About:
    """The source of the dashboard's data. ``warnings``: lines for people."""

    source: Kind
    title: str
    cluster: str
    capabilities: Capabilities
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the source's part of the session's JSON object."""
        return asdict(self)


@dataclass(slots=True)
class SolverStanding:
    """Whether a solver answers, and its address. ``since``: when this state began, 0 before the first question."""

    state: SolverState
    target: str
    round_failures: int = 0
    since: float = 0.0


@dataclass(slots=True)
class BridgeStanding:
    """Whether the bridge serves its metrics (``answers``; None: it never did). ``since``: when this state began."""

    answers: bool | None = None
    since: float = 0.0

    def note_answer(self, at: float, *, answers: bool) -> bool:
        """Record whether the bridge has answered; return whether that has changed."""
        if answers == self.answers or (not answers and self.answers is None):
            return False
        self.answers, self.since = answers, at
        return True


@dataclass(slots=True)
class LeaderStanding:
    """The holder of the Lease, None if unknown. ``others``: earlier holders."""

    holder: str | None = None
    leads: bool | None = None
    others: deque[str] = field(default_factory=lambda: deque(maxlen=5))

    def set_holder(self, holder: str | None) -> bool:
        """Set the present holder; return whether it has changed."""
        if holder == self.holder:
            return False
        if self.holder and self.holder not in self.others:
            self.others.append(self.holder)
        if holder in self.others:
            self.others.remove(holder or "")
        self.holder = holder
        return True


@dataclass(slots=True)
class Known:
    """The present data of everything that the dashboard can show."""

    about: About
    """The source of the data, and the available views."""
    store: ClusterStore
    """Nodes and pods."""
    versions: Versions
    """Versions of the data, for clients that wait for changes."""
    solver: SolverStanding
    """Whether the solver answers."""
    leader: LeaderStanding = field(default_factory=LeaderStanding)
    """Which bridge leads."""
    bridge: BridgeStanding = field(default_factory=BridgeStanding)
    """Whether the bridge answers."""
    history: FigureHistory = field(default_factory=FigureHistory)
    """Figures over time."""
    rounds: RoundBook = field(default_factory=RoundBook)
    """The last rounds."""
    groups: GroupObjects = field(default_factory=GroupObjects)
    """Objects of groups."""
    devices: DeviceObjects = field(default_factory=DeviceObjects)
    """Devices of nodes, and claims."""
    zones: dict[str, NodeResourceTopology] = field(default_factory=dict)
    """NUMA zones by node."""
    standing: dict[str, Any] | None = None
    """Counts when figures were last taken; None if no figures are taken."""

    def session(self) -> dict[str, Any]:
        """Return the JSON object of the session: source of the data, and whether the programs answer."""
        solver, bridge = self.solver, self.bridge
        return {
            **self.about.as_json(),
            "solver": {"state": solver.state, "target": solver.target, "since": solver.since},
            "bridge": {"answers": bridge.answers, "since": bridge.since},
        }
