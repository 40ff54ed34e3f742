"""A burst of pods on nodes whose metrics come late: does what is really used stay below the threshold, and even?

Requests lie: pods that run already use anything from a tenth of their estimates to all of it, differently on each
node. New pods arrive within less time than a report takes to show them, so that only estimates stand between the
scheduler and a flooded node. What is really used is known here, since the cluster is simulated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from benchmarks.stepped import SteppedCluster
from firmament.configuration import SchedulerConfiguration
from poseidon.simulated.bulk import create_object
from poseidon.simulated.koordlet import ReportOptions
from poseidon.simulated.seeding import NodeShape, node
from poseidon.simulated.true_use import USAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

Mode: TypeAlias = Literal["upstream", "failOpen", "failClosed", "estimate"]

START = 1_767_268_800.0
CORES = 16
MEMORY_GIB = 64
FACTORS = {"cpu": 0.85, "memory": 0.70}
RUNNING_PER_NODE = 8
NEW_REQUESTS = (500, 600, 700, 800)
RUNNING_ESTIMATES = (0.05, 0.60)
RUNNING_TRUTH = (0.1, 1.0)
NEW_TRUTH = (0.85, 1.0)
"""Shares: of a node by the estimates of what runs; of these estimates really used; the same of new pods. They are drawn
evenly, but what runs rather uses less than more.
"""


@dataclass(frozen=True, slots=True)
class Burst:
    """What happens. Shares are of the nodes; times in seconds. ``overlay`` False leaves out ``load_threshold``.

    Pods come in ``waves``, ``wave_seconds`` apart. ``noise`` lets what is used wander around what is true.
    ``missing`` nodes have no metrics, ``stale`` ones only one report, from before the burst.
    """

    nodes: int = 1000
    pods: int = 10_000
    threshold: int = 65
    lag: float = 60.0
    interval: float = 60.0
    waves: int = 10
    wave_seconds: float = 10.0
    noise: float = 0.0
    missing: float = 0.0
    stale: float = 0.0
    mode: Mode = "upstream"
    overlay: bool = True
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. Utilisation is of cpu, true, in percent of a node.

    ``above``: the largest share of nodes that was above the threshold at any moment from the burst on; ``worst``: the
    highest utilisation of any node at any moment. ``p50``, ``p99`` are of the nodes at the end, ``spread`` is their
    difference. ``blind``: new pods on nodes without metrics or with an old one.
    """

    placed: int
    pending: int
    above: float
    worst: float
    p50: float
    p99: float
    blind: int
    rounds: int
    seconds: float

    @property
    def spread(self) -> float:
        """How far the most used nodes are from the middle."""
        return self.p99 - self.p50


def run_burst(burst: Burst) -> Outcome:
    """Let the burst happen, and three minutes pass after it."""
    began = time.perf_counter()
    rng = np.random.default_rng(burst.seed)
    names = [f"node-{index:05d}" for index in range(burst.nodes)]
    dark = rng.permutation(names).tolist()
    missing = frozenset(dark[: round(burst.missing * burst.nodes)])
    stale = frozenset(dark[len(missing) : len(missing) + round(burst.stale * burst.nodes)])
    reports = ReportOptions(burst.interval, burst.lag, missing, stale)
    cluster = SteppedCluster(_configuration(burst), reports, start=START, seed=burst.seed)
    for obj in _running(burst, names, rng):
        create_object(cluster.operations, obj)
    # The first reports are seen, and the single ones of stale nodes grow old.
    for _ in range(round((burst.interval + burst.lag) // 10) + 19):
        cluster.advance(10.0)
    watched = _Watched(cluster, names, burst.threshold)
    created = np.linspace(0, burst.pods, burst.waves + 1).round().astype(int).tolist()
    for first, last in pairwise(created):
        for obj in _new(burst, range(first, last), rng):
            create_object(cluster.operations, obj)
        cluster.advance(burst.wave_seconds)
        watched.look()
    for _ in range(18):
        cluster.advance(10.0)
        watched.look()
    pending = cluster.state.pending_count()
    final = watched.last * 100
    p50, p99 = np.percentile(final, [50, 99]).tolist()
    blind = sum(_count_new(cluster, name) for name in missing | stale)
    return Outcome(
        placed=burst.pods - pending,
        pending=pending,
        above=watched.above,
        worst=watched.worst * 100,
        p50=p50,
        p99=p99,
        blind=blind,
        rounds=cluster.rounds,
        seconds=time.perf_counter() - began,
    )


def measure_bursts(bursts: dict[str, Burst], progress: Callable[[str], None]) -> dict[str, Any]:
    """Run bursts one after another; returns what ``-o json`` prints."""
    results = []
    for label, burst in bursts.items():
        progress(label)
        outcome = run_burst(burst)
        results.append({"label": label, "burst": asdict(burst), **asdict(outcome), "spread": outcome.spread})
    return {"bursts": results}


def standard_bursts(nodes: int, pods: int, seed: int) -> dict[str, Burst]:
    """The bursts that are of interest, by what they are called in tables."""
    plain = Burst(nodes=nodes, pods=pods, seed=seed)
    dark = replace(plain, missing=0.1, stale=0.1)
    return {
        "without the overlay": replace(plain, overlay=False),
        "true profiles": plain,
        "noise of 20 %": replace(plain, noise=0.2),
        "metrics missing and stale, fail-closed": replace(dark, mode="failClosed"),
        "metrics missing and stale, estimates": replace(dark, mode="estimate"),
        "metrics missing and stale, fail-closed, noise": replace(dark, mode="failClosed", noise=0.2),
        "metrics missing and stale, estimates, noise": replace(dark, mode="estimate", noise=0.2),
    }


class _Watched:
    """Looks at what is really used on every node."""

    def __init__(self, cluster: SteppedCluster, names: list[str], threshold: int) -> None:
        self._cluster = cluster
        self._names = names
        self._limit = threshold / 100
        self.above = 0.0
        self.worst = 0.0
        self.last: NDArray[np.float64] = np.zeros(len(names))

    def look(self) -> None:
        """Take in the present moment."""
        use, now = self._cluster.use, self._cluster.now
        used = [use.of_node(name, now).cpu for name in self._names]
        self.last = np.array(used) / (CORES * 1000)
        self.above = max(self.above, float((self.last > self._limit).mean()))
        self.worst = max(self.worst, float(self.last.max()))


def _configuration(burst: Burst) -> SchedulerConfiguration:
    thresholds = {"cpu": burst.threshold, "memory": 95}
    overlay = {
        "name": "load_threshold",
        "weight": 10,
        "args": {"usageThresholds": thresholds, "missingMetrics": burst.mode},
    }
    return SchedulerConfiguration.model_validate(
        {
            "policy": {"name": "cpu_mem", "args": {"availability": "reservation"}},
            "costModels": [overlay] if burst.overlay else [],
        }
    )


def _running(burst: Burst, names: list[str], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield nodes and the pods that have run on them for long."""
    shape = NodeShape(cpu=str(CORES), memory=f"{MEMORY_GIB}Gi")
    estimates = rng.uniform(*RUNNING_ESTIMATES, burst.nodes)
    least, most = RUNNING_TRUTH
    truths = least + (most - least) * rng.uniform(0, 1, burst.nodes) ** 2
    for name, share, truth in zip(names, estimates.tolist(), truths.tolist(), strict=True):
        yield node(name, shape)
        for index in range(RUNNING_PER_NODE):
            request = round(share * CORES * 1000 / RUNNING_PER_NODE / FACTORS["cpu"])
            pod = _pod(f"running-{name}-{index}", request, truth, burst.noise, scheduler="default-scheduler")
            pod["spec"]["nodeName"] = name
            conditions = [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2025-12-01T00:00:00Z"}
            ]
            pod["status"] = {"phase": "Running", "conditions": conditions}
            yield pod


def _new(burst: Burst, numbers: range, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the pods of one wave: four sizes, each using its own share of what is expected of it."""
    truths = rng.uniform(*NEW_TRUTH, len(numbers))
    for number, truth in zip(numbers, truths.tolist(), strict=True):
        request = NEW_REQUESTS[number % len(NEW_REQUESTS)]
        yield _pod(f"new-{number}", request, truth, burst.noise, scheduler="poseidon")


def _pod(name: str, request: int, truth: float, noise: float, *, scheduler: str) -> dict[str, Any]:
    """Return a pod that really uses ``truth`` of what is estimated from its request (milli-cores)."""
    used = int(request * FACTORS["cpu"] * truth)
    memory = 256
    resources = {"requests": {"cpu": f"{request}m", "memory": f"{memory}Mi"}}
    usage = f'{{"cpu": "{used}m", "memory": "{int(memory * FACTORS["memory"] * truth)}Mi", "noise": {noise}}}'
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {USAGE: usage}},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "none", "resources": resources}],
        },
    }


def _count_new(cluster: SteppedCluster, name: str) -> int:
    return sum(pod.name.startswith("new-") for pod in cluster.use.pods_on(name))
