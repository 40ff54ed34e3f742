"""What a cost model answers: figures, a filter, and the limits on what tasks share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, Bool, Float64, Int64

PAIRWISE = ("raw", "feasible", "causes", "score")
"""Fields of an answer that have a figure per shape and machine."""


@dataclass(frozen=True, slots=True)
class Range:
    """The span of a model's native figure: ``best`` maps to 0 points, ``worst`` to 100.

    ``best`` may lie above ``worst`` (scores). Figures outside are clipped if ``bounded``; a figure that has no upper
    end (such as a network cost) declares ``bounded=False`` and may exceed 100 points.
    """

    best: float
    worst: float
    bounded: bool = True

    def points(self, raw: NDArray[Any], out: Float64 | None = None) -> Float64:
        """Map native figures to points, elementwise; ``out``, of the same shape, takes the result if given."""
        points = np.subtract(raw, self.best, out=out, dtype=np.float64)
        points = np.multiply(points, 100.0 / (self.worst - self.best), out=out)
        points = np.maximum(points, 0.0, out=out)
        return np.minimum(points, 100.0, out=out) if self.bounded else points

    def points_per_unit(self) -> float:
        """Return points that one unit of the native figure is worth, as a positive number."""
        return abs(100.0 / (self.worst - self.best))


@dataclass(frozen=True, slots=True)
class SparseArcs:
    """Figures for single (shape, machine) pairs, replacing those of the row: ``shape``, ``machine``: int64[A],
    ``raw``: float64[A]. For models that prefer a few machines and price all others alike.
    """

    shape: Int64
    machine: Int64
    raw: Float64


class ByTask(Protocol):
    """Figures of the tasks on machines. To be asked while the cluster is as the model was shown it."""

    def amounts(self, places: Int64) -> Int64:
        """Return int64[V], the figures of the tasks in these ``places`` (int64[V]) of ``Load.assigned``."""
        ...


@dataclass(frozen=True, slots=True)
class Returned:
    """What a machine's joint row gets back when tasks leave it: the amount that is certain, whoever else stays.

    Of each task that leaves, ``by_kind`` (int64[P], 0 or more) for its kind of ``MachineColumns.residents``, or
    ``by_task`` (0 or more) for its place in ``Load.assigned``; exactly one of them is given. The first ``owed``
    (int64[R], 0 or more) that comes back makes good what tasks there have taken beyond the limit. ``barred``:
    bool[S], shapes that the model's filter refuses as long as something is owed, though they may take nothing
    themselves; None: there are none.
    """

    owed: Int64
    by_kind: Int64 | None = None
    by_task: ByTask | None = None
    barred: Bool | None = None


@dataclass(frozen=True, slots=True)
class JointRows:
    """Limits on what tasks of any shapes use together, which a flow of single units cannot bound.

    Row ``row_of[m]`` (int64[M], -1: none) takes ``amount[s]`` (int64[S]) from every task of shape ``s`` on machine
    ``m``; the amounts on a row never exceed ``limit`` (int64[R]). ``reason`` is what a machine that lacks room is
    rejected with. A row of its own per machine is ``row_of = arange(M)``. ``returned``: what evicting gives back, only
    where no two machines share a row; None: nothing is certain to come back.
    """

    row_of: Int64
    amount: Int64
    limit: Int64
    reason: str
    returned: Returned | None = None

    @property
    def shared(self) -> bool:
        """Whether two machines share a row."""
        machines = np.bincount(self.row_of + 1)[1:]  # -1, no row, is in the first bin
        return bool(machines.max(initial=0) > 1)

    def holds(self) -> Bool:
        """Return bool[S]: shapes that the rows keep off some machine, because they take an amount there or are barred
        by what is owed.
        """
        takes: Bool = self.amount > 0
        barred = None if self.returned is None else self.returned.barred
        return takes if barred is None else takes | barred


@runtime_checkable
class Ledger(Protocol):
    """Room that tasks share in a way that joint rows cannot express, such as a kubelet's alignment of requests to NUMA
    zones.

    A ledger stands for the machines as they are when the round begins; the scheduler works on copies, and books on them
    what it admits. Room grows by booking at most where order counts. ``reason``: why a machine without room is refused.
    See also ``SharedLedger``, ``OpenableLedger`` and ``ReasonedLedger``.
    """

    reason: str

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        """Return bool[A]: the ledger counts on tasks of ``shapes[i]`` reaching ``machines[i]`` in order of
        admission.
        """
        ...

    def count_room(self, shape: int) -> Int64:
        """Return int64[M]: how many more tasks of a shape each machine takes by themselves; a large number:
        any.
        """
        ...

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        """Return int64[A]: how many more tasks of ``shapes[i]`` machine ``machines[i]`` takes by themselves."""
        ...

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Book up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``, entry by entry and one task after
        another; returns how many of each entry it took: int64[A]. Machines may repeat.
        """
        ...

    def copy(self) -> Ledger:
        """Return an independent copy."""
        ...


@runtime_checkable
class SharedLedger(Ledger, Protocol):
    """A ledger that may share room among machines."""

    @property
    def shared(self) -> bool:
        """Whether a booking on one machine may leave less room on others."""
        ...


@runtime_checkable
class SavableLedger(Ledger, Protocol):
    """A ledger with its content as arrays, so that a round that counted with it can be run again.

    ``model``: name of the entry point that reads them. The class behind it has a static method ``restore_ledger``,
    which takes them with the numbers of shapes and machines, and raises ``KeyError`` for a missing array,
    ``MalformedArraysError`` for one that makes no sense. Ledgers that offer nothing of this are as good in a round.
    """

    model: ClassVar[str]

    def save(self) -> Arrays:
        """Return what the ledger says now, as arrays of numbers, truth values or text: no objects."""
        ...


@runtime_checkable
class ReasonedLedger(Ledger, Protocol):
    """A ledger that says why machines have no room."""

    def find_fault(self, shape: int) -> str:
        """Return what is wrong with a shape wherever it goes, "" for nothing."""
        ...

    def list_faults(self, shape: int) -> Sequence[tuple[str, Bool]]:
        """Return better words than ``reason`` for some machines without room for a shape: words, and bool[M]."""
        ...

    def find_full(self, shapes: Int64, machines: Int64) -> Bool:
        """Return bool[A]: ``machines[i]`` has room for ``shapes[i]`` only once tasks there have gone."""
        ...


class Opening(Protocol):
    """What machines behind a ledger would take if tasks that are there now went. To be asked within the round only.

    ``held``: bool[S, M], machines that the model's filter refuses to a shape for nothing but what tasks there hold.
    Tasks go by the numbers of ``Arrivals.task``.
    """

    held: Bool

    def promising(self, shape: int, tasks: Int64) -> Bool:
        """Return bool[M]: machines that could open for a task of a shape if all of ``tasks`` went; the others
        would not.
        """
        ...

    def opens(self, shape: int, machine: int, tasks: Collection[int]) -> bool:
        """Return whether a machine certainly takes one task of a shape once ``tasks`` are gone, if no other task has
        come by then. More tasks never turn it from true to false.
        """
        ...


@runtime_checkable
class SharedOpening(Opening, Protocol):
    """An opening that several tasks may come through in one round."""

    def concerns(self, shape: int) -> bool:
        """Return whether tasks of a shape take of what is behind the ledger at all."""
        ...

    def opens_for(self, shapes: Sequence[int], machine: int, tasks: Collection[int]) -> bool:
        """Return whether a machine certainly takes a task of each of ``shapes`` once ``tasks`` are gone."""
        ...


@runtime_checkable
class OpenableLedger(Ledger, Protocol):
    """A ledger that knows what machines would take if tasks went, and brings that along itself."""

    @property
    def opening(self) -> Opening | None:
        """What they would take, None if no task can make room."""
        ...


@dataclass(frozen=True, slots=True)
class Heights:
    """A native figure that stands at ``start`` (float64[M], counted from the model's best) before the round, and that
    every task raises by its size: ``amount[s] @ rate[:, m]`` for one of shape ``s`` on machine ``m``.

    ``rate``: float64[R, M], ``amount``: float64[S, R]; all at least 0. For models whose ``growth`` is the size of the
    mean task: a flow sees no more, and where tasks differ in size the sums of their sizes are levelled after it.
    """

    start: Float64
    rate: Float64
    amount: Float64


@dataclass(frozen=True, slots=True)
class Assessment:
    """A model's answer for a batch of S shapes on M machines."""

    raw: NDArray[Any]
    """numeric[S, M], or [S, 1] if equal for all machines: native figure of a first task."""
    feasible: Bool | None = None
    """bool[S, M], None for all."""
    reason: str = ""
    """Why machines are refused; see ``causes`` if there are several reasons."""
    sparse: SparseArcs | None = None
    """Exceptions to ``raw``."""
    joint: Sequence[JointRows] = ()
    """Limits that several arcs share."""
    occupied: Bool | None = None
    """bool[S, M], machines that only refuse because of joint rows that their tasks use, and would give back;
    None for none.
    """
    ledger: Ledger | None = None
    """Limits that joint rows cannot express."""
    opening: Opening | None = None
    """How evictions change the ledger; None: leave machines alone whose order of tasks it counts."""
    score: Float64 | None = None
    """float64[S, M], the 0..100 score of the model's upstream; None: it is ``100 - points``."""
    growth: Float64 | None = None
    """float64[M], the result of ``crowding`` for the batch's mean task, if it depends on more than a request;
    None: ask ``crowding``.
    """
    heights: Heights | None = None
    """How ``raw`` is the sum of the tasks' sizes, if it is and should be levelled."""
    notes: Sequence[str] = ()
    """Bad input, one line each: the object, the field, the fault, and what was assumed instead. Each text is
    logged once.
    """
    causes: NDArray[np.int16] | None = None
    """int16[S, M], row of ``reasons``; only meaningful where not feasible."""
    reasons: Sequence[str] = ()
    """Texts for ``causes``."""

    def is_by_machine(self, machines: int) -> bool:
        """Return whether the answer has a figure for each of ``machines`` machines, and nothing but such figures,
        verdicts and texts.
        """
        if self.raw.shape[1] != machines:
            return False
        parts = (getattr(self, name) for name in _list_further())
        return all(part is None or (isinstance(part, Sequence) and not part) for part in parts)

    def refusals(self, shape: int) -> Iterator[tuple[str, Bool]]:
        """Yield each reason for which machines are refused to a shape, with those machines: bool[M]."""
        if self.feasible is None:
            return
        refused = ~self.feasible[shape]
        if self.causes is None:
            yield self.reason, refused
            return
        causes = self.causes[shape]
        for index in np.unique(causes[refused]).tolist():
            yield self.reasons[index], refused & (causes == index)


@cache
def _list_further() -> tuple[str, ...]:
    """Return the fields of an answer that are neither figures nor verdicts per machine nor texts."""
    known = (*PAIRWISE, "reason", "reasons", "notes")
    return tuple(each.name for each in fields(Assessment) if each.name not in known)
