"""Makes clusters and workloads for benchmarks, as events that any stage can take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from firmament.core.selectors.label_columns import ZONE

MIB = 2**20
GIB = 2**30

SHAPES = ((16_000, 64 * GIB), (32_000, 128 * GIB), (64_000, 256 * GIB))
"""cpu (milli-cores) and memory (bytes) of the machine shapes in a mixed cluster."""

PODS_PER_MACHINE = 110
ZONES = 3
FILLER_CLASSES = 24
BATCH = 1000


@dataclass(frozen=True, slots=True)
class Scenario:
    """A simulated cluster and its waiting tasks. ``fill``: "empty" (identical, empty machines) or the mean share of a
    machine that is taken.

    ``owners``: the tasks belong to so many Deployments, each of one class, and machines lie in three zones; default
    spread keeps the tasks of each apart. 0: tasks have no owners, machines no zones.
    """

    nodes: int = 10_000
    tasks: int = 10_000
    classes: int = 100
    fill: str = "0.5"
    seed: int = 1
    owners: int = 0

    @property
    def label(self) -> str:
        """Short text for tables."""
        kind = "identical empty" if self.fill == "empty" else f"{float(self.fill):.0%} full, mixed"
        return f"{self.nodes:,} nodes ({kind}), {self.tasks:,} tasks, {self.classes} classes" + (
            f", {self.owners:,} owners" if self.owners else ""
        )


def machine_events(scenario: Scenario) -> list[Event]:
    """Return machines, and bound tasks of other schedulers that fill them at random.

    Each machine is filled to a level of its own, drawn evenly from 0 to twice the mean (at most full), with tasks of
    random classes, so that no two machines look alike.
    """
    rng = np.random.default_rng(scenario.seed)
    events: list[Event] = []
    kinds = rng.integers(0, len(SHAPES), scenario.nodes).tolist()
    for index in range(scenario.nodes):
        cpu, memory = SHAPES[1] if scenario.fill == "empty" else SHAPES[kinds[index]]
        allocatable = {"cpu": cpu, "memory": memory, "pods": PODS_PER_MACHINE}
        labels = {ZONE: f"zone-{index % ZONES}"} if scenario.owners else {}
        events.append(MachineUpserted(Machine(f"node-{index:05d}", allocatable, labels)))
    if scenario.fill == "empty":
        return events
    fillers = np.stack(
        [rng.integers(2, 41, FILLER_CLASSES) * 100, rng.integers(2, 161, FILLER_CLASSES) * 100 * MIB], axis=1
    )
    for number, (cpu, memory) in enumerate(fillers.tolist()):
        events.append(
            ClassDefined(1_000_000 + number, TaskClass(requests=(("cpu", cpu), ("memory", memory))))
        )
    mean = float(scenario.fill)
    low, high = max(0.0, 2 * mean - 1), min(1.0, 2 * mean)
    for index in range(scenario.nodes):
        capacity = np.array(SHAPES[kinds[index]])
        level = rng.uniform(low, high)
        chosen = rng.integers(0, FILLER_CLASSES, 100)
        used = np.cumsum(fillers[chosen], axis=0)
        fitting = int((used <= capacity * level).all(axis=1).sum())
        for filler in np.unique(chosen[:fitting]).tolist():
            count = int((chosen[:fitting] == filler).sum())
            uids = tuple(f"filler-{index}-{filler}-{copy}" for copy in range(count))
            events.append(TasksBound(f"node-{index:05d}", 1_000_000 + filler, uids))
    return events


def task_events(scenario: Scenario) -> list[Event]:
    """Return classes with requests of 50 m to 2 cores and 64 MiB to 4 GiB, and the waiting tasks in batches."""
    rng = np.random.default_rng(scenario.seed + 1)
    events: list[Event] = []
    cpu = rng.integers(1, 41, scenario.classes) * 50
    memory = rng.integers(1, 65, scenario.classes) * 64 * MIB
    for number in range(scenario.classes):
        # The label distinguishes classes that happen to draw equal requests.
        content = TaskClass(
            requests=(("cpu", int(cpu[number])), ("memory", int(memory[number]))),
            labels=(("class", str(number)),),
        )
        events.append(ClassDefined(number + 1, content))
    return events + _submit(scenario, rng, "task")


def next_burst(scenario: Scenario, number: int) -> list[Event]:
    """Return as many tasks again of the classes of ``task_events``, drawn anew; ``number`` from 1 on."""
    return _submit(scenario, np.random.default_rng([scenario.seed + 1, number]), f"task-{number}")


def _submit(scenario: Scenario, rng: np.random.Generator, prefix: str) -> list[Event]:
    """Return the waiting tasks, in batches of one class."""
    events: list[Event] = []
    owner = rng.integers(0, scenario.classes, scenario.tasks)
    for number in range(scenario.classes):
        members = np.flatnonzero(owner == number).tolist()
        names = range(number, scenario.owners, scenario.classes)
        for share, name in enumerate(names) if names else ((0, None),):
            theirs = members[share :: max(1, len(names))]
            group = "" if name is None else f"deployment-{name}"
            for begin in range(0, len(theirs), BATCH):
                uids = tuple(f"{prefix}-{member}" for member in theirs[begin : begin + BATCH])
                events.append(TasksSubmitted(number + 1, uids, spread_group=group))
    return events
