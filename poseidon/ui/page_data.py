"""Holds everything that the dashboard knows, from any source; the views are made from it."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from poseidon.ui.device_objects import DeviceObjects
from poseidon.ui.group_objects import GroupObjects
from poseidon.ui.history import FigureHistory
from poseidon.ui.known_rounds import KnownRounds

if TYPE_CHECKING:
    from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
    from poseidon.ui.cluster.store import ClusterStore
    from poseidon.ui.versions import Versions

Kind = Literal["live", "manifests", "rounds"]
SolverState = Literal["connected", "refused", "unreachable", "embedded"]


@dataclass(slots=True)
class Capabilities:
    """The views for which the dashboard has data."""

    figures: bool = False
    """Whether the page can show rates, times, and numbers of waiting pods."""
    flow: bool = False
    """Whether the page can show the flows of rounds."""
    cluster: bool = False
    """Whether the page can show nodes and pods."""
    pending: bool = False
    """Whether the page can show pending pods with their reasons."""
    explain: bool = False
    """Whether single pods can be explained."""
    cures: bool = False
    """Whether changes that would give a pod a node can be searched for."""
    groups: bool = False
    """Whether the input has groups of pods."""
    queues: bool = False
    """Whether the input has queues, and workloads that wait in them."""


@dataclass(slots=True)
class About:
    """The source of the dashboard's data, and the views that are available. ``warnings`` are lines for people."""

    source: Kind
    title: str
    cluster: str
    capabilities: Capabilities
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the source's part of the session's JSON object."""
        return asdict(self)


@dataclass(slots=True)
class SolverStatus:
    """Whether a solver answers, and the solver's address.

    ``since`` is when the solver began to answer or not to answer, 0 before the first question.
    """

    state: SolverState
    target: str
    round_failures: int = 0
    since: float = 0.0


@dataclass(slots=True)
class BridgeStatus:
    """Whether the bridge serves its metrics.

    ``answers`` is None if the bridge never did. ``since`` is when the bridge began to answer or not to answer.
    """

    answers: bool | None = None
    since: float = 0.0

    def note_answer(self, at: float, *, answers: bool) -> bool:
        """Record whether the bridge has answered; return whether the previous answer was different."""
        if answers == self.answers or (not answers and self.answers is None):
            return False
        self.answers, self.since = answers, at
        return True


@dataclass(slots=True)
class LeaderStatus:
    """The holder of the leader's Lease, None if unknown. ``others`` are the earlier holders of the Lease."""

    holder: str | None = None
    leads: bool | None = None
    others: deque[str] = field(default_factory=lambda: deque(maxlen=5))

    def set_holder(self, holder: str | None) -> bool:
        """Set the present holder of the Lease; return whether it has changed."""
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
    """All data that the dashboard can show now."""

    about: About
    """The source of the data, and the available views."""
    store: ClusterStore
    """Nodes and pods of the cluster."""
    versions: Versions
    """Version numbers of the data, for clients that wait for changes."""
    solver: SolverStatus
    """Whether the solver answers, and since when."""
    leader: LeaderStatus = field(default_factory=LeaderStatus)
    """Which bridge is the leader."""
    bridge: BridgeStatus = field(default_factory=BridgeStatus)
    """Whether the bridge answers, and since when."""
    history: FigureHistory = field(default_factory=FigureHistory)
    """Rates, times and counts of the last 15 minutes."""
    rounds: KnownRounds = field(default_factory=KnownRounds)
    """The last rounds of the solver."""
    groups: GroupObjects = field(default_factory=GroupObjects)
    """Objects that define groups of pods."""
    devices: DeviceObjects = field(default_factory=DeviceObjects)
    """Devices of nodes, and claims to devices."""
    zones: dict[str, NodeResourceTopology] = field(default_factory=dict)
    """NUMA zones of each node, by the node's name."""
    counts: dict[str, Any] | None = None
    """Counts of nodes and pods at the last reading of figures; None if no figures are read."""

    def session(self) -> dict[str, Any]:
        """Return the JSON object of the session: the source of the data, and whether the programs answer."""
        solver, bridge = self.solver, self.bridge
        return {
            **self.about.as_json(),
            "solver": {"state": solver.state, "target": solver.target, "since": solver.since},
            "bridge": {"answers": bridge.answers, "since": bridge.since},
        }
