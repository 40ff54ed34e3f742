"""What a cost model is given and what it answers.

A model looks at a batch of *shapes* (tasks whose requests and selectors are alike) and at columns of *machines*, and
answers with an `Assessment`: a filter, the native figure of placing one task of a shape on a machine, how that figure
grows as a machine fills, and joint rows for whatever several tasks share. The scheduler maps native figures to points
(0 best, 100 worst) through the model's declared `Range`, multiplies by the configured weight and builds the network.

Everything here depends on numpy alone, so that a model can be written and tested without the scheduler.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]


class ModelArgumentError(ValueError):
    """Bad ``args`` in the configuration: the message names the argument, what is wrong with it and what is allowed."""


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
        """Points that one unit of the native figure is worth, as a positive number."""
        return abs(100.0 / (self.worst - self.best))


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """What one container asks for; ``kind`` is "app", "init" or "sidecar" (an init container that goes on running)."""

    name: str
    kind: str = "app"
    requests: tuple[tuple[str, int], ...] = ()
    limits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """What a model may see of one shape besides its requests.

    ``labels`` only holds those that some configured model names in its attribute ``label_keys``, ``namespace`` is
    empty unless one has ``uses_namespaces = True``: tasks that differ in nothing else share a shape.
    ``containers`` in their order, ``qos`` (Guaranteed, Burstable, BestEffort; "": not known) and ``overhead`` (of the
    runtime) come only from drivers that are told of a model which looks at them; so do ``limits`` (what a task may use
    at most), ``service_class`` (koord-prod, koord-mid, koord-batch, koord-free; "": none) and ``daemon`` (it belongs
    to a DaemonSet).
    """

    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[ContainerRow, ...] = ()
    qos: str = ""
    overhead: tuple[tuple[str, int], ...] = ()
    limits: tuple[tuple[str, int], ...] = ()
    service_class: str = ""
    daemon: bool = False


@dataclass(frozen=True, slots=True)
class Residents:
    """The tasks that are on machines already, counted by kind; read-only.

    ``count[i]`` tasks (at least 1) of kind ``kind[i]`` are on machine row ``machine[i]``: int64[R] each, ordered by
    machine, then kind, no pair twice. ``kinds``: what may be seen of each kind; ``requests``: int64[len(kinds), K] per
    task. Bound tasks count, and those that an earlier round placed; the tasks of this round do not.
    """

    machine: Int64
    kind: Int64
    count: Int64
    kinds: Sequence[ShapeRow]
    requests: Int64

    def summed(self, amount: Float64, machines: int) -> Float64:
        """Sum of ``amount`` (float64[len(kinds)] per task) over the residents of each machine: float64[machines]."""
        weights = amount[self.kind] * self.count
        return np.bincount(self.machine, weights=weights, minlength=machines).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Assigned:
    """The tasks that are on machines already, a row each; read-only.

    Task i is of kind ``kind[i]`` and on machine row ``machine[i]``: int64[A]. ``time``, ``initialized``: float64[A],
    seconds since the epoch when it got the machine and when it was initialized, NaN if not (known). ``reported``:
    bool[A], the machine's last report has figures of it, ``usage``: float64[A, K], 0 where there are none. ``prod``:
    bool[A], the report takes it for koord-prod, or does not say. ``kinds``: what may be seen of each kind;
    ``requests``: int64[len(kinds), K] per task. Tasks that an earlier round placed count; those of this round do not.
    """

    machine: Int64
    kind: Int64
    time: Float64
    initialized: Float64
    reported: Bool
    usage: Float64
    prod: Bool
    kinds: Sequence[ShapeRow]
    requests: Int64


class Windows(Protocol):
    """Use over periods. To be asked within ``assess`` only."""

    def usage(self, kind: str, seconds: float) -> Float64:
        """Return float64[M, K], use over the ``seconds`` up to the last report, NaN rows where there is none.

        ``kind``: avg, p50, p90, p95, p99 or std. ``seconds`` 0 stands for the longest period there is.
        """
        ...


@dataclass(frozen=True, slots=True)
class Load:
    """What is reported of the use of machines and tasks, beside ``MachineColumns.usage``; read-only.

    ``reported``: bool[M], there is a source of reports (whether or not it has figures: then ``usage`` is not NaN).
    ``interval``: float64[M], seconds between its reports, 0 if not known. ``system``: float64[M, K], the part of the
    use that is no task's, 0 if not known. ``total``: int64[M, K], what the hardware has, the system's part included.
    """

    reported: Bool
    interval: Float64
    system: Float64
    total: Int64
    windows: Windows
    assigned: Assigned


class Kinds(Protocol):
    """What may be seen of kinds of tasks. To be asked within ``assess`` only."""

    def rows(self, kinds: Int64) -> Sequence[ShapeRow]:
        """Return the description of each of ``kinds``."""
        ...

    def requests(self, kinds: Int64) -> Int64:
        """Return int64[len(kinds), K], what a task of each kind requests."""
        ...


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The tasks on machines that a record of the model's kinds is about, in the order in which they came; read-only.

    A record is about the machine whose name it bears. Task i is of kind ``kind[i]`` and on machine row ``machine[i]``;
    its id is ``uids[task[i]]``: int64[A] each. ``after``: bool[A], it came after the last of those records. ``time``:
    float64[A], seconds since the epoch when it got the machine, NaN if not known. ``displacing``: bool[A], it got its
    place from others that had to go; until it is bound it counts as ``after``. Tasks of this round are not there.
    """

    machine: Int64
    kind: Int64
    task: Int64
    after: Bool
    displacing: Bool
    time: Float64
    uids: Sequence[str]
    kinds: Kinds


@dataclass(frozen=True, slots=True)
class MachineColumns:
    """The machines of a round, one row each; read-only.

    ``capacity``, ``free``: int64[M, K], in the unit of each resource (milli-cores, bytes, counts); ``free`` is what
    is left of the capacity and never negative here. ``running``: int64[M], tasks on the machine. ``usage``:
    float64[M, K], the last measured use, NaN where there is none; ``usage_time``: float64[M], seconds since the
    epoch, NaN where there is none. ``records``: typed records by kind and name, as the models ask for them.
    ``residents``: the tasks on the machines, None unless some configured model has ``uses_residents``. ``load``: use
    in detail, None unless some configured model has ``uses_load``. ``arrivals``: tasks on machines with records, None
    unless some configured model has ``uses_arrivals``. ``unseen``: int64[M, K], requests of the tasks that ``usage``
    cannot show yet, since they came after the report before it; None unless some model has ``uses_unseen``.
    """

    names: Sequence[str]
    resources: Sequence[str]
    capacity: Int64
    free: Int64
    running: Int64
    labels: Sequence[Mapping[str, str]]
    annotations: Sequence[Mapping[str, str]]
    usage: Float64
    usage_time: Float64
    records: Mapping[str, Mapping[str, bytes]]
    now: float
    residents: Residents | None = None
    load: Load | None = None
    arrivals: Arrivals | None = None
    unseen: Int64 | None = None

    @property
    def count(self) -> int:
        """M, the number of machines."""
        return len(self.names)

    def column(self, resource: str) -> int | None:
        """Index of a resource's column, or None if neither a machine nor a task knows it."""
        try:
            return self.resources.index(resource)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class ShapeBatch:
    """The shapes of a round. ``requests``: int64[S, K] per task; ``counts``: int64[S] waiting tasks of each shape.

    ``allowed``: per shape bool[M], the machines that rules other than the models' leave open to it, whether or not
    there is room; None: all.
    """

    requests: Int64
    counts: Int64
    rows: Sequence[ShapeRow]
    allowed: Sequence[Bool] | None = None

    @property
    def count(self) -> int:
        """S, the number of shapes."""
        return int(self.requests.shape[0])


@dataclass(frozen=True, slots=True)
class SparseArcs:
    """Figures for single (shape, machine) pairs, replacing those of the row: ``shape``, ``machine``: int64[A],
    ``raw``: float64[A]. For models that prefer a few machines and price all others alike.
    """

    shape: Int64
    machine: Int64
    raw: Float64


@dataclass(frozen=True, slots=True)
class JointRows:
    """Limits on what tasks of any shapes use together, which a flow of single units cannot bound.

    Row ``row_of[m]`` (int64[M], -1: none) takes ``amount[s]`` (int64[S]) from every task of shape ``s`` on machine
    ``m``; the amounts on a row never exceed ``limit`` (int64[R]). ``reason`` is what a machine that lacks room is
    rejected with. A row of its own per machine is ``row_of = arange(M)``.
    """

    row_of: Int64
    amount: Int64
    limit: Int64
    reason: str


class Ledger(Protocol):
    """Room that tasks share in a way that no joint row can say, such as a kubelet's alignment of what they ask for.

    A ledger stands for the machines as they are when the round begins; the scheduler works on copies, and books on
    them what it admits. Room grows by booking at most where order counts. ``reason``: why a machine without room is
    refused.
    """

    reason: str

    def ordered(self, shapes: Int64, machines: Int64) -> Bool:
        """bool[A]: the ledger counts on tasks of ``shapes[i]`` reaching ``machines[i]`` in order of admission."""
        ...

    def room(self, shape: int) -> Int64:
        """int64[M]: how many more tasks of a shape each machine takes by themselves; a large number: any."""
        ...

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        """int64[A]: how many more tasks of ``shapes[i]`` machine ``machines[i]`` takes by themselves."""
        ...

    def take(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Book up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``, entry by entry and one task after
        another; returns how many of each entry it took: int64[A]. Machines may repeat.
        """
        ...

    def copy(self) -> Ledger:
        """Return an independent copy."""
        ...


class Opening(Protocol):
    """What machines behind a ledger would take if tasks that are there now went. To be asked within the round only.

    ``held``: bool[S, M], machines that the model's filter refuses to a shape for nothing but what tasks there hold.
    Tasks go by the numbers of ``Arrivals.task``.
    """

    held: Bool

    def promising(self, shape: int, tasks: Int64) -> Bool:
        """bool[M]: machines that could open for a task of a shape if all of ``tasks`` went; the others would not."""
        ...

    def opens(self, shape: int, machine: int, tasks: Collection[int]) -> bool:
        """Whether a machine certainly takes one task of a shape once ``tasks`` are gone, if nobody else has come by
        then. More tasks never turn it from true to false.
        """
        ...


@dataclass(frozen=True, slots=True)
class Assessment:
    """A model's answer for a batch of shapes.

    ``raw``: numeric[S, M] (or [S, 1] where it is the same for every machine): native figure of a first task.
    ``feasible``: bool[S, M] or None (all); ``reason``: why a machine is refused. Where that differs: ``causes``,
    int16[S, M], index into ``reasons`` where not feasible (elsewhere of no meaning). ``sparse``: exceptions to ``raw``.
    ``joint``: joint rows. ``ledger``: what joint rows cannot say; ``opening``: what evicting changes for it, None if
    machines that it counts on the order of are to be left alone.
    ``score``: float64[S, M], the 0..100 score as the model's upstream defines it, if it does;
    None: the score is ``100 - points``. ``growth``: float64[M], what ``crowding`` says, for the mean task of the batch;
    for models whose crowding depends on more than a request; None: ``crowding`` is asked. ``notes``: bad input that the
    model came across, each one line that names the object, the field, the fault and what was assumed instead; the
    scheduler logs each text once.
    """

    raw: NDArray[Any]
    feasible: Bool | None = None
    reason: str = ""
    sparse: SparseArcs | None = None
    joint: Sequence[JointRows] = ()
    ledger: Ledger | None = None
    opening: Opening | None = None
    score: Float64 | None = None
    growth: Float64 | None = None
    notes: Sequence[str] = ()
    causes: NDArray[np.int16] | None = None
    reasons: Sequence[str] = ()

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


class CostModel(Protocol):
    """A scheduling policy or overlay.

    A model is pure: equal inputs give equal answers, inputs are never written to, and it keeps no state between
    rounds (history reaches it as records and samples). ``range`` declares the span of ``raw``. A model that looks at
    the tasks on the machines has a further attribute ``uses_residents = True``: they are counted only on request. One
    that looks at use in detail, or at single tasks on the machines, has ``uses_load = True``; one that adds requests to
    measured use has ``uses_unseen = True``.
    """

    name: str
    range: Range
    record_kinds: Sequence[str]

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Judge every machine for every shape."""
        ...

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return by how much ``raw`` of a task with ``request`` (int64[K]) grows per such task already placed on a
        machine in this round: float64[M], >= 0. Zero means indifference to crowding.
        """
        ...


def label_keys(model: CostModel) -> frozenset[str]:
    """Labels of tasks that a model looks at: its attribute ``label_keys``, none if it has none."""
    return frozenset(getattr(model, "label_keys", ()))


def uses_namespaces(model: CostModel) -> bool:
    """Whether a model looks at the namespace of tasks."""
    return bool(getattr(model, "uses_namespaces", False))


def uses_arrivals(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.arrivals``."""
    return bool(getattr(model, "uses_arrivals", False))


def uses_residents(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.residents``."""
    return bool(getattr(model, "uses_residents", False))


def uses_load(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.load``."""
    return bool(getattr(model, "uses_load", False))


def uses_unseen(model: CostModel) -> bool:
    """Whether a model asks for ``MachineColumns.unseen``."""
    return bool(getattr(model, "uses_unseen", False))
