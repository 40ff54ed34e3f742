"""Models' limits hold whatever happens while a round is solved, counted from events and decisions alone."""

from __future__ import annotations

import random

from hypothesis import given, settings

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine, TaskClass
from tests.property.holding import CLOSED, HOLDS, RACK, SEATED, SEATS, WEIGHT, Holding
from tests.property.ledger import ASSUMED, BOUND, PENDING, Ledger
from tests.property.pair import make_scheduler
from tests.property.problems import SEEDS

PROPERTY = settings.get_profile("property")
PER_RACK = {"r0": 6, "r1": 9}
MACHINES = ("m0", "m1", "m2", "m3", "m4")
CLASSES = {
    1: TaskClass((("cpu", 1),)),
    2: TaskClass((("cpu", 1),), labels=((WEIGHT, "1"),)),
    3: TaskClass((("cpu", 1),), labels=((SEATED, "1"),)),
    4: TaskClass((("cpu", 2),), labels=((SEATED, "1"), (WEIGHT, "2"))),
}
OPTIONS = RoundOptions(reserve_after_rounds=10**9)


class World:
    """A scheduler and a ledger, driven by one random source."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ledger = Ledger(PER_RACK, bounded=True)
        self.core = make_scheduler(overlays=[Holding(PER_RACK)], options=OPTIONS)
        self.number = 0
        self.apply(*(ClassDefined(number, content) for number, content in CLASSES.items()))
        self.apply(*(self.machine(name) for name in MACHINES))
        self.apply(JobDefined(Job("gang", min_members=3)))

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
        else:
            self.apply(MachineRemoved(draw.choice(MACHINES)))

    def round(self) -> None:
        opened = self.core.open_round()
        placement = opened.solve()
        for _ in range(self.random.randint(0, 3)):
            self.happen()
        self.ledger.close(self.core.close_round(opened, placement).deltas)
        self.core.report(
            [BindingReport(uid, self.ledger.tasks[uid].machine, bound=True) for uid in self.bindable()]
        )
        for uid in self.bindable():
            self.ledger.report(BindingReport(uid, self.ledger.tasks[uid].machine, bound=True))
        gone = [uid for uid in self.ledger.uids(BOUND) if self.random.random() < 0.4]
        self.apply(*(TaskRemoved(uid) for uid in gone))

    def bindable(self) -> list[str]:
        return [uid for uid in self.ledger.uids(ASSUMED) if not self.ledger.tasks[uid].awaits]


@settings(PROPERTY, max_examples=150)
@given(seed=SEEDS)
def test_limits_hold_whatever_happens_while_a_round_is_solved(seed: int):
    world = World(seed)
    for _ in range(6):
        for _ in range(world.random.randint(1, 3)):
            world.happen()
        world.round()
