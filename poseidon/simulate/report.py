"""Computes the report of a simulation: values from which tables, web pages and JSON are made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.measurements import Record
from poseidon.simulate.nodes import SimulatedMachines
from poseidon.simulate.tasks import TaskColumns, TaskProgress
from poseidon.simulate.workloads.columns import Float64

PERCENTILES = (50, 90, 99, 100)


@dataclass(frozen=True, slots=True)
class WaitingTimes:
    """Statistics of the seconds that the tasks of one kind waited for their first node; None if no task got a node."""

    kind: str
    """Name of the kind of tasks."""
    arrived: int
    """Number of tasks that arrived."""
    placed: int
    """Number of arrived tasks that got a node."""
    waiting: int
    """Number of tasks that still wait at the end."""
    p50: float | None
    """Median wait: half of the placed tasks waited at most this many seconds."""
    p90: float | None
    """Wait that 90 % of the placed tasks did not exceed, in seconds."""
    p99: float | None
    """Wait that 99 % of the placed tasks did not exceed, in seconds."""
    longest: float | None
    """Longest wait of a placed task, in seconds."""
    evictions: int
    """How often tasks of the kind lost their node."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Time series of a simulation, with one value for each time in ``at``."""

    at: tuple[float, ...]
    """Times of the points, in seconds since the beginning."""
    utilisation: dict[str, tuple[float, ...]]
    """By resource, the requested share of the amount that the nodes offer, from 0 to 1."""
    fragmentation: tuple[float, ...]
    """Share of the free CPU that lies on nodes where the mean task does not fit, from 0 to 1."""
    running: tuple[int, ...]
    """Number of running tasks at each time."""
    waiting: tuple[int, ...]
    """Number of waiting tasks at each time."""
    nodes: tuple[int, ...]
    """Number of nodes at each time."""
    empty: tuple[int, ...]
    """Number of nodes without a running task at each time."""


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """Results of a simulation. Equal scenarios give equal reports, except for ``seconds``."""

    horizon: float
    """How many seconds were simulated."""
    utilisation: dict[str, float]
    """By resource, the requested share of the amount that the nodes offer, as mean over time, from 0 to 1."""
    fragmentation: float
    """Share of the free CPU that lies on nodes where the mean task does not fit, as mean over time, from 0 to 1."""
    nodes: float
    """Number of nodes, as mean over time."""
    empty: float
    """Number of nodes without a running task, as mean over time."""
    waits: tuple[WaitingTimes, ...]
    """Waiting times by kind of task; the last entry is for all tasks."""
    makespan: float | None
    """Seconds from the first arrival until the last task ended; None if some tasks have not ended."""
    rounds: int
    """Number of rounds that the solver has run."""
    uncertified: int
    """Number of rounds whose flow was not proved optimal."""
    cost: int
    """Total cost of all placements, in points."""
    preempted: int
    """Number of evictions for more important tasks."""
    displaced: int
    """Number of evictions from nodes that failed or were drained."""
    curves: Curves
    """Utilisation and the other figures over time."""
    seconds: dict[str, float]
    """Processor seconds of the run, and percentiles of the rounds' durations, on this machine."""

    def as_json(self, *, timed: bool = True) -> dict[str, Any]:
        """Return the report as the JSON object that the documents describe.

        Unless ``timed``, the object lacks the times that were measured on this machine.
        """
        found = asdict(self)
        if not timed:
            del found["seconds"]
        return found


class ReportSource(Protocol):
    """What a report is computed from: a simulation, or the recorded course of events in a real cluster."""

    @property
    def record(self) -> Record:
        """Measurements over the simulated time."""

    @property
    def tasks(self) -> TaskColumns:
        """State and times of each task, as columns."""

    @property
    def machines(self) -> SimulatedMachines:
        """The nodes of the simulation."""

    @property
    def kinds(self) -> TaskKinds:
        """The kinds of tasks of the simulation."""

    @property
    def arrived(self) -> int:
        """Number of tasks that have arrived; these tasks have the lowest numbers."""

    @property
    def now(self) -> float:
        """Seconds since the beginning of the simulation."""


def make_report(simulation: ReportSource) -> SimulationReport:
    """Return the report on a simulation from its beginning until now."""
    record, tasks = simulation.record, simulation.tasks
    resources = simulation.machines.resources
    requested = np.array(record.requested, dtype=np.float64).reshape(-1, len(resources))
    offered = np.array(record.offered, dtype=np.float64).reshape(-1, len(resources))
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.where(offered > 0, requested / offered, 0.0)
    told = [place for place in range(len(resources)) if requested[:, place].any()]
    ended = tasks.state == TaskProgress.ENDED
    arrived = simulation.arrived
    makespan = None
    if arrived and ended[:arrived].all() and arrived == len(tasks.work):
        makespan = float((tasks.begun + tasks.left).max() - tasks.work.arrival.min())
    rounds = np.array(record.round_seconds)
    return SimulationReport(
        horizon=simulation.now,
        utilisation={resources[place]: _round(used[:, place].mean()) for place in told},
        fragmentation=_mean(record.fragmented),
        nodes=_mean(record.nodes),
        empty=_mean(record.empty),
        waits=tuple(_measure_waits(simulation)),
        makespan=makespan,
        rounds=record.rounds,
        uncertified=record.uncertified,
        cost=record.cost,
        preempted=record.preempted,
        displaced=record.displaced,
        curves=Curves(
            at=tuple(record.at),
            utilisation={resources[place]: tuple(map(_round, used[:, place].tolist())) for place in told},
            fragmentation=tuple(map(_round, record.fragmented)),
            running=tuple(record.running),
            waiting=tuple(record.waiting),
            nodes=tuple(record.nodes),
            empty=tuple(record.empty),
        ),
        seconds={
            "processor": record.processor_seconds,
            "roundP50": float(np.percentile(rounds, 50)) if len(rounds) else 0.0,
            "roundP99": float(np.percentile(rounds, 99)) if len(rounds) else 0.0,
        },
    )


def _measure_waits(simulation: ReportSource) -> list[WaitingTimes]:
    """Return waiting times by kind; the last entry is for all tasks."""
    tasks, arrived = simulation.tasks, simulation.arrived
    kind = tasks.work.template[:arrived]
    waited = tasks.first_begun[:arrived] - tasks.work.arrival[:arrived]
    placed = tasks.first_begun[:arrived] >= 0.0
    waiting = tasks.state[:arrived] == TaskProgress.WAITING
    evictions = tasks.evictions[:arrived]
    found = []
    places: dict[str, list[int]] = {}
    for place, name in enumerate(simulation.kinds.names):
        places.setdefault(name, []).append(place)
    groups = [(name, np.isin(kind, alike)) for name, alike in places.items()]
    for name, mine in (*groups, ("all", np.ones(arrived, dtype=np.bool_))):
        if not mine.any():
            continue
        p50, p90, p99, longest = _find_percentiles(waited[mine & placed])
        found.append(
            WaitingTimes(
                name, int(mine.sum()), int((mine & placed).sum()), int((mine & waiting).sum()),
                p50, p90, p99, longest, int(evictions[mine].sum()),
            )
        )  # fmt: skip
    return found


def _find_percentiles(waited: Float64) -> tuple[float | None, ...]:
    """Return the percentiles of waiting times, rounded to milliseconds; None if there are no times."""
    if not len(waited):
        return (None,) * len(PERCENTILES)
    return tuple(round(float(each), 3) for each in np.percentile(waited, PERCENTILES, method="higher"))


def _mean(values: list[int] | list[float]) -> float:
    return _round(float(np.mean(values))) if values else 0.0


def _round(value: float) -> float:
    """Round a figure to six digits after the point, as in reports."""
    return round(float(value), 6)
