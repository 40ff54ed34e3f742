"""Draws simulated machines and tasks as arrays of numbers, reproducible for a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

MIB = 2**20
MACHINE = (16_000, 64 * 1024 * MIB, 110)
"""The amounts that a machine offers: milli-cores, bytes, number of tasks."""

_FILL_STEPS = 20
_FILL_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """The workload to simulate. Ranges include both ends."""

    nodes: int
    """Number of machines."""
    tasks: int
    """Number of tasks."""
    classes: int = 10
    """Number of classes of tasks."""
    cpu: tuple[int, int] = (100, 500)
    """Range of milli-cores per task, drawn once per class."""
    memory: tuple[int, int] = (64 * MIB, 512 * MIB)
    """Range of bytes per task, drawn once per class."""
    sizes: tuple[int, int] = (10, 100)
    """Range of tasks per job."""
    fill: float = 0.0
    """Mean share of a machine that is used from the start; each machine's share is drawn from ``fill`` +- 0.25."""
    rate: float | None = None
    """Tasks per second; None: all at once."""
    task_seconds: float | None = None
    """Mean lifetime of a placed task in seconds (drawn exponentially); None: tasks run for ever."""
    seed: int = 0
    """Seed of the draws."""


@dataclass(frozen=True, slots=True)
class GeneratedWorkload:
    """The machines (M), classes (C) and tasks (T) as columns of arrays.

    Resources are (cpu, memory, pods), in this order.
    """

    allocatable: Int64
    """int64[M, 3], the amounts that each machine offers."""
    fill_level: Int64
    """int64[M], the row in ``fill_requests`` of each machine's filler task; -1 for an empty machine."""
    fill_requests: Int64
    """int64[F, 3], the requests of a filler task, by level."""
    requests: Int64
    """int64[C, 3], the requests of a task, by class."""
    task_class: Int64
    """int64[T], the class of each task, in the order of submission."""
    task_job: Int64
    """int64[T], the job of each task; the tasks of a job are next to each other."""
    submit_at: Float64
    """float64[T], seconds from the start to each task's submission, ascending."""
    lifetime: Float64
    """float64[T], seconds that each task runs; infinite: for ever."""

    @property
    def machines(self) -> int:
        """M, the number of machines."""
        return len(self.allocatable)

    @property
    def tasks(self) -> int:
        """T, the number of tasks."""
        return len(self.task_class)


def generate(options: WorkloadOptions) -> GeneratedWorkload:
    """Return a random workload; equal options give equal workloads."""
    rng = np.random.default_rng(options.seed)
    fill_level, fill_requests = _fill(rng, options)
    task_job, task_class = _draw_jobs(rng, options)
    return GeneratedWorkload(
        allocatable=np.tile(np.array(MACHINE, dtype=np.int64), (options.nodes, 1)),
        fill_level=fill_level,
        fill_requests=fill_requests,
        requests=_requests(rng, options),
        task_class=task_class,
        task_job=task_job,
        submit_at=np.arange(options.tasks, dtype=np.float64) / (options.rate or np.inf),
        lifetime=np.full(options.tasks, np.inf)
        if options.task_seconds is None
        else rng.exponential(options.task_seconds, options.tasks),
    )


def _requests(rng: np.random.Generator, options: WorkloadOptions) -> Int64:
    """Return the requests by class: int64[C, 3]; memory is in whole MiB unless its range is narrower."""
    step = MIB if options.memory[1] - options.memory[0] >= MIB else 1
    memory = options.memory[0] + step * rng.integers(
        0, (options.memory[1] - options.memory[0]) // step, options.classes, endpoint=True
    )
    cpu = rng.integers(options.cpu[0], options.cpu[1], options.classes, endpoint=True)
    return np.stack([cpu, memory, np.ones(options.classes, dtype=np.int64)], axis=1).astype(np.int64)


def _fill(rng: np.random.Generator, options: WorkloadOptions) -> tuple[Int64, Int64]:
    """Return the level of each machine (-1: empty), and the requests of the filler task at each level.

    Levels come in steps of 5 %, so that the fillers are a few classes, not one per machine.
    """
    steps = np.arange(1, _FILL_STEPS + 1, dtype=np.int64)
    taken = np.array(MACHINE, dtype=np.int64) * steps[:, None] // _FILL_STEPS
    taken[:, 2] = 1
    if options.fill <= 0:
        return np.full(options.nodes, -1, dtype=np.int64), taken
    share = rng.uniform(options.fill - _FILL_SPREAD, options.fill + _FILL_SPREAD, options.nodes)
    level = np.rint(np.clip(share, 0.0, 1.0) * _FILL_STEPS).astype(np.int64) - 1
    return level, taken


def _draw_jobs(rng: np.random.Generator, options: WorkloadOptions) -> tuple[Int64, Int64]:
    """Return job and class of each task: jobs have random sizes and one class each, and classes take turns."""
    low, high = options.sizes
    sizes = rng.integers(low, high, max(1, -(-options.tasks // low)), endpoint=True)
    task_job = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)[: options.tasks]
    return task_job, task_job % options.classes
