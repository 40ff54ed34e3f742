"""Defines the core's output: round results with deltas, reasons and figures, and explanations of single tasks."""

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
    """One instruction to a driver. An instruction is a tuple because a round may create a hundred thousand of them."""

    kind: DeltaKind
    """The kind of the instruction: place, preempt or migrate."""
    uid: str
    """UID of the task."""
    machine: str
    """Name of the machine."""
    from_machine: str = ""
    """The machine that a migrated task leaves; "" for none."""
    depends_on: tuple[str, ...] = ()
    """Tasks of the same round that must be bound or gone before this instruction is carried out."""
    beyond_budget: bool = False
    """Whether no disruption budget allows this PREEMPT. The round makes a PREEMPT beyond budgets because nothing else
    would help, or because a budget has counted the eviction already.
    """
    withdrawn: bool = False
    """Whether this PREEMPT is not needed any more.

    If the driver has not carried the withdrawn instruction out yet, it reports it as failed.
    """
    allocations: tuple[ClaimAllocation, ...] = ()
    """Devices for the claims of a task that is placed; the driver writes them to the claims before it binds the
    task."""


class GangPhase(Enum):
    """The state of a gang; see ``GangState`` of the protocol."""

    WAITING = "WAITING"
    PLACED = "PLACED"
    BOUND = "BOUND"
    FAILED = "FAILED"
    PREEMPTING = "PREEMPTING"
    PREEMPTED = "PREEMPTED"


@dataclass(frozen=True, slots=True)
class GangState:
    """A gang whose state has changed: ``members`` exist, and ``running`` of them have a machine."""

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
    """Tasks that stay pending for the same reasons. ``reasons``: for each root cause, the number of machines."""

    uids: tuple[str, ...]
    message: str
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RoundStats:
    """Figures about one round; see ``RoundStats`` of the protocol."""

    machines: int = 0
    """Number of machines."""
    tasks: int = 0
    """Number of tasks that took part."""
    classes: int = 0
    """Number of classes of the tasks that took part."""
    arcs: int = 0
    """Number of arcs of the flow network."""
    waves: int = 0
    """Number of waves (joint solves)."""
    passes: int = 0
    """Number of passes (solve and admission)."""
    solves: int = 0
    """Number of solves of networks."""
    certified: bool = True
    """Whether prices prove that no other flow costs less."""
    gap: float = 0.0
    """The largest part of the placement's cost, from 0 to 1, that could be saved if rules between tasks are ignored."""
    cost: int = 0
    """Cost of the placement in points."""
    snapshot_seconds: float = 0.0
    """Seconds for taking the snapshot."""
    network_seconds: float = 0.0
    """Seconds for building networks."""
    solve_seconds: float = 0.0
    """Seconds for solving the networks."""
    admit_seconds: float = 0.0
    """Seconds for joint admission."""
    placed: int = 0
    """Number of tasks that the round placed."""
    pending: int = 0
    """Number of tasks that stay pending."""
    time_limited: bool = False
    """Whether some solve was stopped at the time limit."""
    pair_cost: float | None = None
    """Cost of all pairs of placed tasks, in the unit of their model; None if no model states pairs."""


class BrokenRule(NamedTuple):
    """A task on a machine that one of its rules refuses; ``reason`` in kube-scheduler's words."""

    uid: str
    machine: str
    reason: str


class DecidedOn(NamedTuple):
    """How many events of the stream had been applied when a round began, and when it took effect."""

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
    """Pending tasks with a message that has changed since it was last reported."""
    stats: RoundStats = field(default_factory=RoundStats)
    """Figures of the round."""
    notes: tuple[str, ...] = ()
    """Models' new remarks on invalid input."""
    gangs: tuple[GangState, ...] = ()
    """Gangs whose state has changed."""
    put_off: int = 0
    """Number of tasks left to a later round, because their namespace needs more work than one round does for it."""
    searches: tuple[SearchFigures, ...] = ()
    """Figures of the searches for better placements."""
    queues: tuple[QueueState, ...] = ()
    """Quotas for which the use or the waiting tasks have changed since the last report."""
    decided: DecidedOn | None = None
    """The events that the server had applied; None if no driver records them."""


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """What one model says about one machine.

    ``score``: None if the model has none. ``cost``: in points. ``details``: lines for people.
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
    """The verdicts on each machine for one task at present. ``notes``: remarks of models on invalid input."""

    uid: str
    name: str
    state: str
    machine: str
    machines: tuple[MachineVerdict, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task as it is listed; ``state`` is PENDING, BACKOFF, ASSUMED or BOUND."""

    uid: str
    name: str
    state: str
    machine: str
    priority: int
    message: str


@dataclass(frozen=True, slots=True)
class MachineState:
    """One machine, as lists of machines show it; ``free`` is negative only if others have overcommitted the machine."""

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
