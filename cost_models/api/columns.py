"""What a cost model sees: shapes of tasks, and columns of machines with what is on them. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar, overload

import numpy as np

from cost_models.api.arrays import Bool, Float64, Int64

T = TypeVar("T")


class Chosen(Sequence[T]):
    """Some entries of a sequence, found when they are asked for: most models look at few descriptions, or at none."""

    __slots__ = ("_entries", "_rows")

    def __init__(self, entries: Sequence[T], rows: Sequence[int]) -> None:
        """Entry i is ``entries[rows[i]]``."""
        self._entries = entries
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return Chosen(self._entries, self._rows[index])
        return self._entries[self._rows[index]]

    def __iter__(self) -> Iterator[T]:
        return map(self._entries.__getitem__, self._rows)


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """What one container asks for; ``kind`` is "app", "init" or "sidecar" (an init container that goes on running).

    Resources are in order of their names.
    """

    name: str
    kind: str = "app"
    requests: tuple[tuple[str, int], ...] = ()
    limits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """What a model may see of one shape besides its requests.

    ``labels`` only holds those that some configured model needs, ``namespace`` is empty unless one needs it: tasks that
    differ in nothing else share a shape. ``containers`` in their order, ``qos`` (Guaranteed, Burstable, BestEffort; "":
    not known) and ``overhead`` (of the runtime) come only from drivers that are told of a model which needs them; so do
    ``limits`` (what a task may use at most), ``service_class`` (koord-prod, koord-mid, koord-batch, koord-free; "":
    none) and ``daemon`` (it belongs to a DaemonSet).
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

    def sum_by_machine(self, amount: Float64, machines: int) -> Float64:
        """Sum of ``amount`` (float64[len(kinds)] per task) over the residents of each machine: float64[machines]."""
        weights = amount[self.kind] * self.count
        return np.bincount(self.machine, weights=weights, minlength=machines).astype(np.float64)

    def select(self, rows: Int64) -> Residents:
        """Return the residents of the machines in ``rows`` (ascending), which are numbered from 0 then; kinds stay."""
        there = np.isin(self.machine, rows)
        place = np.searchsorted(rows, self.machine[there])
        return replace(self, machine=place, kind=self.kind[there], count=self.count[there])


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
    ``residents``: the tasks on the machines. ``load``: use in detail. ``arrivals``: tasks on machines with records.
    ``unseen``: int64[M, K], requests of the tasks that ``usage`` cannot show yet, since they came after the report
    before it. All four are None unless some configured model needs them (see ``Needs``).
    ``unstated``: int64[M, K], what the tasks on the machines are assumed to need beyond what they request, because some
    of their containers state nothing; None: nothing. ``free`` does not know of it: it decides who fits. ``scarce``:
    columns of the extended resources that few machines of the cluster offer (see ``scarce_resources``).
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
    unstated: Int64 | None = None
    scarce: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """M, the number of machines."""
        return len(self.names)

    def get_requested(self, column: int) -> Int64:
        """Return what tasks request of a resource, or are assumed to need of it: int64[M]. It may exceed the
        capacity.
        """
        taken = self.capacity[:, column] - self.free[:, column]
        return taken if self.unstated is None else taken + self.unstated[:, column]

    def column(self, resource: str) -> int | None:
        """Index of a resource's column, or None if no machine offers it."""
        try:
            return self.resources.index(resource)
        except ValueError:
            return None

    def select(self, rows: Int64) -> MachineColumns:
        """Return the columns of the machines in ``rows`` (int64[C], ascending), without ``load`` and ``arrivals``.

        It is what models that are ``per_machine`` are asked about.
        """
        chosen = rows.tolist()
        return replace(
            self,
            names=Chosen(self.names, chosen),
            capacity=self.capacity[rows],
            free=self.free[rows],
            running=self.running[rows],
            labels=Chosen(self.labels, chosen),
            annotations=Chosen(self.annotations, chosen),
            usage=self.usage[rows],
            usage_time=self.usage_time[rows],
            residents=None if self.residents is None else self.residents.select(rows),
            load=None,
            arrivals=None,
            unseen=None if self.unseen is None else self.unseen[rows],
            unstated=None if self.unstated is None else self.unstated[rows],
        )


@dataclass(frozen=True, slots=True)
class ShapeBatch:
    """The shapes of a round. ``requests``: int64[S, K] per task; ``counts``: int64[S] waiting tasks of each shape.

    ``allowed``: per shape bool[M], the machines that rules other than the models' leave open to it, whether or not
    there is room; None: all. ``unstated``: int64[S, K], what a task is assumed to need beyond its requests; None:
    nothing.
    """

    requests: Int64
    counts: Int64
    rows: Sequence[ShapeRow]
    allowed: Sequence[Bool] | None = None
    unstated: Int64 | None = None

    @property
    def demand(self) -> Int64:
        """int64[S, K]: what a task requests or is assumed to need. Costs go by that; whether it fits, by requests."""
        return self.requests if self.unstated is None else self.requests + self.unstated

    @property
    def count(self) -> int:
        """S, the number of shapes."""
        return int(self.requests.shape[0])

    def mean(self, amounts: Float64 | Int64) -> Float64:
        """Mean over all waiting tasks of ``amounts`` per shape: numeric[S, ...]; 0 if none waits."""
        return amounts.astype(np.float64).T @ self.counts / max(1, int(self.counts.sum()))

    def select(self, shapes: Int64, machines: Int64 | None = None) -> ShapeBatch:
        """Return the given shapes (int64[A]) alone, with ``allowed`` on the machines in ``machines``; None: on all."""
        chosen = shapes.tolist()
        allowed: Sequence[Bool] | None = None
        if self.allowed is not None:
            of_all = Chosen(self.allowed, chosen)
            allowed = of_all if machines is None else tuple(row[machines] for row in of_all)
        unstated = None if self.unstated is None else self.unstated[shapes]
        return ShapeBatch(
            self.requests[shapes], self.counts[shapes], Chosen(self.rows, chosen), allowed, unstated
        )
