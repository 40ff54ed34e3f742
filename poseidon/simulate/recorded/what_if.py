"""Simulates the work of a recorded cluster under another configuration, and compares the results with the recording.

Arrivals, run times, changes of nodes, and placements by other schedulers are those of the recording. Tasks that a
controller created to replace evicted or lost ones also arrive as recorded, because the recording does not say why a
task arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poseidon.embedding import EmbeddedScheduler
from poseidon.simulate.classes import TaskKinds, request_row
from poseidon.simulate.engine import Clock, Simulation
from poseidon.simulate.measurements import Record
from poseidon.simulate.node_events import NodeEvents
from poseidon.simulate.nodes import SimulatedMachines
from poseidon.simulate.recorded.history import RecordedHistory, RecordedTask, list_durations
from poseidon.simulate.report import SimulationReport, make_report
from poseidon.simulate.tasks import TaskColumns
from poseidon.simulate.workloads.columns import ALONE, Float64, Work
from protos.configuration.sections import Document
from protos.firmament.v1 import scheduler_pb2 as pb

OTHERS = "by others"
"""The kind of tasks that other schedulers placed."""
_SAMPLES = 200
"""Number of points of each curve."""


@dataclass(slots=True)
class RecordedCourse:
    """The course of a recorded cluster, in the form of a finished simulation."""

    record: Record
    """Measurements for the report on the recorded course."""
    tasks: TaskColumns
    """The tasks; those that existed at the beginning and those of other schedulers come first."""
    machines: SimulatedMachines
    """The nodes of the recorded cluster."""
    kinds: TaskKinds
    """The kinds of tasks in the recording."""
    arrived: int
    """Number of tasks that have arrived."""
    now: float
    """Seconds since the beginning."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Reports on the recorded course of events and on the simulated one."""

    was: SimulationReport
    """Report on the recorded course."""
    now: SimulationReport
    """Report on the simulation under the other configuration."""


class _Scene:
    """A recorded history as columns: tasks of the beginning and of other schedulers, then the rest by arrival."""

    def __init__(self, history: RecordedHistory) -> None:
        self.history = history
        tasks, durations = list(history.tasks.values()), list_durations(history)
        early = [place for place, task in enumerate(tasks) if self._is_early(task)]
        others = [place for place, task in enumerate(tasks) if not self._is_early(task)]
        others.sort(key=lambda place: tasks[place].arrival)
        self.order = np.array([*early, *others], dtype=np.int64)
        self.tasks = [tasks[place] for place in self.order.tolist()]
        self.early = len(early)
        self.durations: Float64 = durations[self.order]
        first = [event.machine for now, event in history.script if now == 0.0 and event.HasField("machine")]
        later = {quantity.resource for _, event in history.script for quantity in event.machine.allocatable}
        self.first, self.later = first, sorted(later)

    @staticmethod
    def _is_early(task: RecordedTask) -> bool:
        return task.arrival == 0.0 or task.foreign

    def make_machines(self) -> SimulatedMachines:
        """Return the nodes that exist at the beginning."""
        return SimulatedMachines(self.first, self.later)

    def make_columns(self) -> TaskColumns:
        """Return the tasks as columns; none has arrived yet."""
        arrival = np.array([task.arrival for task in self.tasks])
        arrival[: self.early] = 0.0
        kinds = np.array([self._kind(task) for task in self.tasks], dtype=np.int64)
        alone = np.full(len(self.tasks), ALONE, dtype=np.int64)
        return TaskColumns(Work((), arrival, self.durations, kinds, alone))

    def _kind(self, task: RecordedTask) -> int:
        return task.kind + len(self.history.kinds) * task.foreign

    def make_kinds(self, resources: tuple[str, ...]) -> TaskKinds:
        """Return the kinds of tasks: each once for our own tasks, and once for tasks that other schedulers placed."""
        known = self.history.kinds
        rows = [request_row(kind.task_class, resources) for kind in known] * 2
        return TaskKinds(
            (*(kind.task_class.namespace or "default" for kind in known), *(OTHERS for _ in known)),
            tuple(kind.task_class for kind in known) * 2,
            tuple(kind.priority for kind in known) * 2,
            tuple(kind.spread_group for kind in known) * 2,
            np.array(rows, dtype=np.int64).reshape(len(rows), len(resources)),
            (None,) * len(rows),
        )

    def make_record(self, kinds: TaskKinds, columns: TaskColumns) -> Record:
        """Return an empty record whose interval gives as many points as fit on a chart."""
        counts = np.bincount(columns.work.template, minlength=len(kinds.names)).astype(np.float64)
        every = max(self.history.horizon / _SAMPLES, 1.0)
        return Record(every, kinds, counts / max(counts.sum(), 1.0))


class _RecordedScript:
    """Recorded events besides arrivals and ends: facts, placements by other schedulers, deletions of waiting tasks."""

    def __init__(self, scene: _Scene) -> None:
        order: list[tuple[float, int, pb.Event | None, int]] = []
        order += [(now, 0, event, -1) for now, event in scene.history.script if now > 0.0]
        for place, task in enumerate(scene.tasks):
            if task.foreign and task.began is not None:
                order.append((task.began, 1, None, place))
            elif task.began is None and task.ended is not None:
                order.append((task.ended, 2, None, place))
        order.sort(key=lambda each: each[:2])
        self._due = deque(order)
        self._scene = scene

    def next_time(self) -> float | None:
        """Return the time of the next recorded event, or None if no event is left."""
        return self._due[0][0] if self._due else None

    def happen(self, now: float, simulation: Simulation) -> list[pb.Event]:
        """Apply the recorded events up to ``now`` to the simulation, and return the events for the solver."""
        events: list[pb.Event] = []
        while self._due and self._due[0][0] <= now:
            _, what, event, place = self._due.popleft()
            if event is not None:
                events += _change_machines(event, simulation)
            elif what == 1:
                events += self._place(place, simulation)
            elif simulation.tasks.withdraw(place):
                events.append(pb.Event(task_removed=simulation.messages.uid(place)))
        return events

    def _place(self, place: int, simulation: Simulation) -> list[pb.Event]:
        """Start a task on the machine on which another scheduler placed it; return the events for the solver."""
        task = self._scene.tasks[place]
        number = simulation.machines.number.get(task.machine)
        if number is None:
            return []
        simulation.tasks.stand(place, number, simulation.now)
        return simulation.messages.submit_bound(place, task.machine)


def _change_machines(event: pb.Event, simulation: Simulation) -> list[pb.Event]:
    if event.HasField("machine"):
        simulation.machines.update(event.machine)
    elif event.WhichOneof("body") == "machine_removed":
        number = simulation.machines.number.get(event.machine_removed)
        return [] if number is None else simulation.empty_node(number, stays=False)
    return [event]


def follow_history(history: RecordedHistory) -> RecordedCourse:
    """Return the recorded course of the cluster, with its curves."""
    scene = _Scene(history)
    machines, columns = scene.make_machines(), scene.make_columns()
    kinds = scene.make_kinds(machines.resources)
    record = scene.make_record(kinds, columns)
    arrivals = [(0.0 if place < scene.early else task.arrival) for place, task in enumerate(scene.tasks)]
    # Events of one moment are ordered: first nodes, then arrivals, begins and deletions, and at last the ends of
    # tasks.
    order: list[tuple[float, int, int]] = [(arrivals[place], 1, place) for place in range(len(scene.tasks))]
    order += [(task.began, 2, place) for place, task in enumerate(scene.tasks) if task.began is not None]
    order += [
        (task.ended, 3 if task.began is None else 4, place)
        for place, task in enumerate(scene.tasks)
        if task.ended is not None
    ]
    order += [(now, 0, place) for place, (now, _) in enumerate(history.script) if now > 0.0]
    for now, what, place in sorted(order):
        record.sample_until(now, columns, machines)
        columns.take_ended(now)
        if what == 0:
            _follow_machine(history.script[place][1], machines)
        elif what == 1:
            if not scene.tasks[place].foreign:
                columns.arrive(np.array([place]))
        elif what == 2:
            task = scene.tasks[place]
            number = machines.number.get(task.machine)
            if number is not None:
                (columns.stand if task.foreign else columns.place)(place, number, now)
        elif what == 3:
            columns.withdraw(place)
    columns.take_ended(history.horizon)
    record.sample_until(history.horizon, columns, machines, last=True)
    for _, result in history.rounds:
        record.take_round(result)
    record.preempted = history.preempted
    return RecordedCourse(record, columns, machines, kinds, len(scene.tasks), history.horizon)


def _follow_machine(event: pb.Event, machines: SimulatedMachines) -> None:
    if event.HasField("machine"):
        machines.update(event.machine)
    elif event.machine_removed in machines.number:
        machines.remove(machines.number[event.machine_removed])


def set_up_history(history: RecordedHistory, configuration: Document, round_every: float) -> Simulation:
    """Return a simulation of the recorded work under ``configuration``.

    Raises ``ConfigurationError`` if the configuration cannot be used.
    """
    scene, clock = _Scene(history), Clock(history.begin)
    scheduler = EmbeddedScheduler(configuration, clock, simulated=True)
    machines, columns = scene.make_machines(), scene.make_columns()
    kinds = scene.make_kinds(machines.resources)
    simulation = Simulation(
        scheduler, clock, machines, kinds, columns,
        uids={place: task.uid for place, task in enumerate(scene.tasks)},
        jobs={place: task.job for place, task in enumerate(scene.tasks) if task.job},
        node_events=NodeEvents({}, {}, None, (), np.random.default_rng(0)),
        record=scene.make_record(kinds, columns), horizon=history.horizon, round_every=round_every,
        keeps_work=True, arrived=scene.early, wakes=0.0, script=_RecordedScript(scene),
    )  # fmt: skip
    scheduler.apply([event for now, event in history.script if now == 0.0 and event.HasField("machine")])
    scheduler.apply([pb.Event(job=job) for job in history.jobs.values()])
    events: list[pb.Event] = []
    waiting = []
    for place, task in enumerate(scene.tasks[: scene.early]):
        if task.foreign:
            continue
        if task.began == 0.0:
            columns.place(place, machines.number[task.machine], 0.0)
            events += simulation.messages.submit_bound(place, task.machine)
        else:
            columns.arrive(np.array([place]))
            waiting.append(place)
    scheduler.apply([*events, *simulation.messages.make_submissions(np.array(waiting, dtype=np.int64))])
    scheduler.apply([event for now, event in history.script if now == 0.0 and not event.HasField("machine")])
    return simulation


def compare_with_history(
    history: RecordedHistory,
    configuration: Document,
    round_every: float = 1.0,
    note: Callable[[float], object] = lambda _: None,
) -> SideBySide:
    """Return the recorded course of events, and its simulation under ``configuration``."""
    simulation = set_up_history(history, configuration, round_every)
    simulation.run(note=note)
    return SideBySide(make_report(follow_history(history)), make_report(simulation))
