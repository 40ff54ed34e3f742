"""Places pods one by one, as kube-scheduler with the NetworkOverhead plugin: by dependencies on placed pods.

Shares no code with the scheduler: scores are worked out here from the tables of the site. The base policy is
``cpu_mem``'s figure as a score of 0 to 100, weight 1; the plugin's normalised score has the weight given.
"""

from __future__ import annotations

import numpy as np

from benchmarks.quality.network_applications import CPU, MEMORY, Application, Site
from cost_models.interface import Bool, Float64, Int64


def place_pod_by_pod(site: Site, application: Application, order: list[str], weight: int) -> Int64:
    """Return the machine of each pod, replicas of a workload side by side in declared order; -1: none."""
    free, between = site.free.copy(), site.get_zone_costs()
    first = np.cumsum(application.replicas) - application.replicas
    machine = np.full(int(application.replicas.sum()), -1, dtype=np.int64)
    on_machine = np.zeros((application.workloads, len(site.zone)), dtype=np.int64)
    request = np.stack([np.ones_like(application.cpu), application.cpu, application.memory], axis=1)
    for name in order:
        workload = int(name[1:])
        for replica in range(int(application.replicas[workload])):
            cost, allowed = network_cost(site, between, application, workload, on_machine)
            fits = (free >= request[workload]).all(axis=1) & allowed
            if not fits.any():
                continue
            score = base_score(free - request[workload]) + weight * _normalise(cost, fits)
            best = int(np.argmax(np.where(fits, score, -np.inf)))
            machine[first[workload] + replica] = best
            free[best] -= request[workload]
            on_machine[workload, best] += 1
    return machine


def network_cost(
    site: Site, between: Int64, application: Application, workload: int, on_machine: Int64
) -> tuple[Int64, Bool]:
    """Return the plugin's raw cost of each machine, and whether the plugin's majority vote admits the pod there."""
    cost = np.zeros(len(site.zone), dtype=np.int64)
    excess = np.zeros(len(site.zone), dtype=np.int64)
    zones = len(between)
    for other in application.edges[application.edges[:, 0] == workload, 1].tolist():
        here = on_machine[other]
        per_zone = np.bincount(site.zone, weights=here, minlength=zones).astype(np.int64)
        cost += (between @ per_zone)[site.zone] - here
        over = (between > application.limit) & ~np.eye(zones, dtype=np.bool_)
        vote = np.where(over, 1, -1)
        excess += (vote @ per_zone)[site.zone]
    return cost, excess <= 0


def total_cost(site: Site, application: Application, machine: Int64) -> int:
    """Return the total cost of all pairs of a pod and a dependency: 0 on one machine, 1 in one zone."""
    between = site.get_zone_costs()
    workload = np.repeat(np.arange(application.workloads), application.replicas)
    total = 0
    for source, target in application.edges.tolist():
        ours, theirs = (
            machine[(workload == source) & (machine >= 0)],
            machine[(workload == target) & (machine >= 0)],
        )
        apart = ours[:, None] != theirs[None, :]
        total += int((between[np.ix_(site.zone[ours], site.zone[theirs])] * apart).sum())
    return total


def violations(site: Site, application: Application, machine: Int64) -> int:
    """Return the number of pairs of pods in different zones whose cost exceeds the limit of their dependency."""
    between = site.get_zone_costs()
    workload = np.repeat(np.arange(application.workloads), application.replicas)
    found = 0
    for source, target in application.edges.tolist():
        ours, theirs = (
            machine[(workload == source) & (machine >= 0)],
            machine[(workload == target) & (machine >= 0)],
        )
        here, there = site.zone[ours][:, None], site.zone[theirs][None, :]
        found += int(((here != there) & (between[here, there] > application.limit)).sum())
    return found


def fullest_link(site: Site, application: Application, machine: Int64) -> float:
    """Return the load of the fullest link between zones of a region or between regions, as a share of its capacity."""
    workload = np.repeat(np.arange(application.workloads), application.replicas)
    load: dict[tuple[str, int, int], int] = {}
    for source, target in application.edges.tolist():
        for ours in machine[(workload == source) & (machine >= 0)].tolist():
            for theirs in machine[(workload == target) & (machine >= 0)].tolist():
                ends = ("region", int(site.region[ours]), int(site.region[theirs]))
                if ends[1] == ends[2]:
                    ends = ("zone", int(site.zone[ours]), int(site.zone[theirs]))
                if ends[1] != ends[2]:
                    load[ends] = load.get(ends, 0) + application.bandwidth
    return max(load.values(), default=0) / site.capacity


def base_score(left: Int64) -> Float64:
    """Return the score of ``cpu_mem``: 100 for an empty machine, 0 for a full one with unbalanced use."""
    cpu, memory = 1.0 - left[:, 1] / CPU, 1.0 - left[:, 2] / MEMORY
    raw = np.floor((np.floor(1000 * cpu) + np.floor(1000 * memory)) / 2)
    raw += np.floor(1000 * ((cpu - memory) / 2) ** 2)
    return np.clip(100.0 - raw / 12.5, 0.0, 100.0)


def _normalise(cost: Int64, fits: Bool) -> Float64:
    least, most = int(cost[fits].min()), int(cost[fits].max())
    if least == most:
        return np.full(len(cost), 0.0 if most == 0 else 100.0)
    return 100.0 - np.trunc(100.0 * (cost - least) / (most - least))
