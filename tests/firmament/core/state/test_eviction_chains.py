"""The evictions of late: they never form a circle, so a sequence of them is finite, and they are forgotten in time."""

from __future__ import annotations

import random

import pytest

from firmament.core.events import ClassDefined, JobDefined, RecordUpserted, TaskRemoved, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.state.cluster import Cluster
from firmament.core.state.eviction_chains import LONGEST, MEMORY, EvictionChains, Workload
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


class _Adversary:
    """Lets any waiting task evict any that has a place, as often as that is allowed.

    Tasks arrive and end, quotas change, and time passes; who is evicted comes again, often with another uid.
    """

    def __init__(self, seed: int) -> None:
        self.draw, self.cluster, self.chains = random.Random(seed), Cluster(), EvictionChains()
        self.placed, self.waiting = list[str](), list[str]()
        self.number, self.now = 0, 0.0
        apply_events(self.cluster, [ClassDefined(1, task_class(1)), JobDefined(Job("owner"))], 0.0)

    def step(self) -> int:
        """Let one thing happen; return how many evictions follow, raise ``AssertionError`` if they do not end."""
        draw, chance = self.draw, self.draw.random()
        self.now += draw.choice((0, 10, 60, 700))
        present = [*self.placed, *self.waiting]
        if chance < 0.1:
            apply_events(self.cluster, [RecordUpserted(QUOTA_RECORD, "queue", b"{}")], self.now)
        elif (chance < 0.4 or len(present) >= COUNT) and present:
            self._end(draw.choice(present))
        else:
            self._come()
        self.chains.expire(self.cluster, self.now)
        if self.waiting and (not self.placed or draw.random() < 0.5):
            self.placed.append(self.waiting.pop())
        for evictions in range(2**COUNT):
            able = self._list_able()
            if not able:
                return evictions
            self._evict(*draw.choice(able))
        raise AssertionError("they evict each other without end")

    def _find_workload(self, uid: str) -> Workload:
        return self.chains.find_workload(self.cluster, self.cluster.tasks.row_of[uid])

    def _list_able(self) -> list[tuple[str, str]]:
        found = []
        for comes in self.waiting:
            origins = self.chains.find_origins(self.cluster, self._find_workload(comes))
            found += [(comes, goes) for goes in self.placed if self._find_workload(goes) not in origins]
        return found

    def _evict(self, comes: str, goes: str) -> None:
        rows = self.cluster.tasks.row_of
        self.chains.note(self.cluster, rows[comes], [rows[goes]], self.now)
        self.waiting.remove(comes)
        self.placed.append(comes)
        self._end(goes)
        self._come(goes if self.draw.random() < 0.5 else "")
        self.chains.record_successors(self.cluster)

    def _end(self, uid: str) -> None:
        (self.placed if uid in self.placed else self.waiting).remove(uid)
        apply_events(self.cluster, [TaskRemoved(uid)], self.now)

    def _come(self, uid: str = "") -> None:
        self.number += 1
        uid = uid or f"t{self.number}"
        self.waiting.append(uid)
        apply_events(self.cluster, [TasksSubmitted(1, (uid,), job="owner")], self.now)


def test_whatever_happens_and_whoever_may_evict_whom_evictions_end():
    evictions = 0
    for seed in range(examples(100)):
        adversary = _Adversary(seed)
        evictions += sum(adversary.step() for _ in range(20))
    assert evictions > 300


@pytest.mark.full
def test_evictions_end_after_each_of_fifty_thousand_steps():
    for seed in range(1_000, 1_500):
        adversary = _Adversary(seed)
        for _ in range(100):
            adversary.step()


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
    chains.record_successors(cluster)
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


def test_an_eviction_that_is_made_again_is_remembered_for_twice_as_long_until_quotas_change():
    cluster, chains, now = _cluster(), EvictionChains(), 0.0
    for turn in range(10):
        chains.note(cluster, 0, [1], now)
        memory = min(MEMORY * 2**turn, LONGEST)
        assert chains.next_in(now) == memory
        now += memory
        chains.expire(cluster, now)
        assert not chains.any
    apply_events(cluster, [RecordUpserted(QUOTA_RECORD, "queue", b"{}")], now)
    chains.note(cluster, 0, [1], now)
    assert chains.next_in(now) == MEMORY


def test_tasks_of_a_gang_that_go_together_count_once():
    cluster, chains = _cluster(), EvictionChains()
    first, second = cluster.jobs.members("gang")
    chains.note(cluster, 0, [first, second], 0.0)
    assert chains.next_in(0.0) == MEMORY
