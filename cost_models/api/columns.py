"""The inputs of cost models, all read-only: shapes of tasks, and columns of machines with the tasks on them.

Read-only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar, overload

import numpy as np

from cost_models.api.arrays import Bool, Float64, Int64
from cost_models.api.devices import DeviceColumns, DeviceDemand

T = TypeVar("T")


class Chosen(Sequence[T]):
    """A selection of a sequence whose entries are looked up only when used, because most models read few
    descriptions."""

    __slots__ = ("_entries", "_rows")

    def __init__(self, entries: Sequence[T], rows: Sequence[int]) -> None:
        """Make a selection whose entry i is ``entries[rows[i]]``."""
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
    """The requests of one container; ``kind`` is "app", "init" or "sidecar" (an init container that goes on running).

    Resources are in order of their names.
    """

    name: str
    kind: str = "app"
    requests: tuple[tuple[str, int], ...] = ()
    limits: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """The properties of one shape, besides its requests, that a model may see.

    A field that no configured model needs is empty: tasks that differ only in this field share a shape.
    """

    namespace: str = ""
    """Namespace of the tasks."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that some model needs."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations that some model needs."""
    containers: tuple[ContainerRow, ...] = ()
    """The task's containers, in their order."""
    qos: str = ""
    """Guaranteed, Burstable or BestEffort; "" if unknown."""
    overhead: tuple[tuple[str, int], ...] = ()
    """Amounts by resource that the runtime adds."""
    limits: tuple[tuple[str, int], ...] = ()
    """Amounts by resource that a task may use at most."""
    service_class: str = ""
    """koord-prod, koord-mid, koord-batch or koord-free; "" for none."""
    daemon: bool = False
    """Whether the task belongs to a DaemonSet."""


@dataclass(frozen=True, slots=True)
class Residents:
    """The numbers of tasks that are on machines already, by machine and kind; read-only.

    ``count[i]`` tasks (at least 1) of kind ``kind[i]`` are on machine row ``machine[i]``: int64[R] each, ordered by
    machine, then kind, no pair twice. ``kinds``: what may be seen of each kind; ``requests``: int64[len(kinds), K]
    per task. Residents are bound tasks, and tasks that an earlier round placed; tasks of the present round do not
    count.
    """

    machine: Int64
    kind: Int64
    count: Int64
    kinds: Sequence[ShapeRow]
    requests: Int64

    def sum_by_machine(self, amount: Float64, machines: int) -> Float64:
        """Return the sum of ``amount`` over the tasks of each machine: float64[machines].

        ``amount``: float64[len(kinds)], the amount of one task of each kind.
        """
        weights = amount[self.kind] * self.count
        return np.bincount(self.machine, weights=weights, minlength=machines).astype(np.float64)

    def select(self, rows: Int64) -> Residents:
        """Return the residents of the machines in ``rows`` (ascending), numbered anew from 0; kinds keep their
        numbers."""
        there = np.isin(self.machine, rows)
        place = np.searchsorted(rows, self.machine[there])
        return replace(self, machine=place, kind=self.kind[there], count=self.count[there])


@dataclass(frozen=True, slots=True)
class Assigned:
    """The A tasks that are on machines already, one row each; read-only.

    Tasks that earlier rounds placed count; tasks of the present round do not.
    """

    machine: Int64
    """int64[A], row of the machine."""
    kind: Int64
    """int64[A], the kind of each task, as a row of ``kinds``."""
    time: Float64
    """float64[A], when the task got its machine, in seconds since the epoch; NaN if unknown."""
    initialized: Float64
    """float64[A], when the task was initialized, in seconds since the epoch; NaN if it is not, or if unknown."""
    reported: Bool
    """bool[A], whether the machine's last report has figures of the task."""
    usage: Float64
    """float64[A, K], reported use of the task, 0 without figures."""
    prod: Bool
    """bool[A], whether the report counts the task as koord-prod, or does not say."""
    kinds: Sequence[ShapeRow]
    """The properties of each kind that a model may see."""
    requests: Int64
    """int64[len(kinds), K], requests per task."""


class Windows(Protocol):
    """Reported use over periods; may be called only within ``assess``."""

    def usage(self, kind: str, seconds: float) -> Float64:
        """Return float64[M, K], the use over the ``seconds`` up to the last report; rows without such figures are NaN.

        ``kind``: avg, p50, p90, p95, p99 or std. ``seconds`` 0 stands for the longest period of which there are
        figures.
        """
        ...


@dataclass(frozen=True, slots=True)
class Load:
    """The reported use of machines and tasks, in addition to ``MachineColumns.usage``; read-only.

    ``reported``: bool[M], whether the machine has a source of reports (with or without figures: where ``usage`` is
    not NaN, it has figures). ``interval``: float64[M], seconds between its reports, 0 if not known. ``system``:
    float64[M, K], the part of the use that is no task's, 0 if not known. ``total``: int64[M, K], what the hardware
    has, the system's part included.
    """

    reported: Bool
    interval: Float64
    system: Float64
    total: Int64
    windows: Windows
    assigned: Assigned


class Kinds(Protocol):
    """Describes kinds of tasks. A cost model may call its methods only while the model's ``assess`` runs."""

    def rows(self, kinds: Int64) -> Sequence[ShapeRow]:
        """Return the description of each of ``kinds``."""
        ...

    def requests(self, kinds: Int64) -> Int64:
        """Return int64[len(kinds), K], what a task of each kind requests."""
        ...


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The A tasks on machines that have a record of a kind the model reads, in order of arrival; read-only.

    A record concerns the machine with its name. Tasks of this round are not included.
    """

    machine: Int64
    """int64[A], row of the machine."""
    kind: Int64
    """int64[A], the kind of each task, as a row of ``kinds``."""
    task: Int64
    """int64[A], each task, as a row of ``uids``."""
    after: Bool
    """bool[A], whether the task arrived after the last of its machine's records."""
    displacing: Bool
    """bool[A], whether other tasks had to leave for the task; until it is bound, ``after`` is true for it."""
    time: Float64
    """float64[A], when the task got its machine, in seconds since the epoch; NaN if unknown."""
    uids: Sequence[str]
    """Ids of tasks."""
    kinds: Kinds
    """The properties of each kind that a model may see."""


@dataclass(frozen=True, slots=True)
class MachineColumns:
    """The M machines of a round, one row each; read-only. Amounts are in the unit of their resource
    (milli-cores, bytes, counts).

    ``residents``, ``load``, ``arrivals``, ``unseen`` and ``devices`` are None unless a configured model needs them (see
    ``Needs``).
    """

    names: Sequence[str]
    """Names of the machines."""
    resources: Sequence[str]
    """Names of the K resources."""
    capacity: Int64
    """int64[M, K]."""
    free: Int64
    """int64[M, K], what is left of the capacity, never negative."""
    running: Int64
    """int64[M], tasks on the machine."""
    labels: Sequence[Mapping[str, str]]
    """Labels by machine."""
    annotations: Sequence[Mapping[str, str]]
    """Annotations by machine."""
    usage: Float64
    """float64[M, K], the last measured use, NaN without one."""
    usage_time: Float64
    """float64[M], when the last use was measured, in seconds since the epoch; NaN without a measurement."""
    records: Mapping[str, Mapping[str, bytes]]
    """Typed records by kind and name; models name the kinds that they need."""
    now: float
    """Seconds since the epoch."""
    residents: Residents | None = None
    """The tasks on the machines."""
    load: Load | None = None
    """Use in detail."""
    arrivals: Arrivals | None = None
    """Tasks on machines with records."""
    unseen: Int64 | None = None
    """int64[M, K], requests of tasks that came after the last report, so that ``usage`` cannot show them."""
    unstated: Int64 | None = None
    """int64[M, K], assumed need of tasks beyond their requests, because some containers request none; None for none.

    ``free``, which decides what fits, does not contain the assumed need.
    """
    scarce: tuple[int, ...] = ()
    """Columns of extended resources that few machines offer (see ``scarce_resources``)."""
    devices: DeviceColumns | None = None
    """Devices of the drivers that models name; None if no model names drivers, or if there are no devices."""

    @property
    def count(self) -> int:
        """Number of machines: M."""
        return len(self.names)

    def get_requested(self, column: int) -> Int64:
        """Return what tasks request of a resource, or are assumed to need of it: int64[M].

        The sum may exceed the capacity.
        """
        taken = self.capacity[:, column] - self.free[:, column]
        return taken if self.unstated is None else taken + self.unstated[:, column]

    def column(self, resource: str) -> int | None:
        """Return the index of a resource's column, or None if no machine offers it."""
        try:
            return self.resources.index(resource)
        except ValueError:
            return None

    def select(self, rows: Int64) -> MachineColumns:
        """Return the columns of the machines in ``rows`` (int64[C], ascending), without ``load`` and ``arrivals``.

        Models that are ``per_machine`` are asked about such selections.
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
            devices=None if self.devices is None else self.devices.select(rows),
        )


@dataclass(frozen=True, slots=True)
class ShapeBatch:
    """The shapes of a round; read-only."""

    requests: Int64
    """int64[S, K], amounts per task."""
    counts: Int64
    """int64[S], waiting tasks of each shape."""
    rows: Sequence[ShapeRow]
    """The other properties of each shape that a model may see."""
    allowed: Sequence[Bool] | None = None
    """Per shape bool[M], machines that rules other than the models' leave open to it, whether or not they have room.

    None: all machines.
    """
    unstated: Int64 | None = None
    """int64[S, K], what a task is assumed to need beyond its requests; None if no task needs more."""
    devices: DeviceDemand | None = None
    """The devices that a task takes of those that models judge; None if it takes none."""
    typical: ShapeBatch | None = None
    """The shapes of which the cluster has most tasks, waiting or on machines, with their ``counts``.

    None unless a model needs them.
    """

    @property
    def demand(self) -> Int64:
        """int64[S, K]: what a task requests or is assumed to need.

        Costs are computed by the demand; whether a task fits, by its requests.
        """
        return self.requests if self.unstated is None else self.requests + self.unstated

    @property
    def count(self) -> int:
        """Number of shapes: S."""
        return int(self.requests.shape[0])

    def mean(self, amounts: Float64 | Int64) -> Float64:
        """Return the mean over all waiting tasks of ``amounts`` per shape: numeric[S, ...]; 0 if none waits."""
        return amounts.astype(np.float64).T @ self.counts / max(1, int(self.counts.sum()))

    def select(self, shapes: Int64, machines: Int64 | None = None) -> ShapeBatch:
        """Return only the given shapes (int64[A]), with ``allowed`` on the machines in ``machines``; None: on all."""
        chosen = shapes.tolist()
        allowed: Sequence[Bool] | None = None
        if self.allowed is not None:
            of_all = Chosen(self.allowed, chosen)
            allowed = of_all if machines is None else tuple(row[machines] for row in of_all)
        unstated = None if self.unstated is None else self.unstated[shapes]
        typical = self.typical
        if typical is not None and machines is not None:
            typical = typical.select(np.arange(typical.count), machines)
        return ShapeBatch(
            self.requests[shapes],
            self.counts[shapes],
            Chosen(self.rows, chosen),
            allowed,
            unstated,
            None if self.devices is None else self.devices.select(shapes),
            typical,
        )
