"""Measures a burst of pods on nodes with delayed metrics: the true use of nodes, and how even it is.

New pods arrive before any report can show them, so the scheduler has only estimates to keep nodes from overload. True
use is known here, since the cluster is simulated. See ``scenario``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.bursts.floors import floors_of
from benchmarks.bursts.levelling import spread
from benchmarks.bursts.scenario import (
    CORES,
    START,
    Burst,
    configuration,
    estimate_of,
    new_pods,
    running_nodes,
)
from benchmarks.processes.parts.one_process import SteppedCluster
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.measured_use import ReportOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETTLING = 180.0
"""Seconds of observation after the burst, so that reports show all of it, and noise is drawn three times."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of a burst. Utilisation is the true one of cpu, in percent of a node.

    ``placement`` and ``floor`` are of nodes with current metrics.
    """

    placed: int
    """Number of pods placed."""
    pending: int
    """Number of pods that stay pending."""
    above: float
    """Largest share of nodes above the threshold at any moment from the burst on."""
    worst: float
    """Highest utilisation of any node at any moment."""
    p50: float
    """Median utilisation of nodes at the end."""
    p99: float
    """99th percentile at the end."""
    spread: float
    """Difference between ``p99`` and ``p50``."""
    open_spread: float
    """Difference between ``p99`` and ``p50`` of nodes that have current metrics."""
    placement: float
    """The spread if new pods used exactly their estimates: the part that a scheduler can influence."""
    floor: float
    """The spread, without noise, if all pods came at once and were placed by their estimates (see ``levelling``)."""
    estimated_floor: float
    """The same as ``floor``, for all nodes, with estimates for pods on nodes without metrics."""
    one_by_one: float
    """The same as ``estimated_floor`` if pods were placed in their order of arrival."""
    blind: int
    """Number of new pods on nodes without metrics."""
    rounds: int
    """Number of rounds of the solver."""
    seconds: float
    """Duration of the run in seconds."""


def run_burst(burst: Burst) -> Outcome:
    """Simulate the burst and some minutes after it; return the outcome."""
    began = time.perf_counter()
    rng = np.random.default_rng(burst.seed)
    names = [f"node-{index:05d}" for index in range(burst.nodes)]
    dark = rng.permutation(names).tolist()
    missing = frozenset(dark[: round(burst.missing * burst.nodes)])
    stale = frozenset(dark[len(missing) : len(missing) + round(burst.stale * burst.nodes)])
    reports = ReportOptions(burst.interval, burst.lag, missing, stale)
    cluster = SteppedCluster(configuration(burst), reports, start=START, seed=burst.seed)
    for obj in running_nodes(burst, names, rng):
        create_object(cluster.operations, obj)
    # Advance until nodes have reported, and until the only report of each stale node is too old.
    for _ in range(round((burst.interval + burst.lag) // 10) + 19):
        cluster.advance(10.0)
    watched = _Watched(cluster, names, burst.threshold)
    created = np.linspace(0, burst.pods, burst.waves + 1).round().astype(int).tolist()
    for first, last in pairwise(created):
        for obj in new_pods(burst, range(first, last), rng):
            create_object(cluster.operations, obj)
        cluster.advance(burst.wave_seconds)
        watched.look()
    for _ in range(round(SETTLING // 10)):
        cluster.advance(10.0)
        watched.look()
    pending = cluster.state.pending_count()
    final = watched.last * 100
    p50, p99 = np.percentile(final, [50, 99]).tolist()
    is_dark = np.array([name in missing or name in stale for name in names])
    floors = floors_of(cluster, names, is_dark)
    return Outcome(
        placed=burst.pods - pending,
        pending=pending,
        above=watched.above,
        worst=watched.worst * 100,
        p50=p50,
        p99=p99,
        spread=p99 - p50,
        open_spread=spread(final[~is_dark]),
        placement=spread(watched.compute_expected()[~is_dark] * 100),
        floor=floors.reporting,
        estimated_floor=floors.everywhere,
        one_by_one=floors.one_by_one,
        blind=sum(_count_new(cluster, name) for name in missing | stale),
        rounds=cluster.rounds,
        seconds=time.perf_counter() - began,
    )


class _Watched:
    """Observes the true use of every node."""

    def __init__(self, cluster: SteppedCluster, names: list[str], threshold: int) -> None:
        self._cluster = cluster
        self._names = names
        self._limit = threshold / 100
        self.above = 0.0
        self.worst = 0.0
        self.last: NDArray[np.float64] = np.zeros(len(names))

    def look(self) -> None:
        """Record the use at the present moment."""
        use, now = self._cluster.use, self._cluster.now
        used = [use.of_node(name, now).cpu for name in self._names]
        self.last = np.array(used) / (CORES * 1000)
        self.above = max(self.above, float((self.last > self._limit).mean()))
        self.worst = max(self.worst, float(self.last.max()))

    def compute_expected(self) -> NDArray[np.float64]:
        """Return what nodes would use without noise, if new pods used exactly their estimates."""
        return np.array([self._compute_node_expected(name) for name in self._names]) / (CORES * 1000)

    def _compute_node_expected(self, name: str) -> float:
        return sum(
            estimate_of(pod.name) if pod.name.startswith("new-") else pod.mean.cpu
            for pod in self._cluster.use.pods_on(name)
        )


def _count_new(cluster: SteppedCluster, name: str) -> int:
    return sum(pod.name.startswith("new-") for pod in cluster.use.pods_on(name))
