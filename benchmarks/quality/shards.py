"""Measures the loss if several solvers share a cluster: nodes and tasks are assigned by hashes of their names.

Each solver sees its own nodes and tasks alone. Tasks that it cannot place go to the next solver, until all have been
asked. Costs are the sum of the placements' costs that rounds state, relative to those of one solver for all tasks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.environment import environment
from benchmarks.reports.sheets import Report, Sheet
from benchmarks.scenario import BATCH, MIB, PODS_PER_MACHINE, SHAPES
from cost_models.interface import Int64
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import BindingReport, ClassDefined, MachineUpserted, TaskRemoved, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver

LEAST_FREE = 0.05
"""Least free share of a machine; free shares are drawn uniformly from there to 1, for each resource."""


@dataclass(frozen=True, slots=True)
class ShardsOptions:
    """Options of the measurement: sizes of clusters, loads and numbers of solvers."""

    nodes: int = 100_000
    """Machines."""
    loads: tuple[float, ...] = (0.2,)
    """Requested CPU, as shares of the machines' CPU."""
    shards: tuple[int, ...] = (2, 4, 8, 16)
    """Numbers of solvers, compared with one."""
    classes: int = 100
    """Kinds of tasks."""
    seed: int = 1
    """Seed of all draws."""


class _Work:
    """Machines, classes and tasks: ``kind``: int64[T], class of each task."""

    def __init__(self, options: ShardsOptions, load: float) -> None:
        random = np.random.default_rng(options.seed)
        shape = np.array(SHAPES)[random.integers(0, len(SHAPES), options.nodes)]
        offered = (shape * random.uniform(LEAST_FREE, 1.0, shape.shape)).astype(np.int64)
        self.machines = [
            Machine(f"node-{number:06d}", {"cpu": cpu, "memory": memory, "pods": PODS_PER_MACHINE})
            for number, (cpu, memory) in enumerate(offered.tolist())
        ]
        cpu = random.integers(1, 41, options.classes) * 50
        memory = random.integers(1, 65, options.classes) * 64 * MIB
        self.classes = [
            ClassDefined(
                number,
                TaskClass(requests=(("cpu", asks), ("memory", more)), labels=(("class", str(number)),)),
            )
            for number, (asks, more) in enumerate(zip(cpu.tolist(), memory.tolist(), strict=True), start=1)
        ]
        count = int(load * offered[:, 0].sum() / cpu.mean())
        self.kind: Int64 = random.integers(0, options.classes, count)

    def split(self, shards: int) -> tuple[list[list[Machine]], list[Int64]]:
        """Return the machines and the tasks of each solver."""
        machines: list[list[Machine]] = [[] for _ in range(shards)]
        for machine in self.machines:
            machines[_hash(machine.name) % shards].append(machine)
        home = np.array([_hash(f"task-{task}") for task in range(len(self.kind))]) % shards
        return machines, [np.flatnonzero(home == shard) for shard in range(shards)]


def _hash(name: str) -> int:
    """Return a hash of a name; crc32 alone is too regular for names that end in digits."""
    return crc32(f"{crc32(name.encode())}".encode()) >> 4


class _Shard:
    """One of several solvers, with the machines that belong to it."""

    def __init__(self, work: _Work, machines: Sequence[Machine]) -> None:
        self.cost = self.placed = 0
        self._work = work
        self._scheduler = Scheduler(
            configuration=CoreConfiguration(),
            solver=OrToolsSolver(),
            clock=time.time,
            timer=time.perf_counter,
        )
        self._scheduler.apply([*(MachineUpserted(machine) for machine in machines), *work.classes])

    def place(self, tasks: Int64) -> Int64:
        """Place tasks in rounds; return the tasks without a machine, which the solver forgets."""
        kinds = self._work.kind[tasks]
        for number in np.unique(kinds).tolist():
            uids = [f"task-{task}" for task in tasks[kinds == number].tolist()]
            self._scheduler.apply(
                [
                    TasksSubmitted(number + 1, tuple(uids[at : at + BATCH]))
                    for at in range(0, len(uids), BATCH)
                ]
            )
        done: set[int] = set()
        while self._scheduler.next_round_in() == 0.0:
            result = self._scheduler.run_round()
            self.cost += result.stats.cost
            self._scheduler.report(
                [BindingReport(each.uid, each.machine, bound=True) for each in result.deltas]
            )
            done.update(int(each.uid.removeprefix("task-")) for each in result.deltas)
        self.placed += len(done)
        left = tasks[~np.isin(tasks, np.fromiter(done, dtype=np.int64))]
        self._scheduler.apply([TaskRemoved(f"task-{task}") for task in left.tolist()])
        return left


def measure_shards(options: ShardsOptions, *, progress: Callable[[str], None]) -> Report:
    """Place the same tasks by one solver, and by several."""
    runs = []
    for load in options.loads:
        work = _Work(options, load)
        for shards in (1, *options.shards):
            progress(f"load {load:g}, {shards} solvers")
            runs.append({"load": load, "shards": shards, "tasks": len(work.kind), **_place(work, shards)})
    return {"kind": "shards", "environment": environment(), "options": asdict(options), "runs": runs}


def _place(work: _Work, count: int) -> dict[str, Any]:
    """Place all tasks by ``count`` solvers; return sums, and the processor seconds of the slowest."""
    machines, tasks = work.split(count)
    shards, seconds = [], [0.0] * count
    for number in range(count):
        began = process_time()
        shards.append(_Shard(work, machines[number]))
        seconds[number] += process_time() - began
    moved = 0
    for _ in range(count):
        left = []
        for number, shard in enumerate(shards):
            began = process_time()
            left.append(shard.place(tasks[number]))
            seconds[number] += process_time() - began
        tasks = [left[number - 1] for number in range(count)]
        moved += sum(map(len, left))
        if not any(map(len, left)):
            break
    return {
        "cost": sum(shard.cost for shard in shards),
        "placed": sum(shard.placed for shard in shards),
        "moved": moved,
        "seconds": sum(seconds),
        "slowest": max(seconds),
    }


def find_losses(report: Report) -> dict[float, dict[int, float]]:
    """Return in percent, by load and number of solvers, how much more placements cost than with one solver.

    Only where all numbers of solvers have placed equally many tasks.
    """
    found: dict[float, dict[int, float]] = {}
    for run in report["runs"]:
        one = next(each for each in report["runs"] if each["load"] == run["load"] and each["shards"] == 1)
        if run["placed"] == one["placed"]:
            found.setdefault(run["load"], {})[run["shards"]] = 100.0 * (run["cost"] / one["cost"] - 1.0)
    return found


def shards_sheets(report: Report) -> list[Sheet]:
    """Return a table with a row per load and number of solvers."""
    losses = find_losses(report)
    rows = []
    for run in report["runs"]:
        loss = losses[run["load"]].get(run["shards"])
        rows.append(
            [
                f"{100 * run['load']:.0f} %",
                str(run["shards"]),
                f"{run['tasks']:,}",
                f"{run['placed']:,}",
                "-" if loss is None else f"{loss:+.3f} %",
                f"{run['seconds']:.1f}",
                f"{run['slowest']:.1f}",
            ]
        )
    headings = ("load", "solvers", "tasks", "placed", "more cost", "processor seconds", "of the slowest")
    return [Sheet(f"Several solvers for {report['options']['nodes']:,} nodes, beside one", headings, rows)]
