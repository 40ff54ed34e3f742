"""Pinned classes: which machines they are confined to, as a refusal of all others."""

from __future__ import annotations

import numpy as np

from firmament.core import reasons
from firmament.core.cluster import Cluster
from firmament.core.feasibility import StaticRow


def with_pins(cluster: Cluster, cls: int, row: StaticRow) -> StaticRow:
    """``row`` of the class's shape with all machines outside its pins refused, for that before anything else."""
    pins = cluster.classes.rows[cls].pins
    if pins is None:
        return row
    outside = np.ones(len(cluster.machines), dtype=np.bool_)
    outside[[cluster.machines.row_of[name] for name in pins if name in cluster.machines.row_of]] = False
    by_name = cluster.classes.rows[cls].content.machine != ""
    text = reasons.WRONG_NAME if by_name else reasons.WRONG_LABELS
    code = np.where(outside, np.int16(len(row.texts)), row.code)
    return StaticRow(row.feasible & ~outside, code, (*row.texts, text))
