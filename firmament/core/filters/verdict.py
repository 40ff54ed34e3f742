"""What keeps tasks of one class off each machine: pins, filters, a lack of room, rules between tasks, and others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cost_models.interface import Int64
from firmament.core.filters import reasons
from firmament.core.filters.node_filters import StaticRow
from firmament.core.filters.root_causes import (
    Cause,
    MachineRefusal,
    RootCauses,
    Stage,
    lacks,
    root_causes,
    rule_refusals,
)
from firmament.core.rules.counters import RuleState
from firmament.core.selectors.node_selectors import HOSTNAME
from firmament.core.state.cluster import Cluster


def pinned_rows(cluster: Cluster, cls: int) -> Int64 | None:
    """Rows of the machines that the class in row ``cls`` is confined to, ascending; None if it is not pinned."""
    row = cluster.classes.rows[cls]
    rows: Int64 | None = None
    if row.pins is not None:
        known = cluster.machines.row_of
        rows = np.array(sorted(known[name] for name in row.pins if name in known), dtype=np.int64)
    if row.hosts is not None:
        on_hosts = _on_hosts(cluster, row.hosts)
        rows = on_hosts if rows is None else np.intersect1d(rows, on_hosts)
    return rows


def pin_refusals(cluster: Cluster, cls: int) -> list[MachineRefusal]:
    """The machines outside the pins of the class in row ``cls``: by its names, and by its local volumes."""
    row = cluster.classes.rows[cls]
    found = []
    if row.pins is not None:
        named = Cause(reasons.WRONG_NAME if row.content.machine else reasons.NOT_NAMED, Stage.NAMED)
        found.append(MachineRefusal(named, ~cluster.machines.named(row.pins)))
    if row.hosts is not None:
        outside = np.ones(len(cluster.machines), dtype=np.bool_)
        outside[_on_hosts(cluster, row.hosts)] = False
        found.append(MachineRefusal(Cause(reasons.WRONG_VOLUMES, Stage.VOLUMES), outside))
    return found


def _on_hosts(cluster: Cluster, hosts: tuple[str, ...]) -> Int64:
    column = cluster.machines.labels.column(HOSTNAME)
    return np.flatnonzero(column.any_of(hosts, len(cluster.machines)))


def verdict(
    cluster: Cluster,
    cls: int,
    static: StaticRow,
    free: Int64,
    rules: RuleState | None,
    index: int,
    others: Iterable[MachineRefusal],
) -> RootCauses:
    """Kube-scheduler's filters in its order, then ``others``: what models, limits, groups and reservations refuse.

    ``cls``: row of the class; ``static``: what its shape is refused by itself; ``free``: int64[M, K], room as its tasks
    see it; ``rules``: None for none, in which the class is number ``index``.
    """
    request = cluster.request_of(cls)
    found = pin_refusals(cluster, cls) + static.refusals()
    found += lacks(free[:, : len(request)], request, cluster.resources.names)
    found += [] if rules is None else rule_refusals(rules.refusals(index))
    return root_causes(len(cluster.machines), [*found, *others])
