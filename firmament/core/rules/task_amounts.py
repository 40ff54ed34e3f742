"""Asks the rules about amounts what a single task gets on its machine, and which requests it need not make there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import ClaimAllocation
from firmament.core.rules.framework.limit_rule import LimitRule, PlacedTask
from firmament.core.rules.registry import LIMIT_RULES, list_limiting, read_fields
from firmament.core.state.cluster import Cluster

_SETTLING = [rule for rule in LIMIT_RULES if type(rule).allocate is not LimitRule.allocate]


def settle_placements(
    cluster: Cluster, placed: Sequence[PlacedTask]
) -> list[tuple[ClaimAllocation, ...] | None]:
    """Return what each placed task is allocated on its machine, in the order of ``placed``.

    None stands for a placement that fails because a rule cannot give the task what it claims.
    """
    found: list[tuple[ClaimAllocation, ...] | None] = [()] * len(placed)
    for rule in _SETTLING:
        stated = read_fields(rule.for_tasks_with)
        concerned = [
            place for place, each in enumerate(placed) if any(stated(cluster.classes.shapes[each.shape]))
        ]
        settled = rule.allocate(cluster, [placed[place] for place in concerned]) if concerned else ()
        for place, given in zip(concerned, settled, strict=True):
            former = found[place]
            found[place] = None if former is None or given is None else (*former, *given)
    return found


def find_settled(cluster: Cluster) -> frozenset[int]:
    """Return the rows of those classes whose tasks are allocated something on placement, such as devices."""
    fields = tuple(field for rule in _SETTLING for field in rule.for_tasks_with)
    return frozenset(cluster.classes.list_stating(fields))


def spare_amounts(cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:
    """Return the part of its requests that a task of a shape need not make on machines: int64[len(rows), K].

    Return None if the task must make all its requests.
    """
    asked = list_limiting([cluster.classes.shapes[shape]])
    found = [less for rule in asked if (less := rule.find_waived_requests(cluster, shape, rows)) is not None]
    return sum(found[1:], found[0]) if found else None


def add_spared(cluster: Cluster, shape: int, free: Int64) -> Int64:
    """Return ``free``, plus the requests that a task of a shape need not make on each machine: int64[M, K]."""
    less = spare_amounts(cluster, shape, np.arange(len(free)))
    return free if less is None else free + less


def net_requests(cluster: Cluster, classes: Int64, machines: Int64) -> Int64:
    """Return what a task of ``classes[i]`` requests of ``machines[i]``: int64[N, K].

    Amounts that the task need not request on its machine are left out.

    ``classes`` and ``machines`` are rows of their tables. Machine -1 stands for no machine; the task must then
    request all amounts.
    """
    wanted, _ = cluster.demand_of(classes)
    for cls in np.unique(classes).tolist():
        where = np.flatnonzero((classes == cls) & (machines >= 0))
        less = spare_amounts(cluster, cluster.classes.rows[cls].shape, machines[where])
        if less is not None:
            wanted[where] -= less
    return wanted
