"""Which tasks come first where places are scarce: ranks out of priorities, fair shares and quality of service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from cost_models.interface import Int64
from firmament.core.rules.pairs import PairRules
from firmament.core.state.cluster import Cluster

_QUALITY: Mapping[str, int] = MappingProxyType({"Guaranteed": 2, "Burstable": 1, "BestEffort": 0})
_UNKNOWN = 1

PLACED = -1
"""The level of tasks that have a place already: they come after all others of their priority."""


def ranks(priorities: Int64, levels: Int64, quality: Int64) -> Int64:
    """Return int64[C], 0 for those that come last: by priority, then level, then quality (0 to 2).

    ``levels``: 0 to 2, or ``PLACED`` for tasks that have a place already and may take another one.
    """
    return np.unique(12 * priorities + 3 * levels + quality, return_inverse=True)[1].astype(np.int64)


def qualities(cluster: Cluster, classes: Sequence[int], pairs: PairRules | None) -> Int64:
    """Return int64[C] by the QoS classes of ``classes``, rows of the class table.

    Tasks of an application come as one, whatever their quality: among them the order of their workloads decides
    (TopologicalSort of kubernetes-sigs/scheduler-plugins).
    """
    table = cluster.classes.rows
    found = np.array([_QUALITY.get(table[row].content.qos, _UNKNOWN) for row in classes], dtype=np.int64)
    if pairs is not None:
        found[pairs.kind >= 0] = _UNKNOWN
    return found
