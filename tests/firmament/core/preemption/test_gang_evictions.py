"""Gangs that evict, and are evicted, over random events: never half a gang, no stolen place, nobody evicted in vain."""

from __future__ import annotations

import random

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    JobDefined,
    MachineUpserted,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.model import Job, TaskClass
from firmament.core.model import Machine as MachineSpec
from firmament.core.results import DeltaKind, RoundResult
from tests.support.effort import examples
from tests.support.histories.pair import make_scheduler

CAPACITY = {"m0": 6, "m1": 6, "m2": 4}
OPTIONS = RoundOptions(reserve_after_rounds=10**9, gang_seconds=10.0**9)


class World:
    """What the driver of a cluster knows: who is what, who has been told to go, and who waits for whom."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 1000.0
        self.core = make_scheduler(clock=lambda: self.now, options=OPTIONS)
        self.core.apply([ClassDefined(size, TaskClass(requests=(("cpu", size),))) for size in (1, 2, 3)])
        for name, cpu in CAPACITY.items():
            self.core.apply([MachineUpserted(MachineSpec(name, {"cpu": cpu, "pods": 100}))])
        self.size: dict[str, int] = {}
        self.priority: dict[str, int] = {}
        self.job: dict[str, str] = {}
        self.need: dict[str, int] = {}
        self.leaving: set[str] = set()
        self.counts_on: dict[str, frozenset[str]] = {}
        self.hurt: set[str] = set()
        self.submitted = 0
        self.evicted = self.together = self.stayed = 0

    # --- what happens ----------------------------------------------------------------------------------------

    def submit(self) -> None:
        """One task, or a gang, sometimes with members beyond its need."""
        number = self.submitted
        members = self.random.choice((1, 1, 2, 3, 4))
        job = f"g{number}" if members > 1 else ""
        size, priority = self.random.randint(1, 3), self.random.choice((0, 0, 1, 2, 3))
        uids = tuple(f"t{number + index:03}" for index in range(members))
        self.submitted += members
        if job:
            self.need[job] = max(2, members - self.random.choice((0, 0, 1)))
            self.core.apply([JobDefined(Job(job, min_members=self.need[job]))])
        self.core.apply([TasksSubmitted(size, uids, job=job, priority=priority)])
        for uid in uids:
            self.size[uid], self.priority[uid], self.job[uid] = size, priority, job

    def bind(self, where: dict[str, tuple[str, str]]) -> None:
        """Everybody who waits for nobody is bound."""
        for uid, (state, machine) in where.items():
            met = all(other not in where or self.bound(where, other) for other in self.counts_on.get(uid, ()))
            if state == "ASSUMED" and met:
                self.core.report([BindingReport(uid, machine, bound=True)])

    def bound(self, where: dict[str, tuple[str, str]], uid: str) -> bool:
        return where[uid][0] == "BOUND" and uid not in self.leaving

    def remove(self, uid: str, *, hurts: bool) -> None:
        self.core.apply([TaskRemoved(uid)])
        self.leaving.discard(uid)
        if hurts:
            self.hurt.add(self.job[uid])
        for known in (self.size, self.priority, self.counts_on):
            known.pop(uid, None)

    def stay(self, uid: str, machine: str) -> None:
        """Somebody who was told to go does not. Members of gangs decided in other rounds are not concerned."""
        waits = {other for other, on in self.counts_on.items() if uid in on}
        waits |= {other for other, on in self.counts_on.items() if on & waits}
        for other, (state, _) in self.where().items():
            if state != "PENDING" and other not in waits:
                self.hurt.update({self.job[other]} & {self.job[each] for each in waits} - {""})
        self.core.report([BindingReport(uid, machine, bound=False, reason="no")])
        self.leaving.discard(uid)
        self.stayed += 1

    def happen(self) -> None:
        where = self.where()
        leaving = sorted(self.leaving)
        match self.random.randrange(8):
            case 0 | 1 | 2:
                self.submit()
            case 3 | 4:
                self.bind(where)
            case 5 if leaving:
                self.remove(self.random.choice(leaving), hurts=False)
            case 6 if leaving:
                uid = self.random.choice(leaving)
                self.hurt.update({self.job[uid]} - {""})  # it may be half gone by now
                self.stay(uid, where[uid][1])
            case 7 if self.size:
                self.remove(self.random.choice(sorted(self.size)), hurts=True)
            case _:
                self.now += 2.0

    # --- rounds ----------------------------------------------------------------------------------------------

    def round(self) -> None:
        before = self.where()
        result = self.core.run_round()
        self.judge_victims(before, result)
        for delta in result.deltas:
            if delta.kind is DeltaKind.PLACE:
                self.counts_on[delta.uid] = frozenset(delta.depends_on)
            elif not delta.withdrawn:
                self.leaving.add(delta.uid)
        self.judge()

    def judge_victims(self, before: dict[str, tuple[str, str]], result: RoundResult) -> None:
        placed = [delta for delta in result.deltas if delta.kind is DeltaKind.PLACE]
        victims = [delta for delta in result.deltas if delta.kind is DeltaKind.PREEMPT]
        for delta in victims:
            if delta.withdrawn:
                assert delta.uid in self.leaving
                continue
            assert before[delta.uid] == ("BOUND", delta.machine)
            assert delta.uid not in self.leaving, "told to go twice"
            served = [self.priority[each.uid] for each in placed if delta.uid in each.depends_on]
            assert served, "evicted for nobody"
            assert max(served) > self.priority[delta.uid], "evicted for nobody more important"
        told = {delta.uid for delta in victims if not delta.withdrawn}
        self.evicted += len(told)
        for job in {self.job[uid] for uid in told} - {""}:
            staying = sum(
                self.job[uid] == job and state != "PENDING" and uid not in self.leaving | told
                for uid, (state, _) in self.where().items()
            )
            assert staying == 0 or staying >= self.need[job], f"half of {job} was evicted"
            self.together += staying == 0

    def judge(self) -> None:
        """No machine is too full once those who were told to go are gone; no gang has half of what it needs."""
        where = self.where()
        for name, cpu in CAPACITY.items():
            there = [uid for uid, (_, machine) in where.items() if machine == name]
            assert sum(self.size[uid] for uid in there if uid not in self.leaving) <= cpu, (
                "a place was stolen"
            )
            present = [
                uid
                for uid in there
                if where[uid][0] == "BOUND" or not self.counts_on.get(uid, frozenset()) & self.leaving
            ]
            assert sum(self.size[uid] for uid in present) <= cpu or any(
                self.counts_on.get(uid) for uid in present
            ), "overcommitted"
        for job, need in self.need.items():
            running = sum(
                self.job[uid] == job and state in ("ASSUMED", "BOUND") and uid not in self.leaving
                for uid, (state, _) in where.items()
            )
            bound = sum(self.job[uid] == job and self.bound(where, uid) for uid in where)
            if running == 0 or bound >= need:
                self.hurt.discard(job)
            assert job in self.hurt or running == 0 or running >= need, f"half of {job}"

    def where(self) -> dict[str, tuple[str, str]]:
        return {state.uid: (state.state, state.machine) for state in self.core.task_states()}


def play(seed: int) -> World:
    world = World(seed)
    for _ in range(40):
        world.happen()
        if world.random.random() < 0.7:
            world.round()
    return world


@pytest.mark.parametrize("part", range(examples(4, least=1)))
def test_no_gang_is_halved_whatever_happens_around_evictions(part: int):
    worlds = [play(10 * seed + part) for seed in range(20)]
    assert sum(world.evicted for world in worlds) > 100
    assert sum(world.together for world in worlds) > 10
    assert sum(world.stayed for world in worlds) > 10
