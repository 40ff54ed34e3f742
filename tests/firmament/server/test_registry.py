"""Which clusters a server remembers."""

from __future__ import annotations

import pytest

from firmament.core.configuration import CoreConfiguration
from firmament.core.scheduler import Scheduler
from firmament.server.cluster import ServedCluster
from firmament.server.cluster_registry import ClusterInUseError, ClusterRegistry, UnknownClusterError
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock


def registry_of(idle_limit: int) -> ClusterRegistry:
    return ClusterRegistry(
        lambda name: ServedCluster(
            name, lambda: Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=Clock())
        ),
        idle_limit,
    )


def test_of_clusters_without_a_session_the_longest_unused_are_forgotten():
    registry = registry_of(idle_limit=2)
    for name in ("a", "b", "c", "b", "d"):
        registry.close(registry.open(name))
    registry.open("e")
    assert registry.names() == ["b", "d", "e"]
    with pytest.raises(UnknownClusterError, match=r"cluster 'a' is not known; known: b, d, e"):
        registry.get("a")


def test_a_cluster_whose_session_waits_to_drive_it_is_not_forgotten():
    registry = registry_of(idle_limit=1)
    awaited = registry.open("a")
    for name in ("b", "c", "d"):
        registry.close(registry.open(name))
    assert registry.open("a") is awaited, "two drivers of two states would not know of each other"


def test_a_cluster_is_kept_as_long_as_one_of_its_sessions_is_open():
    registry = registry_of(idle_limit=0)
    former, newer = registry.open("a"), registry.open("a")
    registry.close(former)
    registry.open("b")
    assert registry.get("a") is newer
    registry.close(newer)
    registry.open("c")
    assert registry.names() == ["b", "c"]


def test_what_nobody_uses_any_more_can_be_forgotten():
    registry = registry_of(idle_limit=5)
    former, newer = registry.open("a"), registry.open("a")
    registry.close(former)
    with pytest.raises(ClusterInUseError, match="cluster 'a' is in use"):
        registry.delete("a")
    registry.close(newer)
    registry.delete("a")
    assert registry.names() == []
    with pytest.raises(UnknownClusterError):
        registry.delete("a")
