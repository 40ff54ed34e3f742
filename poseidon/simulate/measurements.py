"""Collects measurements of a running simulation: time series and sums over rounds."""

from __future__ import annotations

import math
import time

import numpy as np

from poseidon.simulate.classes import TaskKinds
from poseidon.simulate.nodes import SimulatedMachines
from poseidon.simulate.tasks import TaskColumns, TaskProgress
from poseidon.simulate.workloads.columns import Float64, Int64
from protos.firmament.v1 import scheduler_pb2 as pb


class Record:
    """Measurements of a simulation: time series at equal intervals, and sums over rounds.

    ``weights`` (float64[T]) is the share of each kind among all tasks; fragmentation is the mean over kinds with
    these weights.
    """

    def __init__(self, every: float, kinds: TaskKinds, weights: Float64) -> None:
        self.every = every
        self._kinds, self._weights = kinds, weights
        self.at: list[float] = []
        """Times of the points, in seconds since the beginning."""
        self.requested: list[list[int]] = []
        """For each point, how much of each resource the running tasks request."""
        self.offered: list[list[int]] = []
        """For each point, how much of each resource the nodes offer."""
        self.fragmented: list[float] = []
        """For each point, the share (0 to 1) of free CPU on nodes where a task drawn from the work does not fit."""
        self.running: list[int] = []
        self.waiting: list[int] = []
        self.nodes: list[int] = []
        self.empty: list[int] = []
        """For each point, four numbers: running tasks, waiting tasks, nodes, and nodes without a running task."""
        self.rounds = self.uncertified = self.cost = 0
        """Number of rounds, of rounds without a certificate, and the cost of all placements in points."""
        self.preempted = self.displaced = 0
        """Number of evictions for more important tasks, and of evictions because nodes failed or were drained."""
        self.round_seconds: list[float] = []
        """Processor seconds of each round; they differ from run to run."""
        self._began = time.process_time()
        self.processor_seconds = 0.0

    def take_round(self, result: pb.RoundResult) -> None:
        """Add the result of a round."""
        stats = result.stats
        self.rounds += 1
        self.uncertified += not stats.certified
        self.cost += stats.cost
        parts = stats.snapshot_seconds, stats.network_seconds, stats.solve_seconds, stats.admit_seconds
        self.round_seconds.append(sum(parts))

    def sample_until(
        self, moment: float, tasks: TaskColumns, machines: SimulatedMachines, *, last: bool = False
    ) -> None:
        """Record the present state at all sample times since the last point and before ``moment``."""
        while self.every < math.inf and (
            (when := len(self.at) * self.every) < moment or (last and when <= moment)
        ):
            self._sample(when, tasks, machines)
        now = time.process_time()
        self.processor_seconds += now - self._began
        self._began = now

    def resume(self) -> None:
        """Start to measure processor time, at the beginning or after an interruption."""
        self._began = time.process_time()

    def _sample(self, when: float, tasks: TaskColumns, machines: SimulatedMachines) -> None:
        used = _count_used(tasks, machines, self._kinds.requests)
        there = machines.there
        self.at.append(when)
        self.requested.append(used[there].sum(axis=0).tolist())
        self.offered.append(machines.offered[there].sum(axis=0).tolist())
        self.running.append(int((tasks.state == TaskProgress.RUNNING).sum()))
        self.waiting.append(int((tasks.state == TaskProgress.WAITING).sum()))
        self.nodes.append(int(there.sum()))
        self.empty.append(int((used[there, machines.resources.index("pods")] == 0).sum()))
        free = (machines.offered - used)[there]
        self.fragmented.append(
            measure_fragmentation(free, self._kinds.requests, self._weights, machines.resources.index("cpu"))
        )


def _count_used(tasks: TaskColumns, machines: SimulatedMachines, requests: Int64) -> Int64:
    """Return the amounts that running tasks request on each machine: int64[M, K]."""
    used = np.zeros_like(machines.offered)
    running = np.flatnonzero(tasks.state == TaskProgress.RUNNING)
    np.add.at(used, tasks.machine[running], requests[tasks.work.template[running]])
    return used


def measure_fragmentation(free: Int64, requests: Int64, weights: Float64, column: int) -> float:
    """Return the share of a resource's free amount that lies on nodes where a task of the workload does not fit.

    The result is the mean over the kinds of tasks. The measure is the fragmentation of Weng et al., "Beware of
    Fragmentation" (USENIX ATC 2023), section 3, for any resource. ``free``: int64[M, K]; ``requests``: int64[T, K];
    ``weights``: float64[T], which add up to 1. If nothing of the resource is free, the result is 0.
    """
    amounts = np.maximum(free[:, column], 0).astype(np.float64)
    total = float(amounts.sum())
    if total <= 0.0 or not len(weights):
        return 0.0
    lost = 0.0
    for request, weight in zip(requests, weights.tolist(), strict=True):
        fits = (free >= request).all(axis=1)
        lost += weight * float(amounts[~fits].sum())
    return lost / total
