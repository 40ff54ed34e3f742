"""Default spread: which tasks of a round prefer to be apart, and the cost of placing them together.

As kube-scheduler's PodTopologySpread scores its default constraints: a node costs, per constraint, the tasks of the
group in its domain times log(domains + 2), plus maxSkew - 1; the sum is scaled so that the largest stands for 100
points, times 2, the plugin's weight. Here the scale is that of the end, when all tasks of the group are shared out
evenly: so a step of one task costs the same throughout a round, and costs are convex. The 200 points are shared by the
constraints that tell machines apart, each scaled by itself: where a constraint is the same everywhere, kube-scheduler
lets it dilute the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.default_spread import NO_SPREAD, SpreadTerms
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.ranks import places_in
from firmament.core.selectors.labels import HOSTNAME, ZONE
from firmament.core.state.cluster import Cluster
from firmament.core.state.domains import DomainsByKey


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """One default constraint, ``ScheduleAnyway``; with the key `HOSTNAME` each machine is a domain of its own."""

    topology_key: str
    max_skew: int


SYSTEM_DEFAULTS = (SpreadConstraint(HOSTNAME, 3), SpreadConstraint(ZONE, 5))
"""kube-scheduler's, with ``defaultingType: System``."""

POINTS = 200
"""What the fullest domain costs in all: 100 points times kube-scheduler's weight of PodTopologySpread."""

MOST_DOMAIN_COUNTS = 5_000_000
"""Groups times domains beyond which domains are not looked at."""

_FEW = 4
"""Groups whose tasks are looked for one group after another: of those of all groups most would be left out."""


def compile_spread(
    cluster: Cluster,
    constraints: Sequence[SpreadConstraint],
    codes: Int64,
    tasks: Int64,
    feasible: Bool,
    shape: Int64,
    get_domains: Callable[[Cluster, str], Int64] | None = None,
) -> SpreadTerms:
    """Return the groups of a round, if it has any.

    ``constraints``: at most one by machine and one by domain. ``codes``: int64[C], number of the group of each class, 0
    for none; ``tasks``: int64[C], how many wait; ``feasible``: bool[S, M], ``shape``: int64[C], its rows.
    ``get_domains`` returns what ``number_domains`` does, which it does by default.
    """
    machines = len(cluster.machines)
    if not constraints or machines < 2 or not codes.any():
        return NO_SPREAD
    numbers, of_class = np.unique(codes, return_inverse=True)
    group = np.where(codes > 0, of_class - int(numbers[0] == 0), -1).astype(np.int64)
    groups = int(group.max()) + 1
    resident_group, resident_machine = _residents(cluster, numbers[numbers > 0])
    total = np.bincount(resident_group, minlength=groups)
    total += np.bincount(group[group >= 0], weights=tasks[group >= 0], minlength=groups).astype(np.int64)
    open_to = np.zeros(groups, dtype=np.int64)
    machines_of = np.array([np.count_nonzero(row) for row in feasible], dtype=np.int64)  # faster than by axis
    np.maximum.at(open_to, group[group >= 0], machines_of[shape[group >= 0]])
    by_machine = next((each for each in constraints if each.topology_key == HOSTNAME), None)
    coarse = next((each for each in constraints if each.topology_key != HOSTNAME), None)
    domain, domains = np.zeros(machines, dtype=np.int64), 1
    if coarse is not None:
        found = (get_domains or number_domains)(cluster, coarse.topology_key)
        if 1 < int(found.max()) + 1 <= MOST_DOMAIN_COUNTS // groups:
            domain, domains = found, int(found.max()) + 1
    share = POINTS * COST_UNITS_PER_POINT / ((by_machine is not None) + (domains > 1) or 1)
    return SpreadTerms(
        group=group,
        domain=domain,
        machine_step=_steps(by_machine, share, total, np.maximum(open_to, 1)),
        domain_step=_steps(coarse if domains > 1 else None, share, total, np.full(groups, domains)),
        resident_group=resident_group,
        resident_machine=resident_machine,
    )


def _steps(constraint: SpreadConstraint | None, units: float, total: Int64, domains: Int64) -> Float64:
    """Return float64[G]: units per task; an even share of ``total`` tasks over ``domains`` costs ``units``."""
    if constraint is None:
        return np.zeros(len(total))
    factor = np.log(domains + 2.0)
    level = np.maximum(1, -(-total // domains))
    return units * factor / (factor * level + constraint.max_skew - 1)


def number_domains(cluster: Cluster, key: str) -> Int64:
    """Return int64[M]: domains by a label that some machine is in, from 0 on in their order; machines without the
    label are one.
    """
    domain = DomainsByKey(cluster.machines).get(key).domain
    used = np.bincount(domain + 1) > 0
    return np.asarray(np.cumsum(used) - 1, dtype=np.int64)[domain + 1]


def _residents(cluster: Cluster, numbers: Int64) -> tuple[Int64, Int64]:
    """Return tasks of groups (``numbers``, ascending) on machines: the index of the group, and the machine,
    int64[A] each.
    """
    tasks = cluster.tasks
    group = tasks.spread[: len(tasks.uid)]
    if len(numbers) <= _FEW:
        found = [np.flatnonzero(group == number) for number in numbers.tolist()]
        grouped = np.concatenate(found)
        of_task = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    else:
        index = places_in(numbers, len(cluster.spread_groups))
        grouped = np.flatnonzero(group)
        of_task = index[group[grouped]]
    machine = tasks.machine[grouped]
    there = (of_task >= 0) & (machine >= 0)
    return of_task[there], machine[there].astype(np.int64)
