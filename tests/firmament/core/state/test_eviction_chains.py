"""The evictions of late: they never form a circle, so a sequence of them is finite, and they are forgotten in time."""

from __future__ import annotations

import random

from firmament.core.events import ClassDefined, JobDefined, TaskRemoved, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.state.cluster import Cluster
from firmament.core.state.eviction_chains import MEMORY, EvictionChains
from tests.support.core import task_class
from tests.support.effort import examples

COUNT = 6


def _cluster() -> Cluster:
    """A cluster with some tasks; the last two are a gang."""
    cluster = Cluster()
    uids = tuple(f"t{number}" for number in range(COUNT - 2))
    apply_events(
        cluster,
        [
            ClassDefined(1, task_class(1)),
            JobDefined(Job("owner")),
            JobDefined(Job("gang", size=2, min_members=2)),
            TasksSubmitted(1, uids, job="owner"),
            TasksSubmitted(1, ("g1", "g2"), job="gang"),
        ],
        0.0,
    )
    return cluster


def test_however_tasks_evict_each_other_in_the_end_none_may():
    """Any waiting task evicts any that has a place, unless that is an origin: no longer than 2^n evictions."""
    for seed in range(examples(100)):
        draw, cluster, chains = random.Random(seed), _cluster(), EvictionChains()
        rows = list(range(COUNT - 1))  # of the gang, one stands for both
        placed = set(draw.sample(rows, 3))
        for _ in range(2 ** len(rows)):
            able = [
                (comes, goes)
                for comes in rows
                if comes not in placed
                for goes in sorted(placed)
                if chains.find_workload(cluster, goes)
                not in chains.find_origins(cluster, chains.find_workload(cluster, comes))
            ]
            if not able:
                break
            comes, goes = draw.choice(able)
            chains.note(cluster, comes, [goes], 0.0)
            placed = (placed - {goes}) | {comes}
        else:
            raise AssertionError(seed)


def test_the_origins_of_a_task_are_all_from_which_evictions_led_to_it():
    cluster, chains = _cluster(), EvictionChains()
    for comes, goes in ((0, 1), (1, 2), (3, 2), (4, 0)):
        chains.note(cluster, comes, [goes], 0.0)
    origins = chains.find_origins(cluster, ("", "t2"))
    assert origins == {("", "t0"), ("", "t1"), ("", "t3"), ("gang", "")}
    assert chains.find_origins(cluster, ("gang", "")) == set()
    apply_events(cluster, [TaskRemoved("t1")], 0.0)  # evicted: may come again
    assert chains.find_origins(cluster, ("", "t2")) == origins
    apply_events(cluster, [TaskRemoved("t3")], 0.0)  # has ended
    assert chains.find_origins(cluster, ("", "t2")) == origins - {("", "t3")}


def test_a_task_that_its_owner_creates_again_counts_as_the_same():
    cluster, chains = _cluster(), EvictionChains()
    chains.note(cluster, 0, [1], 10.0)
    apply_events(cluster, [TaskRemoved("t1"), TasksSubmitted(1, ("again", "more"), job="owner")], 11.0)
    chains.find_successors(cluster)
    again, more = (cluster.tasks.row_of[uid] for uid in ("again", "more"))
    assert chains.find_origins(cluster, chains.find_workload(cluster, again)) == {("", "t0")}
    assert chains.find_origins(cluster, chains.find_workload(cluster, more)) == set()
    assert chains.list_tasks(cluster, ("", "t1")) == [again]


def test_evictions_that_did_not_happen_do_not_count():
    cluster, chains = _cluster(), EvictionChains()
    chains.note(cluster, 0, [1], 0.0)
    chains.note(cluster, 2, [1], 5.0)
    chains.take_back(cluster, 1)
    assert chains.find_origins(cluster, ("", "t1")) == {("", "t0")}


def test_evictions_are_forgotten_in_time_and_those_who_wait_for_that_are_named():
    cluster, chains = _cluster(), EvictionChains()
    chains.note(cluster, 0, [1], 0.0)
    chains.note(cluster, 2, [3], 5.0)
    assert chains.next_in(0.0) == MEMORY
    assert chains.expire(cluster, MEMORY - 1) == []
    assert chains.expire(cluster, MEMORY) == [1, 3]
    assert chains.next_in(MEMORY) == 5.0
    assert chains.find_origins(cluster, ("", "t3"))
    chains.expire(cluster, MEMORY + 5)
    assert not chains.any
    assert chains.next_in(MEMORY + 5) is None
