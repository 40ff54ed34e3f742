"""Computes the default spread: which tasks of a round prefer to run apart, and what placing them together costs.

Costs follow kube-scheduler's PodTopologySpread with its default constraints. In kube-scheduler, each constraint adds
to a node's score: the tasks of the group in the node's domain, times log(domains + 2), plus maxSkew - 1.
kube-scheduler scales the sum so that the largest one costs 100 points times 2, the plugin's weight. This module
scales costs as if all tasks of the group were placed already, and evenly. With costs scaled in this way, each further
task in a domain costs the same throughout a round, and costs are convex. The 200 points are divided among the
constraints whose label differs between machines, and each constraint is scaled on its own. (In kube-scheduler, a
constraint whose label is equal on all nodes makes the other constraints count less.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.default_spread import NO_SPREAD, SpreadTerms
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.ranks import places_in
from firmament.core.selectors.label_columns import HOSTNAME, ZONE
from firmament.core.state.cluster import Cluster
from firmament.core.state.domains import DomainsByKey


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A default constraint of topology spread, with ``whenUnsatisfiable: ScheduleAnyway``.

    If the topology key is `HOSTNAME`, each machine is a domain of its own.
    """

    topology_key: str
    max_skew: int


SYSTEM_DEFAULTS = (SpreadConstraint(HOSTNAME, 3), SpreadConstraint(ZONE, 5))
"""kube-scheduler's default constraints if ``defaultingType`` is ``System``."""

POINTS = 200
"""What a task costs in the fullest domain, in points: 100 times kube-scheduler's weight of PodTopologySpread."""

MOST_DOMAIN_COUNTS = 5_000_000
"""If groups times domains exceed this number, only machines count as domains, and larger domains such as zones do
not."""

_MOST_SINGLE_SEARCHES = 4
"""Up to this number of groups, the code searches for the tasks of each group separately, which is faster than sorting
all tasks."""


def compile_spread(
    cluster: Cluster,
    constraints: Sequence[SpreadConstraint],
    codes: Int64,
    tasks: Int64,
    feasible: Bool,
    shape: Int64,
    get_domains: Callable[[Cluster, str], Int64] | None = None,
) -> SpreadTerms:
    """Return the terms by which a round spreads its tasks; `NO_SPREAD` if no waiting task is in a group.

    ``constraints``: at most one with the key `HOSTNAME`, and at most one with another key. ``codes``: int64[C], the
    number of each class's group, 0 for none; ``tasks``: int64[C], how many tasks of each class wait; ``feasible``:
    bool[S, M]; ``shape``: int64[C], the row of each class in ``feasible``. ``get_domains`` is called instead of
    ``number_domains``, if given.
    """
    machines = len(cluster.machines)
    if not constraints or machines < 2 or not codes.any():
        return NO_SPREAD
    numbers, of_class = np.unique(codes, return_inverse=True)
    group = np.where(codes > 0, of_class - int(numbers[0] == 0), -1).astype(np.int64)
    groups = int(group.max()) + 1
    resident_group, resident_machine = _find_residents(cluster, numbers[numbers > 0])
    total = np.bincount(resident_group, minlength=groups)
    total += np.bincount(group[group >= 0], weights=tasks[group >= 0], minlength=groups).astype(np.int64)
    open_to = np.zeros(groups, dtype=np.int64)
    # Counting row by row is faster than ``axis=1``.
    machines_of = np.array([np.count_nonzero(row) for row in feasible], dtype=np.int64)
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
        machine_step=_compute_steps(by_machine, share, total, np.maximum(open_to, 1)),
        domain_step=_compute_steps(coarse if domains > 1 else None, share, total, np.full(groups, domains)),
        resident_group=resident_group,
        resident_machine=resident_machine,
    )


def _compute_steps(
    constraint: SpreadConstraint | None, units: float, total: Int64, domains: Int64
) -> Float64:
    """Return what one more task of each group costs in a domain, in units of cost: float64[G].

    A domain with its even share of ``total`` tasks over ``domains`` costs ``units``.
    """
    if constraint is None:
        return np.zeros(len(total))
    factor = np.log(domains + 2.0)
    level = np.maximum(1, -(-total // domains))
    return units * factor / (factor * level + constraint.max_skew - 1)


def number_domains(cluster: Cluster, key: str) -> Int64:
    """Return the domain of each machine by the label ``key``: int64[M]; domains are numbered from 0.

    All machines without the label share one domain. A domain without machines gets no number.
    """
    domain = DomainsByKey(cluster.machines).get(key).domain
    used = np.bincount(domain + 1) > 0
    return np.asarray(np.cumsum(used) - 1, dtype=np.int64)[domain + 1]


def _find_residents(cluster: Cluster, numbers: Int64) -> tuple[Int64, Int64]:
    """Return the placed tasks that are in groups: each task's index in ``numbers`` and its machine, int64[A] each.

    ``numbers``: the numbers of the groups, ascending.
    """
    tasks = cluster.tasks
    group = tasks.spread[: len(tasks.uid)]
    if len(numbers) <= _MOST_SINGLE_SEARCHES:
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
