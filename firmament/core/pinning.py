"""Pinned classes: which machines they are confined to, as rows and as a refusal of all others."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core import reasons
from firmament.core.cluster import Cluster
from firmament.core.feasibility import StaticRow
from firmament.core.matching import HOSTNAME


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


def with_pins(cluster: Cluster, cls: int, row: StaticRow) -> StaticRow:
    """``row`` of the class's shape with all machines outside its pins refused, for that before anything else."""
    allowed = pinned_rows(cluster, cls)
    if allowed is None:
        return row
    outside = np.ones(len(cluster.machines), dtype=np.bool_)
    outside[allowed] = False
    text = _reason(cluster, cls)
    code = np.where(outside, np.int16(len(row.texts)), row.code)
    return StaticRow(row.feasible & ~outside, code, (*row.texts, text))


def _on_hosts(cluster: Cluster, hosts: tuple[str, ...]) -> Int64:
    column = cluster.machines.labels.column(HOSTNAME)
    return np.flatnonzero(column.any_of(hosts, len(cluster.machines)))


def _reason(cluster: Cluster, cls: int) -> str:
    row = cluster.classes.rows[cls]
    if row.content.machine:
        return reasons.WRONG_NAME
    return reasons.WRONG_LABELS if row.pins is not None else reasons.WRONG_VOLUMES
