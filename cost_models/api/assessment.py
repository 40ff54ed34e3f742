"""The answers of cost models: figures, filters, and limits on amounts that tasks share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Arrays, Bool, Float64, Int64

PAIRWISE = ("raw", "feasible", "causes", "score")
"""The fields of an answer that have a value per shape and machine."""


@dataclass(frozen=True, slots=True)
class Range:
    """The range of a model's native figure: ``best`` maps to 0 points, ``worst`` to 100.

    ``best`` may lie above ``worst`` (scores). Figures outside the range are clipped if ``bounded``; a figure that has
    no upper end (such as a network cost) declares ``bounded=False`` and may exceed 100 points.
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
    """Figures for single (shape, machine) pairs, which replace those in ``Assessment.raw``.

    ``shape``, ``machine``: int64[A]; ``raw``: float64[A]. Sparse arcs are for models that prefer a few machines and
    charge the same for all others.
    """

    shape: Int64
    machine: Int64
    raw: Float64


class ByTask(Protocol):
    """Returns the amounts of single tasks on machines.

    Call the function only while the cluster is as the model saw it.
    """

    def amounts(self, places: Int64) -> Int64:
        """Return the amounts of the tasks at ``places`` (int64[V]) in ``Load.assigned``: int64[V]."""
        ...


@dataclass(frozen=True, slots=True)
class Returned:
    """The amount that a machine's joint row certainly gets back when tasks leave, whichever others stay.

    Each task that leaves gives back ``by_kind`` (int64[P], 0 or more) of its kind in ``MachineColumns.residents``, or
    the amount that ``by_task`` returns for its place in ``Load.assigned``; exactly one of the two is given. The first
    ``owed`` (int64[R], 0 or more) of what comes back only makes up for what tasks there use beyond the limit.
    ``barred``: bool[S], shapes that the model's filter refuses as long as something is owed, even if they take
    nothing themselves; None if no shape is barred.
    """

    owed: Int64
    by_kind: Int64 | None = None
    by_task: ByTask | None = None
    barred: Bool | None = None


@dataclass(frozen=True, slots=True)
class JointRows:
    """Limits on the amounts that tasks of several shapes use together, which a flow of single units cannot express.

    Row ``row_of[m]`` (int64[M], -1: none) takes ``amount[s]`` (int64[S]) from every task of shape ``s`` on machine
    ``m``; the amounts on a row never exceed ``limit`` (int64[R]). ``reason`` says why a machine without room is
    refused. ``row_of = arange(M)`` gives each machine a row of its own. ``returned``: what evictions give back, only if
    no two machines share a row; None: nothing comes back for certain.
    """

    row_of: Int64
    amount: Int64
    limit: Int64
    reason: str
    returned: Returned | None = None

    @property
    def shared(self) -> bool:
        """Whether some joint row limits several machines."""
        machines = np.bincount(self.row_of + 1)[1:]  # the first bin counts machines without a row (-1)
        return bool(machines.max(initial=0) > 1)

    def holds(self) -> Bool:
        """Return the shapes that joint rows may refuse, because they take an amount or may be barred: bool[S]."""
        takes: Bool = self.amount > 0
        barred = None if self.returned is None else self.returned.barred
        return takes if barred is None else takes | barred


@runtime_checkable
class Ledger(Protocol):
    """An account of free capacity that joint rows cannot express, such as the NUMA zones to which a kubelet aligns
    requests.

    A ledger describes the machines as they are when the round begins; the scheduler works on copies, and books the
    tasks that it admits. Bookings never add room, except where the order of tasks counts. ``reason``: why a machine
    without room is refused. See also ``SharedLedger``, ``EvictableLedger`` and ``ReasonedLedger``.
    """

    reason: str

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        """Return whether tasks of ``shapes[i]`` must be bound to ``machines[i]`` in the order in which they were
        admitted: bool[A].
        """
        ...

    def count_room(self, shape: int) -> Int64:
        """Return how many more tasks of a shape each machine takes if no other tasks are placed: int64[M].

        A large number stands for no limit.
        """
        ...

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        """Return how many more tasks of ``shapes[i]`` machine ``machines[i]`` takes if no others are
        placed: int64[A].
        """
        ...

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Record up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; return how many of them fitted:
        int64[A].

        Entries are booked in the given order, and the tasks of an entry one after another. Machines may repeat.
        """
        ...

    def copy(self) -> Ledger:
        """Return an independent copy."""
        ...


@runtime_checkable
class SharedLedger(Ledger, Protocol):
    """A ledger in which several machines may draw on the same free capacity."""

    @property
    def shared(self) -> bool:
        """Whether a task recorded on one machine may leave less capacity on other machines."""
        ...


@runtime_checkable
class SavableLedger(Ledger, Protocol):
    """A ledger that can be saved as arrays, so that a round that used it can be replayed.

    ``model``: name of the entry point of the model that restores it. The model's class has a static method
    ``restore_ledger``, which takes the arrays with the numbers of shapes and machines, and raises ``KeyError`` for a
    missing array and ``MalformedArraysError`` for one that makes no sense. Rounds themselves also work with ledgers
    that cannot be saved.
    """

    model: ClassVar[str]

    def save(self) -> Arrays:
        """Return the present content of the ledger as arrays of numbers, truth values or text, without objects."""
        ...


@runtime_checkable
class ReasonedLedger(Ledger, Protocol):
    """A ledger that gives several reasons why machines with too little free refuse a shape."""

    def find_fault(self, shape: int) -> str:
        """Return the fault of a shape because of which no machine may take it; "" for none."""
        ...

    def list_faults(self, shape: int) -> Sequence[tuple[str, Bool]]:
        """Return more exact reasons than ``reason`` for some machines on which a shape does not fit: text and bool[M]
        each.
        """
        ...

    def find_full(self, shapes: Int64, machines: Int64) -> Bool:
        """Return whether a task of ``shapes[i]`` fits on ``machines[i]`` only after tasks leave that machine:
        bool[A]."""
        ...


class RoomAfterEviction(Protocol):
    """Says on which machines of a ledger a task would fit if other tasks left; call it only within the round.

    ``held``: bool[S, M], machines that the model's filter refuses to a shape only because of what tasks there hold.
    Tasks are given by their numbers in ``Arrivals.task``.
    """

    held: Bool

    def find_possible(self, shape: int, tasks: Int64) -> Bool:
        """Return which machines may take a task of a shape if all of ``tasks`` leave: bool[M]; all others
        certainly do not.
        """
        ...

    def admits(self, shape: int, machine: int, tasks: Collection[int]) -> bool:
        """Return whether a machine certainly takes one task of a shape after ``tasks`` leave, if no others are placed
        there.

        If the answer is True for some tasks, it is True for these and more.
        """
        ...


@runtime_checkable
class SharedRoomAfterEviction(RoomAfterEviction, Protocol):
    """A `RoomAfterEviction` that can answer for several tasks on one machine in the same round."""

    def concerns(self, shape: int) -> bool:
        """Return whether tasks of a shape take anything that the ledger accounts for."""
        ...

    def admits_all(self, shapes: Sequence[int], machine: int, tasks: Collection[int]) -> bool:
        """Return whether a machine certainly takes a task of each of ``shapes`` after ``tasks`` leave."""
        ...


@runtime_checkable
class EvictableLedger(Ledger, Protocol):
    """A ledger that can also say on which machines a task would fit if other tasks left."""

    @property
    def room_after_eviction(self) -> RoomAfterEviction | None:
        """Returns what says on which machines a task would fit if others left; None if evictions free nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Heights:
    """A native figure that is the sum of the sizes of a machine's tasks, so that it can be levelled.

    It is ``start`` (float64[M], counted from the model's best) before the round; each task of shape ``s`` on machine
    ``m`` raises it by its size, ``amount[s] @ rate[:, m]``. ``rate``: float64[R, M]; ``amount``: float64[S, R]; all
    are at least 0. Heights are for models whose ``growth`` is the size of the mean task, which is all that a flow can
    use; levelling then exchanges tasks of different sizes.
    """

    start: Float64
    rate: Float64
    amount: Float64


@dataclass(frozen=True, slots=True)
class Assessment:
    """A model's answer for a batch of S shapes on M machines."""

    raw: NDArray[Any]
    """numeric[S, M], or [S, 1] if equal for all machines: native figure of one task, if no other is added in the round.
    """
    feasible: Bool | None = None
    """bool[S, M], the machines that a shape may use; None: all of them."""
    reason: str = ""
    """Why machines are refused; see ``causes`` if there are several reasons."""
    sparse: SparseArcs | None = None
    """Exceptions to ``raw``."""
    joint: Sequence[JointRows] = ()
    """Limits on amounts that several tasks share."""
    occupied: Bool | None = None
    """bool[S, M], machines that are refused only because of joint rows that their tasks use, and would give back.

    None if no machine is refused for this reason only.
    """
    ledger: Ledger | None = None
    """Limits that joint rows cannot express."""
    room_after_eviction: RoomAfterEviction | None = None
    """How evictions change the ledger; None: nothing is evicted from machines on which the order of tasks counts."""
    score: Float64 | None = None
    """float64[S, M], the score from 0 to 100 of the model's upstream; None if the score is ``100 - points``."""
    growth: Float64 | None = None
    """float64[M], the result of ``crowding`` for the batch's mean task, if it depends on more than a request.

    None if the scheduler should call ``crowding``.
    """
    heights: Heights | None = None
    """How ``raw`` is a sum of the tasks' sizes, if it is and should be levelled."""
    notes: Sequence[str] = ()
    """Bad input, one line each: the object, the field, the fault, and what was assumed instead.

    The scheduler logs each text once.
    """
    causes: NDArray[np.int16] | None = None
    """int16[S, M], the index in ``reasons`` of why a machine is refused; without meaning where feasible."""
    reasons: Sequence[str] = ()
    """Texts for ``causes``."""

    def is_by_machine(self, machines: int) -> bool:
        """Return whether the answer consists only of values per machine (``machines`` of them) and texts."""
        if self.raw.shape[1] != machines:
            return False
        parts = (getattr(self, name) for name in _list_further())
        return all(part is None or (isinstance(part, Sequence) and not part) for part in parts)

    def refusals(self, shape: int) -> Iterator[tuple[str, Bool]]:
        """Yield each reason for refusing machines to a shape, with the machines: bool[M]."""
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
    """Return the names of the fields of an answer that hold neither values per machine nor texts."""
    known = (*PAIRWISE, "reason", "reasons", "notes")
    return tuple(each.name for each in fields(Assessment) if each.name not in known)
