"""EASY backfill: whoever passes a task or a gang for which machines are reserved does not delay it.

An oracle of its own keeps the books of a random stream: who is on which machine, and until when at the latest. Before
and after each round it works out when there is room for what is reserved; nobody who comes may make that later, unless
it is more important.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job
from tests.support.core import Clock, machine, placed, scheduler, task_class, uids
from tests.support.effort import examples

OPTIONS = RoundOptions(
    reserve_after_rounds=2, reserve_for_rounds=1_000, reserve_after=0.0, reserve_for=2_000.0, preemption=False
)
CPU = 10
STEPS = 100


@dataclass
class Known:
    """A task as the oracle knows it."""

    cpu: int
    seconds: int
    number: int
    priority: int
    job: str = ""
    at: str = ""
    end: float = math.inf


@dataclass
class Reserved:
    """So much of each machine is to become free for a task (uid) or a gang (job)."""

    for_task: str
    for_job: str
    number: int
    priority: int
    room: dict[str, int]
    before: float


class Stream:
    """Tasks that come and go: many small ones, each of which says how long it runs at most, and a few large ones."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.clock = Clock()
        self.known: dict[str, Known] = {}
        self.made = 0
        self.names = [f"m{number}" for number in range(self.draw.randint(1, 4))]
        self.core = scheduler(
            [machine(name, cpu=CPU) for name in self.names], options=OPTIONS, clock=self.clock
        )
        self.passed = 0

    def submit(self, cpu: int, seconds: int, size: int = 1) -> list[Event]:
        """A task, or a gang of so many."""
        self.made += 1
        job = f"gang{self.made}" if size > 1 else ""
        names = uids(f"t{self.made}", size)
        content = task_class(cpu=cpu, run_seconds=seconds, runs_to_completion=bool(seconds))
        priority = 0 if cpu > 6 or size > 1 else self.draw.choice((0, 0, -1))
        for name in names:
            self.known[name] = Known(cpu, seconds, self.made, priority, job)
        jobs: list[Event] = [JobDefined(Job(job, min_members=size))] if job else []
        return [
            *jobs,
            ClassDefined(self.made, content),
            TasksSubmitted(self.made, names, priority=priority, job=job),
        ]

    def happen(self) -> list[Event]:
        """Let time pass, tasks end or be cancelled, and others come."""
        draw, events = self.draw, list[Event]()
        self.clock.advance(draw.choice((1, 3, 7)))
        for uid, each in list(self.known.items()):
            if each.end <= self.clock.now or draw.random() < 0.02:
                del self.known[uid]
                events.append(TaskRemoved(uid))
        for _ in range(draw.randint(0, 3)):
            events += self.submit(draw.randint(1, 6), draw.choice((0, 5, 20, 20, 60)))
        if draw.random() < 0.1:
            size = draw.choice((1, 1, 2, 3))
            events += self.submit(draw.randint(5, CPU) if size > 1 else draw.randint(7, CPU), 30, size)
        return events

    def find_start(self, room: dict[str, int]) -> float:
        """When all of the room is there if nobody else comes; infinity: that is not known."""
        starts = [self.clock.now]
        for name, cpu in room.items():
            there = sorted((each.end, each.cpu) for each in self.known.values() if each.at == name)
            free = CPU - sum(taken for _, taken in there)
            start = self.clock.now
            for end, taken in there:
                if free >= cpu:
                    break
                start, free = end, free + taken
            starts.append(start if free >= cpu else math.inf)
        return max(starts)

    def list_reserved(self) -> list[Reserved]:
        """What the round that is open keeps for whom."""
        reservations, found = self.core._requeue.reservations, list[Reserved]()
        for single in reservations.held:
            task = self.known[single.uid]
            room = {single.machine: task.cpu}
            found.append(Reserved(single.uid, "", task.number, task.priority, room, self.find_start(room)))
        for job, gang in reservations.gangs.held.items():
            cpu = next(each.cpu for each in self.known.values() if each.job == job)
            room = dict.fromkeys(gang.machines, 0)
            for part in gang.parts:
                room[part.machine] += part.units * cpu
            found.append(Reserved("", job, -1, 0, room, self.find_start(room)))
        return found

    def is_alike(self, uid: str, other: str) -> bool:
        """Whether two tasks are of one kind, so that either may have the room of the other."""
        one, two = self.known[uid], self.known.get(other)
        return two is not None and (one.cpu, one.seconds, one.job) == (two.cpu, two.seconds, "")

    def step(self) -> None:
        """Run a round, and look whom it has delayed."""
        self.core.apply(self.happen())
        opened = self.core.open_round()
        reserved = self.list_reserved()
        came = placed(self.core.close_round(opened, opened.solve()))
        now = self.clock.now
        for uid, at in came.items():
            task = self.known[uid]
            task.at, task.end = at, now + task.seconds if task.seconds else math.inf
        self.core.apply(
            [
                TasksBound(at, self.known[uid].number, (uid,), job=self.known[uid].job, assigned=(now,))
                for uid, at in came.items()
            ]
        )
        for each in reserved:
            if each.for_task in came or any(self.known[uid].job == each.for_job != "" for uid in came):
                continue
            if any(self.known[uid].priority > each.priority for uid in came):
                continue  # who is more important may take what is reserved
            others = [
                uid for uid, at in came.items() if at in each.room and not self.is_alike(uid, each.for_task)
            ]
            if others:
                self.passed += 1
                assert each.before < math.inf, (others, each)
                assert self.find_start(each.room) <= each.before, (others, each)


def run(seed: int, steps: int = STEPS) -> int:
    """How many rounds let somebody pass."""
    stream = Stream(seed)
    for _ in range(steps):
        stream.step()
    return stream.passed


def test_nobody_who_comes_delays_whom_machines_are_reserved_for():
    assert sum(run(seed) for seed in range(examples(100, least=5, slow=True))) > 10
