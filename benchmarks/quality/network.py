"""Measures how good and how fast the joint placement of applications is.

* *quality*: random applications, each on a half-full cluster of its own. The total network cost of one round, against
  the NetworkOverhead plugin pod by pod in each of the proposal's six orders, with the same base policy and weights;
* *limits*: the same kind of applications with a tight ``maxNetworkCost`` as a hard limit, and with narrow links: what
  is placed may exceed neither;
* *throughput*: many applications of eleven workloads at once, by the core alone, snapshot to deltas.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.algorithm import AlgorithmRun, run_events
from benchmarks.comparators.network_plugin import (
    fullest_link,
    place_pod_by_pod,
    total_cost,
    violations,
)
from benchmarks.environment import environment
from benchmarks.quality.network_applications import (
    Application,
    Site,
    application_events,
    boutique,
    large_site_events,
    random_application,
    random_site,
    site_events,
)
from cost_models.interface import Int64
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import Solver
from firmament.solvers.ortools_solver import OrToolsSolver
from firmament.solvers.process_solver import ProcessSolver
from poseidon.app_network.spec.keys import KAHN_SORT
from poseidon.app_network.spec.ordering import ALGORITHMS

FIRST_CLASS = 1_000_000
CLOCK = 1_750_000_000.0


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """``applications`` of the quality measurement, a quarter as many per limit; ``weight`` of the overlay, on both
    sides; ``groups`` of eleven pods on ``nodes`` machines, ``runs`` of them.
    """

    applications: int = 200
    weight: int = 5
    groups: int = 1_000
    nodes: int = 10_000
    runs: int = 3
    seed: int = 1


def measure_network(options: NetworkOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure everything; returns what ``-o json`` prints."""
    rng = np.random.default_rng(options.seed)
    contests = []
    for number in range(options.applications):
        if number % 20 == 0:
            progress(f"quality: {number} of {options.applications} applications")
        contests.append(_contest(random_site(rng), random_application(rng), options.weight))
    progress("limits: hard maxNetworkCost, narrow links")
    strict = [_strict(rng, options.weight) for _ in range(max(1, options.applications // 4))]
    narrow = [_narrow(rng, options.weight) for _ in range(max(1, options.applications // 4))]
    progress(f"throughput: {options.groups} applications on {options.nodes} machines")
    return {
        "kind": "network",
        "environment": environment(),
        "options": asdict(options),
        "quality": _quality(contests),
        "strict": {"applications": len(strict), **_sum_runs(strict)},
        "links": {"applications": len(narrow), **_sum_runs(narrow)},
        "throughput": _throughput(options) if options.groups else None,
    }


@dataclass(frozen=True, slots=True)
class Contest:
    """Total network costs of one application: joint, and pod by pod per order; and the number of unplaced pods in
    each.
    """

    joint: int
    joint_pending: int
    by_order: dict[str, int]
    pending: dict[str, int]

    @property
    def cheapest(self) -> int:
        """The cost of the cheapest of the orders that place the most pods."""
        fewest = min(self.pending.values())
        return min(cost for name, cost in self.by_order.items() if self.pending[name] == fewest)


def _contest(site: Site, application: Application, weight: int) -> Contest:
    machine = place_jointly(site, application, weight)
    by_order, pending = {}, {}
    for name, algorithm in ALGORITHMS.items():
        other = place_pod_by_pod(site, application, algorithm(application.graph()), weight)
        by_order[name], pending[name] = total_cost(site, application, other), int((other < 0).sum())
    return Contest(total_cost(site, application, machine), int((machine < 0).sum()), by_order, pending)


def place_jointly(
    site: Site, application: Application, weight: int, solver: Solver | None = None, **args: Any
) -> Int64:
    """Return the machine of each pod after rounds of the core, as `place_pod_by_pod` does; ``args`` of the overlay."""
    scheduler = Scheduler(
        configuration=CoreConfiguration(
            overlays=(WeightedModel(load_model("network_overhead", args), weight),)
        ),
        solver=solver or OrToolsSolver(),
        clock=lambda: CLOCK,
    )
    order = ALGORITHMS[KAHN_SORT](application.graph())
    positions = {name: index for index, name in enumerate(order, 1)}
    scheduler.apply([*site_events(site), *application_events(application, "app", positions, FIRST_CLASS)])
    placed = {delta.uid: delta.machine for delta in scheduler.run_round().deltas}
    uids = [
        f"app-{workload}-{replica}"
        for workload, count in enumerate(application.replicas.tolist())
        for replica in range(count)
    ]
    return np.array([int(placed[uid][1:]) if uid in placed else -1 for uid in uids], dtype=np.int64)


def _quality(contests: list[Contest]) -> dict[str, object]:
    """Return figures over all contests; shares of the comparator's cost, without contests in which both cost 0."""
    against_best = [each.joint / each.cheapest for each in contests if each.cheapest]
    against_default = [each.joint / each.by_order[KAHN_SORT] for each in contests if each.by_order[KAHN_SORT]]
    return {
        "applications": len(contests),
        "worse_than_cheapest_order": sum(each.joint > each.cheapest for each in contests),
        "more_pending": sum(each.joint_pending > min(each.pending.values()) for each in contests),
        "median_saving_against_cheapest": 1.0 - statistics.median(against_best),
        "worst_saving_against_cheapest": 1.0 - max(against_best),
        "median_saving_against_default": 1.0 - statistics.median(against_default),
        "total_joint": sum(each.joint for each in contests),
        "total_cheapest": sum(each.cheapest for each in contests),
        "total_default": sum(each.by_order[KAHN_SORT] for each in contests),
        "cheapest_orders": {
            name: sum(each.by_order[name] == each.cheapest for each in contests) for name in ALGORITHMS
        },
    }


def _strict(rng: np.random.Generator, weight: int) -> dict[str, float]:
    """Return the result for an application with a limit that most pairs of regions, and some of zones, exceed."""
    site, application = random_site(rng), random_application(rng, limit=int(rng.integers(2, 30)))
    machine = place_jointly(site, application, weight, strictMaxNetworkCost=True)
    return {
        "pods": len(machine),
        "placed": int((machine >= 0).sum()),
        "violations": violations(site, application, machine),
        "fullest_link": 0.0,
    }


def _narrow(rng: np.random.Generator, weight: int) -> dict[str, float]:
    """Return the result for an application on links that carry only a few of its pairs."""
    site = random_site(rng, capacity=1_000 * int(rng.integers(5, 200)))
    application = random_application(rng, bandwidth=1_000)
    machine = place_jointly(site, application, weight, enforceBandwidth=True)
    return {
        "pods": len(machine),
        "placed": int((machine >= 0).sum()),
        "violations": 0,
        "fullest_link": fullest_link(site, application, machine),
    }


def _sum_runs(runs: list[dict[str, float]]) -> dict[str, float]:
    return {
        "pods": sum(each["pods"] for each in runs),
        "placed": sum(each["placed"] for each in runs),
        "violations": sum(each["violations"] for each in runs),
        "fullest_link": max(each["fullest_link"] for each in runs),
    }


def _throughput(options: NetworkOptions) -> dict[str, object]:
    """Return the figures of whole rounds of the core; the first run warms up."""
    application = boutique()
    positions = {name: at for at, name in enumerate(ALGORITHMS[KAHN_SORT](application.graph()), 1)}
    cluster = large_site_events(options.nodes)
    waiting = [
        event
        for group in range(options.groups)
        for event in application_events(
            application, f"app{group}", positions, FIRST_CLASS + group * application.workloads
        )
    ]
    configuration = CoreConfiguration(
        overlays=(WeightedModel(load_model("network_overhead", {}), options.weight),)
    )
    with contextlib.closing(ProcessSolver()) as solver:
        runs = [run_events(cluster, waiting, solver, configuration) for _ in range(options.runs + 1)]
        plain = run_events(cluster, waiting, solver, CoreConfiguration())
    return {**_fastest(runs[1:]), "seconds_without": plain.seconds}


def _fastest(runs: list[AlgorithmRun]) -> dict[str, object]:
    seconds = [run.seconds for run in runs]
    last = runs[-1]
    return {
        "placed": last.placed,
        "pending": last.pending,
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "pods_per_second": last.placed / statistics.median(seconds),
        "stats": asdict(last.rounds[0]),
    }
