"""Makes random applications on random clusters of regions and zones, as data and as events for the core."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Machine, TaskClass

GROUP = "appgroup.diktyo.x-k8s.io"
WORKLOAD = "appgroup.diktyo.x-k8s.io.workload"
GIB = 2**30
CPU, MEMORY, PODS = 16_000, 64 * GIB, 110


@dataclass(frozen=True, slots=True)
class Application:
    """Workloads 0 to N - 1: int64[N] each of ``replicas``, ``cpu`` (milli-cores), ``memory``; ``edges``: int64[E, 2],
    each from a workload to one that it depends on, in declared order. ``limit``: of every dependency;
    ``bandwidth``: bits per second of every pair.
    """

    replicas: Int64
    cpu: Int64
    memory: Int64
    edges: Int64
    limit: int = 10_000
    bandwidth: int = 0

    @property
    def workloads(self) -> int:
        """N, the number of workloads."""
        return len(self.replicas)

    def graph(self) -> dict[str, tuple[str, ...]]:
        """Return dependencies by name, in declared order."""
        return {
            f"p{index}": tuple(f"p{other}" for other in self.edges[self.edges[:, 0] == index, 1].tolist())
            for index in range(self.workloads)
        }


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster of M machines in R regions with Z zones.

    ``zone_cost``: int64[Z, Z] within a region, ``region_cost``: int64[R, R]. ``capacity``: of each link, 0: no limit.
    """

    region: Int64
    zone: Int64
    used: Int64
    zone_cost: Int64
    region_cost: Int64
    capacity: int = 0

    @property
    def free(self) -> Int64:
        """int64[M, 3]: free amounts of each machine."""
        return np.array([PODS, CPU, MEMORY]) - self.used

    def get_zone_costs(self) -> Int64:
        """Return the cost from zone to zone, 1 within one: int64[Z, Z]."""
        zones, first = np.unique(self.zone, return_index=True)
        region = self.region[first]
        same = region[:, None] == region[None, :]
        cost = np.where(same, self.zone_cost, self.region_cost[np.ix_(region, region)])
        cost[zones, zones] = 1
        return cost


def random_site(rng: np.random.Generator, *, capacity: int = 0) -> Site:
    """Return 2 to 4 regions of 2 to 4 zones of 3 to 6 machines, each of them about half full."""
    regions = int(rng.integers(2, 5))
    zone_region = np.repeat(np.arange(regions), rng.integers(2, 5, regions))
    zone = np.repeat(np.arange(len(zone_region)), rng.integers(3, 7, len(zone_region)))
    share = np.clip(rng.normal(0.5, 0.2, (len(zone), 2)), 0.0, 0.95)
    used = np.zeros((len(zone), 3), dtype=np.int64)
    used[:, 0] = 1
    used[:, 1] = (share[:, 0] * CPU).astype(np.int64)
    used[:, 2] = (share[:, 1] * MEMORY).astype(np.int64)
    return Site(
        region=zone_region[zone],
        zone=zone,
        used=used,
        zone_cost=_symmetric(rng.integers(2, 11, (len(zone_region),) * 2)),
        region_cost=_symmetric(rng.integers(15, 61, (regions, regions))),
        capacity=capacity,
    )


def random_application(rng: np.random.Generator, *, limit: int = 10_000, bandwidth: int = 0) -> Application:
    """Return 5 to 40 workloads with 1 to 5 replicas; one to three others depend on each but the first."""
    count = int(rng.integers(5, 41))
    edges = {
        (int(parent), child)
        for child in range(1, count)
        for parent in rng.choice(child, size=min(child, int(rng.integers(1, 4))), replace=False)
    }
    name = rng.permutation(count)
    declared = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    return Application(
        replicas=rng.integers(1, 6, count),
        cpu=100 * rng.integers(2, 16, count),
        memory=(GIB // 4) * rng.integers(1, 9, count),
        edges=name[declared],
        limit=limit,
        bandwidth=bandwidth,
    )


def _symmetric(matrix: Int64) -> Int64:
    upper = np.triu(matrix, 1)
    return upper + upper.T


def site_events(site: Site) -> list[Event]:
    """Return the events of the machines with their running tasks, and their NetworkTopology."""
    events: list[Event] = []
    for row in range(len(site.zone)):
        labels = {
            "topology.kubernetes.io/region": f"r{site.region[row]}",
            "topology.kubernetes.io/zone": f"z{site.zone[row]}",
        }
        allocatable = {"pods": PODS, "cpu": CPU, "memory": MEMORY}
        events.append(MachineUpserted(Machine(f"m{row:04d}", allocatable, labels=labels)))
        _, cpu, memory = site.used[row].tolist()
        content = TaskClass(requests=(("cpu", cpu), ("memory", memory)))
        events += [ClassDefined(1 + row, content), TasksBound(f"m{row:04d}", 1 + row, (f"old-{row}",))]
    levels = {"region": _name_matrix("r", site.region_cost), "zone": _name_matrix("z", site.zone_cost)}
    capacity = {
        level: {origin: dict.fromkeys(row, site.capacity) for origin, row in rows.items()}
        for level, rows in levels.items()
    }
    payload = {"weights": {"UserDefined": levels}, "capacity": capacity if site.capacity else {}}
    events.append(RecordUpserted("NetworkTopology", "default/nt-default", json.dumps(payload).encode()))
    return events


def _name_matrix(prefix: str, matrix: Int64) -> dict[str, dict[str, int]]:
    return {
        f"{prefix}{origin}": {f"{prefix}{other}": cost for other, cost in enumerate(row) if other != origin}
        for origin, row in enumerate(matrix.tolist())
    }


def application_events(
    application: Application, name: str, positions: dict[str, int], first_class: int
) -> list[Event]:
    """Return the AppGroup and its waiting pods, of classes from ``first_class`` on; pod uids are
    NAME-WORKLOAD-REPLICA.
    """
    workloads = [
        {
            "name": workload,
            "selector": workload,
            "order": positions[workload],
            "dependencies": [
                {
                    "workload": other,
                    "minBandwidth": application.bandwidth,
                    "maxNetworkCost": application.limit,
                }
                for other in others
            ],
        }
        for workload, others in application.graph().items()
    ]
    events: list[Event] = [
        RecordUpserted("AppGroup", f"default/{name}", json.dumps({"workloads": workloads}).encode())
    ]
    for index in range(application.workloads):
        content = TaskClass(
            requests=(("cpu", int(application.cpu[index])), ("memory", int(application.memory[index]))),
            labels=((GROUP, name), (WORKLOAD, f"p{index}")),
        )
        uids = tuple(f"{name}-{index}-{replica}" for replica in range(int(application.replicas[index])))
        events += [ClassDefined(first_class + index, content), TasksSubmitted(first_class + index, uids)]
    return events


def boutique() -> Application:
    """Return Online Boutique as in the proposal: eleven workloads of one pod each."""
    edges = [(1, child) for child in (2, 3, 4, 6, 8, 9, 10)]
    edges += [(2, 11), *((8, child) for child in (2, 3, 4, 5, 6, 7)), (9, 3)]
    return Application(
        replicas=np.ones(11, dtype=np.int64),
        cpu=np.array([250 + 50 * (index % 3) for index in range(11)]),
        memory=np.full(11, GIB // 4),
        edges=np.array(edges, dtype=np.int64) - 1,
    )


def large_site_events(nodes: int) -> list[Event]:
    """Return half-full machines in three regions of two zones each."""
    rng = np.random.default_rng(1)
    used = np.ones((nodes, 3), dtype=np.int64)
    used[:, 1] = rng.integers(0, CPU, nodes)
    used[:, 2] = rng.integers(0, MEMORY, nodes)
    zone = np.arange(nodes) % 6
    apart = np.full((6, 6), 5) - np.diag(np.full(6, 5))
    regions = np.full((3, 3), 20) - np.diag(np.full(3, 20))
    return site_events(Site(zone // 2, zone, used, apart, regions))
