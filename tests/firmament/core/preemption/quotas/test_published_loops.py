"""Loops of preemption that users of Kueue have published come to rest here."""

from __future__ import annotations

from typing import Any

import pytest

from firmament.core.events import Event
from tests.firmament.core.preemption.quotas.scripted_cluster import ScriptedCluster
from tests.firmament.core.rules.quotas.quota_scene import quota

FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
BOTH = [FINAL, INITIAL]
FIRM = {"reclaim": "LowerPriority", "borrow": {"policy": "LowerPriority", "threshold": 100}}
"""Policies of the queues that others must make way for, in the first issue."""
LOW, MEDIUM = 50, 500


def _queue(name: str, cpu: int, parent: str, policy: dict[str, Any], **stated: Any) -> Event:
    return quota(name, {"any": {"cpu": cpu}}, parent=parent, preemption=policy, **stated)


def _wait(cluster: ScriptedCluster, hours: int = 2) -> int:
    """Go on for some hours, a round a minute; returns how many of them evicted somebody."""
    evicting = 0
    for _ in range(hours * 60):
        cluster.clock.advance(60)
        evicting += cluster.settle()
    return evicting


@pytest.mark.parametrize("fair", [True, False])
def test_who_is_created_again_is_not_evicted_again_for_quota_of_a_cohort(fair: bool):
    """Kueue #3779, as filed: the Deployment of a pod that had made way created it again, it was admitted again
    before the one that it had made way for, and evicted again, for minutes.
    """
    cluster = ScriptedCluster(
        quota("root", fair=fair),
        quota("guaranteed", {"any": {"cpu": 300}}, parent="root", fair=fair),
        _queue("firm", 0, "guaranteed", FIRM, fair=fair),
        _queue("best-a", 0, "root", {}, fair=fair),
        _queue("best-b", 0, "root", {}, fair=fair),
    )
    for name, queue, cpu in (("a1", "best-a", 100), ("a2", "best-a", 100), ("b1", "best-b", 50)):
        cluster.submit(name, queue, cpu, priority=LOW)
    cluster.submit("b2", "best-b", 50, priority=LOW)
    assert cluster.settle() == 0
    assert cluster.list_running() == {"a1", "a2", "b1", "b2"}
    cluster.submit("firm1", "firm", 50, priority=MEDIUM)
    cluster.settle()
    cluster.submit("firm2", "firm", 100, priority=MEDIUM)
    cluster.settle()
    assert {"firm1", "firm2"} <= cluster.list_running()
    assert _wait(cluster) == 0
    assert {"firm1", "firm2"} <= cluster.list_running()
    assert cluster.evictions == ({"a1": 1, "a2": 1} if fair else {"a2": 1, "b2": 1})


def test_who_borrows_most_takes_nothing_from_who_borrows_less():
    """Kueue #3779, as found later without a tree of cohorts: with fair shares and ``borrowWithinCohort``, a
    queue that already borrowed evicted a pod of one that borrowed less, and evicted it again whenever it came.
    """
    cluster = ScriptedCluster(
        quota("root", fair=True),
        _queue("tenant-a", 150, "root", FIRM, fair=True),
        _queue("tenant-b", 150, "root", FIRM, fair=True),
        _queue("best", 0, "root", {}, fair=True),
    )
    cluster.submit("a1", "tenant-a", 250, priority=MEDIUM)
    cluster.submit("best1", "best", 50, priority=LOW)
    assert cluster.settle() == 0
    cluster.submit("a2", "tenant-a", 50, priority=MEDIUM)
    assert cluster.settle() == 0
    assert _wait(cluster) == 0
    assert cluster.list_running() == {"a1", "best1"}


@pytest.mark.parametrize("larger", [True, False])
def test_gangs_that_share_evenly_stay_when_another_comes(larger: bool):
    """Kueue #7101: a gang of four did not get the half that was its share, and when one of three came as well,
    gangs evicted each other more than 33 times.
    """
    policy = {"reclaim": "Any", "strategies": [FINAL]}
    cluster = ScriptedCluster(
        quota("all", {"any": {"cpu": 8}}, fair=True),
        _queue("proj-1", 0, "all", policy, fair=True),
        _queue("proj-2", 0, "all", policy, fair=True),
    )
    first = [f"first{number}" for number in range(1, 5)]
    for name in first:
        cluster.submit(name, "proj-1", size=2)
    assert cluster.settle() == 0
    assert cluster.list_running() == {*first}
    for size in (6, 5) if larger else ():
        cluster.submit(f"second{size}", "proj-2", size=size)
        assert cluster.settle() == 0
    cluster.submit("second4", "proj-2", size=4)
    assert cluster.settle() == 1
    assert cluster.list_running() == {"first1", "first2", "second4"}
    cluster.submit("second3", "proj-2", size=3)
    assert cluster.settle() == 0
    assert _wait(cluster) == 0
    assert cluster.list_running() == {"first1", "first2", "second4"}
    assert cluster.evictions == {"first3": 2, "first4": 2}


def test_two_workloads_of_two_queues_do_not_evict_each_other_by_turns():
    """Kueue #14543: a victim of the own queue was spared in the end, though only without it the share was small
    enough to evict one of the other queue; that one struck back, and so on.
    """
    policy = {"within": "LowerOrNewerEqualPriority", "reclaim": "Any", "strategies": BOTH}
    cluster = ScriptedCluster(
        quota("all", fair=True),
        _queue("left", 10, "all", policy, fair=True),
        _queue("right", 10, "all", policy, fair=True),
    )
    cluster.submit("target", "right", 13)
    cluster.submit("own", "left", 6)
    assert cluster.settle() == 0
    cluster.submit("incoming", "left", 8, age=3600)
    assert cluster.settle() == 1
    assert _wait(cluster) == 0
    assert cluster.list_running() == {"incoming", "own"}
    assert cluster.evictions == {"target": 1, "own": 1}


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("strategies", [BOTH, [FINAL], [INITIAL]])
def test_who_leaves_first_does_not_come_back_before_who_waits_for_both(first: str, strategies: list[str]):
    """Kueue #13662, with the quotas of a test of its repair: the first of two victims to leave was admitted again
    while the second was still leaving, and was evicted again, then the second, by turns.
    """
    policy = {"reclaim": "Any", "strategies": strategies}
    cluster = ScriptedCluster(
        quota("all", fair=True),
        quota("cores", {"any": {"cpu": 10, "disk": 0}}, parent="all", fair=True, preemption=policy),
        quota("disks", {"any": {"cpu": 0, "disk": 10}}, parent="all", fair=True, preemption=policy),
        disk=100,
    )
    cluster.submit("a", "disks", priority=100)
    cluster.submit("b", "disks", priority=100)
    assert cluster.settle() == 0
    cluster.submit("both", "cores", 10, disk=10)
    cluster.run_round()
    assert cluster.evictions == {"a": 1, "b": 1}
    cluster.finish_evictions(first)
    cluster.run_round()
    assert cluster.list_running() == {"a", "b"} - {first}
    cluster.finish_evictions()
    assert cluster.settle() == 0
    assert _wait(cluster) == 0
    assert cluster.list_running() == {"both"}
    assert cluster.evictions == {"a": 1, "b": 1}


def test_nobody_comes_between_victims_that_leave_one_after_another():
    """Kueue #13662 without fair shares, with the quotas of another test of its repair: while the second of two victims
    was still leaving, the first, or another workload, took what had become free, and was evicted in turn.
    """
    own = {"within": "LowerPriority", "reclaim": "LowerPriority", "borrow": {"policy": "LowerPriority"}}
    cluster = ScriptedCluster(
        quota("all"),
        _queue("alpha", 2, "all", {**own, "reclaim": "Any"}),
        _queue("beta", 1, "all", own),
        _queue("gamma", 1, "all", own),
    )
    cluster.submit("a", "alpha", priority=MEDIUM)
    cluster.submit("b", "beta", 3, priority=MEDIUM)
    assert cluster.settle() == 0
    cluster.submit("c", "gamma", priority=LOW)
    assert cluster.settle() == 0
    cluster.submit("large", "alpha", 4, priority=1000)
    cluster.run_round()
    cluster.finish_evictions("b")
    cluster.run_round()
    assert cluster.list_running() == {"a"}
    cluster.finish_evictions("a")
    assert cluster.settle() == 0
    assert cluster.list_running() == {"large"}
    assert _wait(cluster) == 0
    assert cluster.evictions == {"a": 1, "b": 1}
