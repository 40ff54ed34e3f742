"""A burst of pods on nodes whose metrics come late: does what is really used stay below the threshold, and even?

New pods arrive within less time than a report takes to show them, so that only estimates stand between the scheduler
and a flooded node. What is really used is known here, since the cluster is simulated.

The scenario follows from principles, not from results:

* *Requests lie.* A cluster that was filled by requests has the same requested on every node, and what is really used
  differs: on each node anything between nothing and all of what is estimated, evenly drawn. Scheduling by requests
  cannot see that; reports show it.
* *Estimates* are what the overlay's defaults make of requests: 85 % of cpu, 70 % of memory. New pods never use more.
  How much less is not the scheduler's to know, so there are three *profiles*: exactly the estimate, which is hardest
  on the threshold; half of it to all; nothing to all.
* *Everything has room.* Running and new pods together request 82 % of the cluster, and 92 % of the rest of it when a
  fifth of the nodes takes none. Pods request memory in the proportion in which nodes have it.
* *Defaults.* With the overlay, it is added to the default configuration, with its default arguments. Where pods wander,
  it is told by how much (``usageRisk``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from benchmarks.levelling import Batch, levelled, spread
from benchmarks.stepped import SteppedCluster
from firmament.configuration import SchedulerConfiguration
from poseidon.simulated.bulk import create_object
from poseidon.simulated.koordlet import ReportOptions
from poseidon.simulated.seeding import NodeShape, node
from poseidon.simulated.true_use import USAGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

Mode: TypeAlias = Literal["upstream", "failOpen", "failClosed", "estimate"]
Scheduling: TypeAlias = Literal["overlay", "default", "requests"]
Policy: TypeAlias = Literal["cpu_mem", "void"]
Profile: TypeAlias = tuple[float, float]

EXACTLY: Profile = (1.0, 1.0)
HALF: Profile = (0.5, 1.0)
ANYTHING: Profile = (0.0, 1.0)

START = 1_767_268_800.0
CORES = 16
GIB_PER_CORE = 4
FACTORS = {"cpu": 0.85, "memory": 0.70}
RUNNING_PER_NODE = 8
RUNNING_ESTIMATE = 0.35
"""Part of every node that its running pods take by estimates."""

NEW_REQUESTS = (500, 600, 700, 800)
"""Milli-cores: ten pods of them, one node's part of the burst, are estimated as 35 % of a node, as what runs is."""

SETTLING = 180.0
"""Seconds to look on after the burst: reports have shown all of it, and noise has been drawn three times."""


class Noise(NamedTuple):
    """How far a pod's use wanders, and with which others; "": by itself."""

    share: float
    together: str


@dataclass(frozen=True, slots=True)
class Burst:
    """What happens. Shares are of the nodes; times in seconds.

    ``scheduling``: with the overlay ``load_threshold``, whose ``weight`` that is, beside the base ``policy``; by the
    default configuration without it, whose policy goes by measured use too; or by requests alone. Pods come in
    ``waves``, ``wave_seconds`` apart. Each new pod uses a part of its estimate drawn from ``profile``; ``noise`` lets
    all pods wander around what they use, each by itself or, ``alike``, all of a size together. ``deviation``: the
    percent of it that the overlay is told (``usageRisk``). ``missing`` nodes have no metrics, ``stale`` ones only one
    report, from before the burst.
    """

    nodes: int = 1000
    pods: int = 10_000
    threshold: int = 65
    lag: float = 60.0
    interval: float = 60.0
    waves: int = 10
    wave_seconds: float = 10.0
    profile: Profile = HALF
    noise: float = 0.0
    alike: bool = False
    deviation: float = 0.0
    missing: float = 0.0
    stale: float = 0.0
    mode: Mode = "upstream"
    scheduling: Scheduling = "overlay"
    weight: int = 1
    policy: Policy = "cpu_mem"
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. Utilisation is of cpu, true, in percent of a node.

    ``above``: the largest share of nodes that was above the threshold at any moment from the burst on; ``worst``: the
    highest utilisation of any node at any moment. ``p50``, ``p99`` are of the nodes at the end, ``spread`` is their
    difference; ``open_spread`` the same of nodes that have current metrics. ``placement``: the spread if new pods used
    exactly their estimates, which is all of it that a scheduler can do something about. ``floor``: the spread, but for
    noise, if all had come at once and been levelled by estimates (see ``levelling``). Both are of nodes with current
    metrics. ``estimated_floor``: the latter of all nodes, if estimates of what runs on those without stand for its use;
    ``one_by_one``: the same if pods were placed in the order in which they came. ``blind``: new pods on nodes without.
    """

    placed: int
    pending: int
    above: float
    worst: float
    p50: float
    p99: float
    spread: float
    open_spread: float
    placement: float
    floor: float
    estimated_floor: float
    one_by_one: float
    blind: int
    rounds: int
    seconds: float


def run_burst(burst: Burst) -> Outcome:
    """Let the burst happen, and some minutes pass after it."""
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
    for _ in range(round(SETTLING // 10)):
        cluster.advance(10.0)
        watched.look()
    pending = cluster.state.pending_count()
    final = watched.last * 100
    p50, p99 = np.percentile(final, [50, 99]).tolist()
    is_dark = np.array([name in missing or name in stale for name in names])
    floors = _floors(cluster, burst, names, is_dark)
    return Outcome(
        placed=burst.pods - pending,
        pending=pending,
        above=watched.above,
        worst=watched.worst * 100,
        p50=p50,
        p99=p99,
        spread=p99 - p50,
        open_spread=spread(final[~is_dark]),
        placement=spread(watched.expected()[~is_dark] * 100),
        floor=floors.reporting,
        estimated_floor=floors.everywhere,
        one_by_one=floors.one_by_one,
        blind=sum(_count_new(cluster, name) for name in missing | stale),
        rounds=cluster.rounds,
        seconds=time.perf_counter() - began,
    )


class _Floors(NamedTuple):
    """Spreads of levelled pods: of nodes with current metrics, of all nodes, and there in the order of arrival."""

    reporting: float
    everywhere: float
    one_by_one: float


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

    def expected(self) -> NDArray[np.float64]:
        """What nodes would use without noise, if new pods used exactly their estimates."""
        return np.array([self._expected_of(name) for name in self._names]) / (CORES * 1000)

    def _expected_of(self, name: str) -> float:
        return sum(
            _estimate_of(pod.name) if pod.name.startswith("new-") else pod.mean.cpu
            for pod in self._cluster.use.pods_on(name)
        )


def _floors(cluster: SteppedCluster, burst: Burst, names: list[str], dark: NDArray[np.bool_]) -> _Floors:
    """Level the new pods by estimates: those of the nodes that are not ``dark``, and all of them on all nodes."""
    unit = 100 / (CORES * 1000)
    running = np.zeros(burst.nodes)
    new: list[list[str]] = []
    truth: dict[str, float] = {}
    for row, name in enumerate(names):
        pods = list(cluster.use.pods_on(name))
        came = {pod.name: pod.mean.cpu for pod in pods if pod.name.startswith("new-")}
        running[row] = (sum(pod.mean.cpu for pod in pods) - sum(came.values())) * unit
        new.append(list(came))
        truth |= came

    def spread_of(rows: NDArray[np.bool_], *, largest_first: bool = True) -> float:
        chosen = sorted(
            (pod for row in np.flatnonzero(rows).tolist() for pod in new[row]),
            key=lambda pod: int(pod.removeprefix("new-")),
        )
        batch = Batch(
            expected=np.array([_estimate_of(pod) for pod in chosen]) * unit,
            truth=np.array([truth[pod] for pod in chosen]) * unit,
            requested=np.array([_estimate_of(pod) / FACTORS["cpu"] for pod in chosen]),
        )
        base = np.where(dark, 100 * RUNNING_ESTIMATE, running)[rows]
        free = np.full(len(base), float(CORES * 1000 - RUNNING_PER_NODE * _running_request()))
        return spread(running[rows] + levelled(base, free, batch, largest_first=largest_first))

    everywhere = np.ones_like(dark)
    return _Floors(spread_of(~dark), spread_of(everywhere), spread_of(everywhere, largest_first=False))


def _configuration(burst: Burst) -> SchedulerConfiguration:
    thresholds = {"cpu": burst.threshold, "memory": 95}
    risk = {"deviation": {"cpu": burst.deviation}} if burst.deviation else {}
    overlay = {
        "name": "load_threshold",
        "weight": burst.weight,
        "args": {"usageThresholds": thresholds, "missingMetrics": burst.mode, "usageRisk": risk},
    }
    given: dict[str, Any] = {"costModels": [overlay] if burst.scheduling == "overlay" else []}
    if burst.scheduling == "overlay" and burst.policy != "cpu_mem":
        given["policy"] = {"name": burst.policy}
    if burst.scheduling == "requests":
        given["policy"] = {"name": "cpu_mem", "args": {"availability": "reservation"}}
    return SchedulerConfiguration.model_validate(given)


def _running(burst: Burst, names: list[str], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield nodes and the pods that have run on them for long."""
    shape = NodeShape(cpu=str(CORES), memory=f"{CORES * GIB_PER_CORE}Gi")
    request = _running_request()
    for name, truth in zip(names, rng.uniform(0.0, 1.0, burst.nodes).tolist(), strict=True):
        yield node(name, shape)
        for index in range(RUNNING_PER_NODE):
            noise = Noise(burst.noise, f"running-{index}" if burst.alike else "")
            pod = _pod(f"running-{name}-{index}", request, truth, noise, scheduler="default-scheduler")
            pod["spec"]["nodeName"] = name
            conditions = [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2025-12-01T00:00:00Z"}
            ]
            pod["status"] = {"phase": "Running", "conditions": conditions}
            yield pod


def _new(burst: Burst, numbers: range, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the pods of one wave: four sizes, each using its own share of what is expected of it."""
    truths = rng.uniform(*burst.profile, len(numbers))
    for number, truth in zip(numbers, truths.tolist(), strict=True):
        request = _request_of(number)
        noise = Noise(burst.noise, f"new-{request}" if burst.alike else "")
        yield _pod(f"new-{number}", request, truth, noise, scheduler="poseidon")


def _running_request() -> int:
    return round(RUNNING_ESTIMATE * CORES * 1000 / RUNNING_PER_NODE / FACTORS["cpu"])


def _request_of(number: int) -> int:
    return NEW_REQUESTS[number % len(NEW_REQUESTS)]


def _estimate_of(name: str) -> float:
    """Milli-cores that are expected of a new pod."""
    return _request_of(int(name.removeprefix("new-"))) * FACTORS["cpu"]


def _pod(name: str, request: int, truth: float, noise: Noise, *, scheduler: str) -> dict[str, Any]:
    """Return a pod that really uses ``truth`` of what is estimated from its request (milli-cores)."""
    used = int(request * FACTORS["cpu"] * truth)
    memory = request * GIB_PER_CORE * 1024 // 1000
    resources = {"requests": {"cpu": f"{request}m", "memory": f"{memory}Mi"}}
    usage = {
        "cpu": f"{used}m",
        "memory": f"{int(memory * FACTORS['memory'] * truth)}Mi",
        "noise": noise.share,
        "together": noise.together,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {USAGE: json.dumps(usage)}},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "none", "resources": resources}],
        },
    }


def _count_new(cluster: SteppedCluster, name: str) -> int:
    return sum(pod.name.startswith("new-") for pod in cluster.use.pods_on(name))
