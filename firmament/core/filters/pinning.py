"""Pinned classes: which machines they are confined to, as rows and as refusals of all others."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.filters import reasons
from firmament.core.filters.root_causes import Cause, Refusal, Stage
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


def pin_refusals(cluster: Cluster, cls: int) -> list[Refusal]:
    """The machines outside the pins of the class in row ``cls``: by its names, and by its local volumes."""
    row = cluster.classes.rows[cls]
    found = []
    if row.pins is not None:
        named = Cause(reasons.WRONG_NAME if row.content.machine else reasons.NOT_NAMED, Stage.NAMED)
        found.append(Refusal(named, ~cluster.machines.named(row.pins)))
    if row.hosts is not None:
        outside = np.ones(len(cluster.machines), dtype=np.bool_)
        outside[_on_hosts(cluster, row.hosts)] = False
        found.append(Refusal(Cause(reasons.WRONG_VOLUMES, Stage.VOLUMES), outside))
    return found


def _on_hosts(cluster: Cluster, hosts: tuple[str, ...]) -> Int64:
    column = cluster.machines.labels.column(HOSTNAME)
    return np.flatnonzero(column.any_of(hosts, len(cluster.machines)))
