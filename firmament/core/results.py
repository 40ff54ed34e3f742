"""The core's output: round results with deltas, reasons and figures, and explanations of single tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from firmament.core.model import ClaimAllocation
from firmament.core.reasons import Cause
from firmament.core.search.driver import SearchFigures


class DeltaKind(Enum):
    """The kinds of instructions to a driver."""

    PLACE = "PLACE"
    PREEMPT = "PREEMPT"
    MIGRATE = "MIGRATE"


class Delta(NamedTuple):
    """One instruction. It is a tuple because a round may make a hundred thousand of them."""

    kind: DeltaKind
    """Place, preempt or migrate."""
    uid: str
    """Id of the task."""
    machine: str
    """Name of the machine."""
    from_machine: str = ""
    """Machine that a migrated task leaves, "" for none."""
    depends_on: tuple[str, ...] = ()
    """Tasks of the same round that must be bound or gone before this instruction is carried out."""
    beyond_budget: bool = False
    """Whether no disruption budget allows this PREEMPT, which is made because nothing else would help, or because a
    budget has counted it already.
    """
    withdrawn: bool = False
    """Whether this PREEMPT is not needed any more. The driver reports it as failed if it has not been carried out."""
    allocations: tuple[ClaimAllocation, ...] = ()
    """Devices for the claims of a task that is placed, to be written to the claims before it is bound."""


class GangPhase(Enum):
    """State of a gang; see ``GangState`` of the protocol."""

    WAITING = "WAITING"
    PLACED = "PLACED"
    BOUND = "BOUND"
    FAILED = "FAILED"
    PREEMPTING = "PREEMPTING"
    PREEMPTED = "PREEMPTED"


@dataclass(frozen=True, slots=True)
class GangState:
    """A gang whose state has changed: ``members`` exist, ``running`` of them have a machine."""

    job: str
    phase: GangPhase
    message: str
    members: int
    running: int
    needed: int


class QuotaUse(NamedTuple):
    """How much of a quota's resource in a flavor is used, how much of that is borrowed, and how much is available."""

    flavor: str
    resource: str
    used: int
    borrowed: int
    available: int


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of a quota, reported when it has changed; see ``QueueState`` of the protocol."""

    name: str
    uses: tuple[QuotaUse, ...] = ()
    waiting: int = 0
    admitted: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """Tasks that stay pending for the same reasons. ``reasons``: numbers of machines by root cause."""

    uids: tuple[str, ...]
    message: str
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RoundStats:
    """Figures of one round; see ``RoundStats`` of the protocol."""

    machines: int = 0
    """Machines."""
    tasks: int = 0
    """Tasks that took part."""
    classes: int = 0
    """Classes of these tasks."""
    arcs: int = 0
    """Arcs of the network."""
    waves: int = 0
    """Waves."""
    passes: int = 0
    """Passes."""
    solves: int = 0
    """Solves of networks."""
    certified: bool = True
    """Whether the flow was proved optimal."""
    gap: float = 0.0
    """Largest part of the placement's cost that could be saved, ignoring rules: from 0 to 1."""
    cost: int = 0
    """Cost in points."""
    snapshot_seconds: float = 0.0
    """Seconds for the snapshot."""
    network_seconds: float = 0.0
    """Seconds for building networks."""
    solve_seconds: float = 0.0
    """Seconds for solving them."""
    admit_seconds: float = 0.0
    """Seconds for admission."""
    placed: int = 0
    """Tasks placed."""
    pending: int = 0
    """Tasks that stay pending."""
    time_limited: bool = False
    """Whether some solve was cut off."""
    pair_cost: float | None = None
    """Cost of all pairs of placed tasks, in the unit of their model; None if no model knows pairs."""


class BrokenRule(NamedTuple):
    """A task on a machine that one of its rules refuses; ``reason`` in kube-scheduler's words."""

    uid: str
    machine: str
    reason: str


class DecidedOn(NamedTuple):
    """The events that had been applied when a round began and when it took effect: positions in the stream."""

    opened_after: int
    closed_after: int
    opened_at: float
    closed_at: float
    direct: bool


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What the scheduler returns for a round: instructions for the driver, new messages of pending tasks, figures."""

    round: int
    """Number of the round."""
    deltas: Sequence[Delta] = ()
    """Instructions for the driver."""
    unscheduled: tuple[Unscheduled, ...] = ()
    """Pending tasks whose message has changed since it was last reported."""
    stats: RoundStats = field(default_factory=RoundStats)
    """Figures of the round."""
    notes: tuple[str, ...] = ()
    """Models' new remarks on bad input."""
    gangs: tuple[GangState, ...] = ()
    """Gangs whose state has changed."""
    put_off: int = 0
    """Tasks left to a later round, because their namespace needs more work than one round does for it."""
    searches: tuple[SearchFigures, ...] = ()
    """Figures of the searches for better placements."""
    queues: tuple[QueueState, ...] = ()
    """Quotas whose use or waiting tasks have changed since they were last reported."""
    decided: DecidedOn | None = None
    """The events that a server had applied; None if no driver records them."""


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """The judgement of one model on one machine: ``score`` is None if the model has none; ``cost`` is in points;
    ``details``: lines for people.
    """

    model: str
    feasible: bool
    raw: float
    score: float | None
    cost: float
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineVerdict:
    """Whether a task may use a machine, the causes if not (root cause first), and what each model would charge."""

    machine: str
    feasible: bool
    causes: tuple[Cause, ...]
    cost: float
    models: tuple[ModelVerdict, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The texts of the causes."""
        return tuple(cause.words for cause in self.causes)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Verdicts on each machine for one task at present. ``notes``: remarks of models on bad input."""

    uid: str
    name: str
    state: str
    machine: str
    machines: tuple[MachineVerdict, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task as listed: ``state`` is PENDING, BACKOFF, ASSUMED or BOUND."""

    uid: str
    name: str
    state: str
    machine: str
    priority: int
    message: str


@dataclass(frozen=True, slots=True)
class MachineState:
    """A machine as listed; ``free`` is negative only if others have overcommitted the machine."""

    name: str
    allocatable: dict[str, int]
    free: dict[str, int]
    tasks: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of objects; ``pending`` includes tasks that wait for an event or a back-off."""

    machines: int
    pending: int
    assumed: int
    bound: int
    rounds: int
