"""Places pods one by one, device by device: by best fit, or by FGD as its authors describe it.

Among machines that are equal for FGD, the one with the least free GPU amount is chosen; a random choice allocates less.

A table holds the cost of each type of pod on each machine; a placement changes one machine's column.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from benchmarks.fragmentation.trace import MILLI, Arrivals, Outcome
from cost_models.interface import Float64, Int64

Policy: TypeAlias = Literal["fgd", "best-fit"]
_STEP = 40
"""Thousandths of a GPU to which costs of FGD are rounded: its authors score in integers, and one is about this much."""


class GreedyCluster:
    """Machines with their free amounts, and the types of pods that come."""

    def __init__(self, arrivals: Arrivals, policy: Policy) -> None:
        types = arrivals.types
        self.arrivals, self.policy = arrivals, policy
        each = [node for node in arrivals.nodes for _ in range(node.count)]
        most = max(node.gpus for node in each)
        self.cpu = np.array([node.cpu for node in each], dtype=np.int64)
        self.memory = np.array([node.memory for node in each], dtype=np.int64)
        self.gpus = np.array([[MILLI] * n.gpus + [0] * (most - n.gpus) for n in each], dtype=np.int64)
        self.asked_cpu = np.array([pod.cpu for pod in types], dtype=np.int64)
        self.asked_memory = np.array([pod.memory for pod in types], dtype=np.int64)
        self.asked_gpu = np.array([pod.asks for pod in types], dtype=np.int64)
        demands = sorted({(pod.gpus, pod.milli) for pod in types})
        self.counts = np.array([count for count, _ in demands])
        self.millis = np.array([milli for _, milli in demands])
        self.demand = np.array([demands.index((pod.gpus, pod.milli)) for pod in types])
        self.steps = np.unique(self.asked_cpu)
        models = sorted({node.model for node in each})
        self.model = np.array([models.index(node.model) for node in each])
        self.open = np.array([[not pod.models or m in pod.models for m in models] for pod in types])
        self.weights = np.stack([self._weigh(number) for number in range(len(models))])

    def _weigh(self, model: int) -> Float64:
        """Return the share of usual pods, by step of cpu and by GPU demand, for which this cpu is enough."""
        popularity = np.array(self.arrivals.counts) / sum(self.arrivals.counts)
        found = np.zeros((len(self.steps) + 1, len(self.counts)))
        np.add.at(
            found,
            (np.searchsorted(self.steps, self.asked_cpu) + 1, self.demand),
            popularity * self.open[:, model] * (self.asked_gpu > 0),
        )
        return found.cumsum(axis=0)

    def list_ways(self, machine: int) -> tuple[Int64, Int64]:
        """Return all ways to serve demands on a machine: the demands, ascending, and the GPUs' free amounts:
        int64[W, G].
        """
        left = self.gpus[machine]
        enough = left >= self.millis[:, None]
        served = enough.sum(axis=1) >= self.counts
        single = self.counts == 1
        demands, devices = np.nonzero(enough & (served & single)[:, None])
        ways = left - np.where(np.arange(len(left)) == devices[:, None], self.millis[demands][:, None], 0)
        rows = np.flatnonzero(served & ~single)
        taken = enough[rows] & (enough[rows].cumsum(axis=1) <= self.counts[rows, None])
        several = left - taken * self.millis[rows, None]
        all_demands = np.concatenate((demands, rows))
        order = np.argsort(all_demands, kind="stable")
        return all_demands[order], np.concatenate((ways, several))[order]

    def sum_usable(self, left: Int64) -> Int64:
        """Return the amount of the GPUs ``left`` that pods of each demand could use: int64[W, D]."""
        enough = left[:, None, :] >= self.millis[:, None]
        usable = (left[:, None, :] * enough).sum(axis=2)
        return np.where(enough.sum(axis=2) >= self.counts, usable, 0)

    def judge(self, machine: int) -> Float64:
        """Return the cost of each type of pod on a machine: float64[P], infinite without room."""
        rest = int(self.cpu[machine]) - self.asked_cpu
        room = self.open[:, self.model[machine]] & (rest >= 0)
        room &= self.asked_memory <= self.memory[machine]
        demands, ways = self.list_ways(machine)
        served = np.zeros(len(self.counts), dtype=np.bool_)
        served[demands] = True
        room &= served[self.demand]
        if self.policy == "best-fit":
            left = rest / self.cpu.max() + (self.gpus[machine].sum() - self.asked_gpu) / (8 * MILLI)
            return np.where(room, left, np.inf)
        weights = self.weights[self.model[machine]]
        after = self.sum_usable(ways) @ weights.T
        first = np.flatnonzero(np.diff(demands, prepend=-1))
        best = np.zeros((len(self.counts), len(weights)))
        best[demands[first]] = np.maximum.reduceat(after, first, axis=0)
        now = np.searchsorted(self.steps, self.cpu[machine], side="right")
        before = float((self.sum_usable(self.gpus[machine][None, :]) @ weights[now])[0])
        lost = before - best[self.demand, np.searchsorted(self.steps, rest, side="right")]
        return np.where(room, lost, np.inf)

    def place(self, machine: int, number: int) -> None:
        """Place a pod of a type on a machine, on the GPUs that the policy chooses."""
        demands, ways = self.list_ways(machine)
        own = ways[demands == self.demand[number]]
        self.cpu[machine] -= self.asked_cpu[number]
        self.memory[machine] -= self.asked_memory[number]
        step = np.searchsorted(self.steps, self.cpu[machine], side="right")
        if self.policy == "fgd":
            chosen = int((self.sum_usable(own) @ self.weights[self.model[machine]][step]).argmax())
        else:
            taken = (self.gpus[machine] * (own != self.gpus[machine])).sum(axis=1)
            chosen = int(taken.argmin())
        self.gpus[machine] = own[chosen]


def place_greedily(arrivals: Arrivals, policy: Policy) -> Outcome:
    """Place pods one by one; return which of them got a place, and the GPUs in use."""
    cluster = GreedyCluster(arrivals, policy)
    costs = np.stack([cluster.judge(machine) for machine in range(len(cluster.cpu))], axis=1)
    free = cluster.gpus.sum(axis=1)
    placed = []
    for place, number in enumerate(arrivals.order):
        row = np.round(costs[number] / _STEP) if policy == "fgd" else costs[number]
        alike = np.flatnonzero(row <= row.min())
        machine = int(alike[free[alike].argmin()])
        if not np.isfinite(row[machine]):
            continue
        placed.append(place)
        cluster.place(machine, number)
        costs[:, machine] = cluster.judge(machine)
        free[machine] = cluster.gpus[machine].sum()
    return Outcome(1 - int(cluster.gpus.sum()) / arrivals.total, frozenset(placed))
