"""The clusters for which starts are predicted: drawn work, jobs of a parallel machine or with GPUs, and openb's pods.

The parallel machine's jobs are drawn after Lublin and Feitelson, "The workload on parallel supercomputers: modeling
the characteristics of rigid jobs", JPDC 63 (2003), and written in the form SWF: sizes are mostly powers of two, the
logarithms of run times a mixture of two gamma distributions whose weights follow the size. Users request a round time
of which the job takes a uniformly distributed share, as Mu'alem and Feitelson found (IEEE Transactions on Parallel and
Distributed Systems 12, 2001). Our own assumptions: no job requests more than a quarter of the machine, and jobs come
as a Poisson process of a stated load.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.expected_starts.gpu_jobs import PER_NODE, write_gpu_jobs
from poseidon.simulate.scenario.document import Scenario, check_scenario
from poseidon.simulate.workloads.clusters import GPU
from poseidon.simulate.workloads.openb import NODES, PODS

LEAST_NODES = 2


@dataclass(frozen=True, slots=True)
class Size:
    """Size and sources of a cluster."""

    folder: Path
    """Folder for files."""
    seed: int
    """Seed of the draws."""
    scale: float
    """Share of the full size."""
    openb: Path | None
    """Folder with openb's lists."""
    openb_part: int
    """One in how many of openb's nodes is taken."""


def draw_generated(size: Size) -> Scenario:
    """Return services, batch jobs and training jobs on 40 nodes: 97 % of their capacity, a tenth more by day."""
    kinds = [
        {
            "name": "service", "share": 0.3, "requests": {"cpu": 2, "memory": "4Gi"}, "priority": 100,
            "duration": {"distribution": "lognormal", "median": "3h", "sigma": 1},
        },
        {
            "name": "batch", "share": 0.4, "requests": {"cpu": 4, "memory": "8Gi"},
            "duration": {"distribution": "exponential", "mean": "1h"},
        },
        {
            "name": "training", "share": 0.3, "requests": {"cpu": 8, "memory": "32Gi"}, "members": 4,
            "duration": {"mean": "2h"},
        },
    ]  # fmt: skip
    work = {"generator": {"load": 0.97, "daily": 0.1, "kinds": kinds}}
    return _check(size, [_pool(round(40 * size.scale), 32)], work)


def draw_parallel(size: Size) -> Scenario:
    """Return jobs on 32 nodes of 16 processors: 105 % of their capacity, so that the queue grows."""
    random = np.random.default_rng(size.seed)
    nodes = max(LEAST_NODES, round(32 * size.scale))
    jobs = 60 * nodes
    sizes, runs = draw_jobs(jobs, 4 * nodes, random)
    arrival = np.cumsum(random.exponential(float(np.mean(sizes * runs)) / (1.05 * 16 * nodes), jobs))
    limits = draw_limits(runs, random)
    lines = [
        f"{number} {when:.0f} -1 {run:.0f} {asked} -1 -1 {asked} {limit:.0f} -1 1 1 1 1 1 1 -1 -1"
        for number, (when, run, asked, limit) in enumerate(
            zip(arrival, runs, sizes, limits, strict=True), start=1
        )
    ]
    (size.folder / "parallel.swf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    kind = {"name": "job", "requests": {"cpu": 1, "memory": "1Gi"}, "duration": {"mean": "1h"}}
    return _check(
        size, [_pool(nodes, 16)], {"trace": {"format": "swf", "path": "parallel.swf", "kind": kind}}
    )


def draw_jobs(
    count: int, largest: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the processors and the run times, in seconds, of jobs after Lublin and Feitelson, at most 12 hours."""
    high = math.log2(largest)
    middle = max(high - 2.5, 0.8)
    logarithm = np.where(
        random.random(count) < 0.86, random.uniform(0.8, middle, count), random.uniform(middle, high, count)
    )
    powers = random.random(count) < 0.576
    parallel = 2.0 ** np.where(powers, np.round(logarithm), logarithm)
    sizes = np.clip(np.round(np.where(random.random(count) < 0.244, 1.0, parallel)), 1, largest)
    short = random.random(count) < np.clip(0.78 - 0.0054 * sizes, 0.0, 1.0)
    runs = np.exp(np.where(short, random.gamma(4.2, 0.94, count), random.gamma(312.0, 0.03, count)))
    return sizes.astype(np.int64), np.clip(runs, 1.0, 12 * 3600.0)


LIMITS = 60.0 * np.array([5, 10, 15, 30, 60, 120, 240, 360, 480, 720, 1440])
"""Requested run times in seconds: the round numbers among which users choose."""


def draw_limits(runs: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return requested run times: the round number above the run, divided by a uniformly drawn share."""
    wanted = runs / np.maximum(random.random(len(runs)), 1e-3)
    return np.asarray(LIMITS[np.minimum(np.searchsorted(LIMITS, wanted), len(LIMITS) - 1)])


def read_openb(size: Size) -> Scenario:
    """Return openb's pods of its last month, arriving twenty times as fast, on one in ``openb_part`` of its nodes; each
    seed takes others. The last pod comes after 40 hours.
    """
    assert size.openb is not None
    nodes = (size.openb / NODES).read_text(encoding="utf-8").splitlines()
    pods = list(csv.DictReader((size.openb / PODS).read_text(encoding="utf-8").splitlines()))
    step = round(size.openb_part / size.scale)
    chosen = nodes[1 + (size.seed - 1) % step :: step]
    (size.folder / NODES).write_text("\n".join([nodes[0], *chosen]) + "\n", encoding="utf-8")
    with (size.folder / PODS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, pods[0])
        writer.writeheader()
        writer.writerows(pod for pod in pods if float(pod["creation_time"]) >= OPENB_SINCE)
    return _check(
        size, [], {"trace": {"format": "openb", "path": ".", "faster": 20.0 * size.scale}}, horizon="144h"
    )


OPENB_SINCE = 116 * 86400.0
"""Seconds after which 99 of 100 pods of openb came."""


def draw_helios(size: Size) -> Scenario:
    """Return jobs with GPUs, which are gangs of a pod per node, on 32 nodes of 8 GPUs: 100 % of their capacity."""
    nodes = max(LEAST_NODES, round(32 * size.scale))
    write_gpu_jobs(size.folder / "helios.csv", nodes, 1.0, 4 * 86400.0, np.random.default_rng(size.seed))
    offered = {"cpu": PER_NODE * PER_NODE, "memory": "512Gi", GPU: PER_NODE}
    pool = {"name": "node", "count": nodes, "allocatable": offered}
    return _check(size, [pool], {"trace": {"format": "helios", "path": "helios.csv"}}, "96h", "2m")


class Workload(NamedTuple):
    """A kind of cluster."""

    make: Callable[[Size], Scenario]
    """Draws or reads the work."""
    hours: tuple[int, int]
    """From when to when is asked, after the beginning: when many wait, and long before the last arrival."""


WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {
        "generated": Workload(draw_generated, (8, 24)),
        "parallel": Workload(draw_parallel, (12, 36)),
        "helios": Workload(draw_helios, (24, 72)),
        "openb": Workload(read_openb, (8, 24)),
    }
)
"""The clusters, by name."""


def _pool(count: int, cores: int) -> dict[str, Any]:
    offered = {"cpu": cores, "memory": f"{4 * cores}Gi"}
    return {"name": "node", "count": max(LEAST_NODES, count), "allocatable": offered}


def _check(
    size: Size, pools: list[dict[str, Any]], work: dict[str, Any], horizon: str = "72h", every: str = "30s"
) -> Scenario:
    document = {
        "apiVersion": "firmament.io/v1alpha1", "kind": "Simulation", "seed": size.seed, "horizon": horizon,
        "roundEvery": every, "sampleEvery": "24h", "cluster": {"pools": pools}, "workload": work,
    }  # fmt: skip
    return check_scenario(document, "workload")
