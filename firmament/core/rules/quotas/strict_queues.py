"""Finds the StrictFIFO queues of classes."""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.rules.quotas.stated_quotas import read_stated_quotas
from firmament.core.state.cluster import Cluster


def has_strict_queues(cluster: Cluster) -> bool:
    """Return whether some quota without fault places its tasks strictly in their order."""
    return bool(cluster.records.payloads.get(QUOTA_RECORD)) and read_stated_quotas(cluster).any_strict


def find_strict_queues(cluster: Cluster, classes: Sequence[int]) -> dict[int, str]:
    """Return, by class (row), the StrictFIFO queue of its tasks; without classes that their queue never admits."""
    if not has_strict_queues(cluster):
        return {}
    stated, found = read_stated_quotas(cluster), dict[int, str]()
    for row in classes:
        content = cluster.classes.rows[row].content
        quota = stated.quotas.get(content.queue)
        if quota is not None and quota.strict and not stated.find_draw(content).refused:
            found[row] = content.queue
    return found
