"""Room, limits of models and gangs hold whatever happens, also while rounds are solved, by events and deltas alone.

Bindings fail, victims stay, gangs change, and schedulers are replaced by others that know nothing.
"""

from __future__ import annotations

import random

from hypothesis import given, settings

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import HostPort, Job, Machine, TaskClass
from firmament.core.scheduler import Scheduler
from tests.support.effort import examples
from tests.support.histories.holding import CLOSED, HOLDS, RACK, SEATED, SEATS, WEIGHT, Holding
from tests.support.histories.ledger import ASSUMED, BOUND, PENDING, Ledger
from tests.support.histories.pair import make_scheduler
from tests.support.histories.problems import SEEDS

PER_RACK = {"r0": 6, "r1": 9}
MACHINES = ("m0", "m1", "m2", "m3", "m4")
CLASSES = {
    1: TaskClass((("cpu", 1),)),
    2: TaskClass((("cpu", 1),), labels=((WEIGHT, "1"),)),
    3: TaskClass((("cpu", 1),), labels=((SEATED, "1"),)),
    4: TaskClass((("cpu", 2),), labels=((SEATED, "1"), (WEIGHT, "2"))),
    5: TaskClass((("cpu", 1),), ports=(HostPort(80),)),
}
OPTIONS = RoundOptions(reserve_after_rounds=10**9, gang_seconds=30.0)


class World:
    """A scheduler and a ledger, driven by one random source."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ledger = Ledger(PER_RACK, bounded=True)
        self.now = 1000.0
        self.core = self.new_core()
        self.number = 0
        self.apply(*(ClassDefined(number, content) for number, content in CLASSES.items()))
        self.apply(*(self.machine(name) for name in MACHINES))
        self.apply(JobDefined(Job("gang", min_members=3)))

    def new_core(self) -> Scheduler:
        return make_scheduler(clock=lambda: self.now, overlays=[Holding(PER_RACK)], options=OPTIONS)

    def apply(self, *events: Event) -> None:
        self.core.apply(events)
        self.ledger.apply(events)

    def machine(self, name: str) -> MachineUpserted:
        draw = self.random
        labels = {RACK: draw.choice(("r0", "r1", "r2"))}
        if draw.random() < 0.5:
            labels[HOLDS] = str(draw.randint(0, 5))
        if draw.random() < 0.5:
            labels[SEATS] = str(draw.randint(0, 3))
        if draw.random() < 0.1:
            labels[CLOSED] = "yes"
        return MachineUpserted(Machine(name, {"cpu": draw.randint(3, 9), "pods": 20}, labels=labels))

    def uids(self) -> tuple[str, ...]:
        first, self.number = self.number, self.number + self.random.randint(1, 4)
        return tuple(f"t{number}" for number in range(first, self.number))

    def happen(self) -> None:
        draw, pick = self.random, self.random.random()
        cls, priority = draw.choice(sorted(CLASSES)), draw.choice((0, 0, 1))
        if pick < 0.35:
            self.apply(TasksSubmitted(cls, self.uids(), job=draw.choice(("", "gang")), priority=priority))
        elif pick < 0.65:
            waiting = self.ledger.uids(PENDING)
            taken = tuple(waiting[:1]) if waiting and draw.random() < 0.3 else self.uids()
            self.apply(TasksBound(draw.choice(MACHINES), cls, taken, priority=priority))
        elif pick < 0.85:
            self.apply(self.machine(draw.choice(MACHINES)))
        elif pick < 0.92:
            self.apply(MachineRemoved(draw.choice(MACHINES)))
        elif pick < 0.97:
            self.apply(JobDefined(Job("gang", min_members=draw.randint(0, 4))))
        else:
            self.apply(JobRemoved("gang"))

    def round(self) -> None:
        opened = self.core.open_round()
        self.see_releases()
        placement = opened.solve()
        for _ in range(self.random.randint(0, 3)):
            self.happen()
        result = self.core.close_round(opened, placement)
        self.see_releases()
        self.ledger.close(result.deltas)
        self.compare()

    def outcomes(self) -> None:
        """Most bindings succeed, most victims go, some tasks end."""
        draw, tasks = self.random, self.ledger.tasks
        for uid in self.ledger.uids(ASSUMED):
            waits = any(other in tasks and tasks[other].leaving for other in tasks[uid].awaits)
            if uid in tasks and draw.random() < 0.7 and not waits and tasks[uid].state == ASSUMED:
                good = draw.random() < 0.8
                self.tell(
                    BindingReport(uid, tasks[uid].machine, bound=good, retry=good or draw.random() < 0.8)
                )
        for uid in self.ledger.uids(BOUND):
            if tasks[uid].leaving and draw.random() < 0.3:
                self.tell(BindingReport(uid, tasks[uid].machine, bound=False))
            elif draw.random() < (0.6 if tasks[uid].leaving else 0.3):
                self.apply(TaskRemoved(uid))
        self.now += draw.choice((0.0, 1.0, 5.0, 70.0))
        if draw.random() < 0.05:
            self.core = self.new_core()
            self.core.apply(self.ledger.restart())
        self.compare()

    def tell(self, report: BindingReport) -> None:
        self.ledger.report(report)
        self.core.report([report])
        self.see_releases()

    def see_releases(self) -> None:
        for state in self.core.task_states():
            if not state.machine and self.ledger.tasks[state.uid].state == ASSUMED:
                self.ledger.released(state.uid)

    def compare(self) -> None:
        told = {
            each.uid: (each.state.replace("BACKOFF", PENDING), each.machine)
            for each in self.core.task_states()
        }
        assert told == {uid: (task.state, task.machine) for uid, task in self.ledger.tasks.items()}
        for machine in self.core.machine_states():
            assert machine.free["cpu"] == self.ledger.free(machine.name, "cpu"), "miscounted"


def play(world: World) -> None:
    for _ in range(7):
        for _ in range(world.random.randint(1, 3)):
            world.happen()
        world.round()
        world.outcomes()


@settings(max_examples=examples(150, slow=True))
@given(seed=SEEDS)
def test_nothing_is_overfull_halved_or_lost(seed: int):
    play(World(seed))


@settings(max_examples=examples(20, 4, slow=True))
@given(seed=SEEDS)
def test_equal_histories_end_alike(seed: int):
    first, second = World(seed), World(seed)
    play(first)
    play(second)
    assert list(first.core.task_states()) == list(second.core.task_states())
