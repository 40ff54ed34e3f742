"""What the core answers: round results with deltas, reasons and figures, and explanations of single tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import repeat
from operator import eq
from typing import NamedTuple, overload

from firmament.core.reasons import Cause
from firmament.core.search.driver import SearchFigures


class DeltaKind(Enum):
    """What a delta asks the driver to do."""

    PLACE = "PLACE"
    PREEMPT = "PREEMPT"
    MIGRATE = "MIGRATE"


class Delta(NamedTuple):
    """One instruction. ``depends_on`` names tasks of the same round that must be bound or gone before this one.

    ``beyond_budget``: a PREEMPT that no disruption budget allows, as nothing else would have helped, or that a budget
    has counted before; ``withdrawn``: one that nobody needs any more: the driver reports it as failed if it has not
    been carried out yet.

    A tuple, because a round may make a hundred thousand of them.
    """

    kind: DeltaKind
    uid: str
    machine: str
    from_machine: str = ""
    depends_on: tuple[str, ...] = ()
    beyond_budget: bool = False
    withdrawn: bool = False


class PlacementDeltas(Sequence[Delta]):
    """PLACE deltas as columns, which become objects only for those who look at them one by one.

    ``uids`` and ``machines`` are parallel; ``depends_on``: what those at some indices depend on. Not to be changed.
    """

    __slots__ = ("depends_on", "machines", "uids")
    __hash__ = None  # type: ignore[assignment]  # equal to any sequence of the same deltas

    def __init__(
        self,
        uids: Sequence[str],
        machines: Sequence[str],
        depends_on: Mapping[int, tuple[str, ...]] | None = None,
    ) -> None:
        self.uids = uids
        self.machines = machines
        self.depends_on = depends_on or {}

    def __len__(self) -> int:
        return len(self.uids)

    def __iter__(self) -> Iterator[Delta]:
        """All in order; without a call per delta, which would take several times longer."""
        depends: Iterable[tuple[str, ...]] = repeat(())
        if self.depends_on:
            depends = [self.depends_on.get(index, ()) for index in range(len(self.uids))]
        no = repeat(False)
        place = repeat(DeltaKind.PLACE)
        rows = zip(place, self.uids, self.machines, repeat(""), depends, no, no, strict=False)
        return map(partial(tuple.__new__, Delta), rows)

    @overload
    def __getitem__(self, index: int) -> Delta: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Delta, ...]: ...

    def __getitem__(self, index: int | slice) -> Delta | tuple[Delta, ...]:
        if isinstance(index, slice):
            return tuple(map(self.__getitem__, range(*index.indices(len(self)))))
        depends_on = self.depends_on.get(index % len(self), ())
        return Delta(DeltaKind.PLACE, self.uids[index], self.machines[index], depends_on=depends_on)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __repr__(self) -> str:
        return f"PlacementDeltas({list(self)!r})"


class GangPhase(Enum):
    """Where a gang stands; see ``GangState`` of the protocol."""

    WAITING = "WAITING"
    PLACED = "PLACED"
    BOUND = "BOUND"
    FAILED = "FAILED"
    PREEMPTING = "PREEMPTING"
    PREEMPTED = "PREEMPTED"


@dataclass(frozen=True, slots=True)
class GangState:
    """A gang whose standing has changed: ``members`` exist, ``running`` of them have a machine."""

    job: str
    phase: GangPhase
    message: str
    members: int
    running: int
    needed: int


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """Tasks that stay pending for the same reasons. ``reasons`` counts machines by root cause."""

    uids: tuple[str, ...]
    message: str
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RoundStats:
    """Figures of one round; seconds per stage, ``cost`` in points. See ``RoundStats`` of the protocol.

    ``pair_cost``: what all pairs of tasks that are placed now cost, in the unit of the model that knows them; None if
    no model knows any.
    """

    machines: int = 0
    tasks: int = 0
    classes: int = 0
    arcs: int = 0
    waves: int = 0
    passes: int = 0
    solves: int = 0
    certified: bool = True
    gap: float = 0.0
    cost: int = 0
    snapshot_seconds: float = 0.0
    network_seconds: float = 0.0
    solve_seconds: float = 0.0
    admit_seconds: float = 0.0
    placed: int = 0
    pending: int = 0
    time_limited: bool = False
    pair_cost: float | None = None


class BrokenRule(NamedTuple):
    """A task on a machine that a rule of its own refuses; ``reason`` in kube-scheduler's words."""

    uid: str
    machine: str
    reason: str


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The outcome of a round. ``unscheduled`` lists only tasks whose message changed since it was last reported;
    ``notes`` are models' remarks on bad input that no earlier round made; ``gangs`` those whose standing changed.
    ``put_off``: tasks that wait for a round of their own, as their namespace asks for more than one may take;
    ``searches``: what searches for a better placement came to.
    """

    round: int
    deltas: Sequence[Delta] = ()
    unscheduled: tuple[Unscheduled, ...] = ()
    stats: RoundStats = field(default_factory=RoundStats)
    notes: tuple[str, ...] = ()
    gangs: tuple[GangState, ...] = ()
    put_off: int = 0
    searches: tuple[SearchFigures, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """One model's say on one machine: ``score`` is None where the model has none; ``cost`` is in points; ``details``:
    lines for people.
    """

    model: str
    feasible: bool
    raw: float
    score: float | None
    cost: float
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineVerdict:
    """Whether a task may use a machine, the root cause first if not, and what each model would charge."""

    machine: str
    feasible: bool
    causes: tuple[Cause, ...]
    cost: float
    models: tuple[ModelVerdict, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The causes in words."""
        return tuple(cause.words for cause in self.causes)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Per-machine verdicts for one task, as of now. ``notes``: what models remarked on bad input."""

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
    """A machine as listed; ``free`` is negative only where others have overcommitted the machine."""

    name: str
    allocatable: dict[str, int]
    free: dict[str, int]
    tasks: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each there are; ``pending`` includes tasks that wait for an event or a back-off."""

    machines: int
    pending: int
    assumed: int
    bound: int
    rounds: int
