"""Tasks that end in time use machines that are reserved for others, which they never delay."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.scheduler import Scheduler
from tests.support.core import Clock, machine, placed, scheduler, task_class, tasks, uids
from tests.support.effort import examples

SOON = RoundOptions(
    reserve_after_rounds=3, reserve_for_rounds=10_000, reserve_after=0.0, reserve_for=100_000.0
)


def _ends(cpu: int, seconds: int):
    return task_class(cpu=cpu, runs_to_completion=True, run_seconds=seconds)


def _overtaken(clock: Clock, seconds: int = 100, size: int = 1) -> Scheduler:
    """A machine half full for ``seconds``, reserved for a task, or a gang, that needs all of it."""
    core = scheduler(
        machine("m", cpu=1_000),
        tasks(1, content=_ends(500, seconds)),
        tasks(2, content=task_class(cpu=1_000 // size)),
        tasks(3, content=_ends(500, 1)),
        JobDefined(Job("large", size=size, min_members=size)),
        options=SOON,
        clock=clock,
    )
    core.apply([TasksBound("m", 1, ("running",), assigned=(clock.now,))])
    core.apply([TasksSubmitted(2, uids("large", size), job="large")])
    for number in range(6):
        core.apply([TasksSubmitted(3, (f"small-{number}",))])
        core.run_round()
        core.apply([TaskRemoved(f"small-{number}")])
    return core


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(("seconds", "comes"), [(0, False), (60, True), (100, True), (101, False)])
def test_who_has_ended_in_time_may_use_a_reserved_machine(size: int, seconds: int, comes: bool):
    core = _overtaken(Clock(), size=size)
    core.apply(tasks(9, "other", content=_ends(500, seconds)))
    assert placed(core.run_round()) == ({"other": "m"} if comes else {})


def test_time_that_passes_leaves_less_of_it():
    clock = Clock()
    core = _overtaken(clock)
    clock.advance(50)
    core.apply([*tasks(8, "long", content=_ends(500, 60)), *tasks(9, "short", content=_ends(500, 40))])
    assert placed(core.run_round()) == {"short": "m"}


def test_nobody_comes_in_between_where_it_is_not_known_when_there_will_be_room():
    core = _overtaken(Clock(), seconds=0)
    core.apply(tasks(9, "other", content=_ends(500, 1)))
    assert placed(core.run_round()) == {}


MOST_PAUSE = 5
"""Seconds between two rounds at most."""


class _Stream:
    """Random tasks come and go, none later than it says; one that is large waits."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.clock = Clock()
        self.ends: dict[str, float] = {}
        self.numbers: dict[tuple[int, int], int] = {}
        self.class_of = {"head": 1}
        self.count = 0
        machines = [machine(f"m{number}", cpu=10) for number in range(self.draw.randint(1, 3))]
        self.core = scheduler(machines, options=replace(SOON, reserve_after_rounds=2), clock=self.clock)

    def submit(self) -> list[Event]:
        self.count += 1
        cpu, seconds = self.draw.randint(1, 6), self.draw.choice([5, 20, 20, 60])
        number = self.numbers.setdefault((cpu, seconds), len(self.numbers) + 10)
        uid = f"t{self.count}-{seconds}"
        self.class_of[uid] = number
        return [ClassDefined(number, _ends(cpu, seconds)), TasksSubmitted(number, (uid,))]

    def step(self) -> dict[str, str]:
        """Let time pass, tasks end and others come, and run a round."""
        self.clock.advance(self.draw.randint(1, MOST_PAUSE))
        for uid, end in list(self.ends.items()):
            if end <= self.clock.now or self.draw.random() < 0.05:
                del self.ends[uid]
                self.core.apply([TaskRemoved(uid)])
        for _ in range(self.draw.randint(0, 3)):
            self.core.apply(self.submit())
        came = placed(self.core.run_round())
        self.ends.update({uid: self.clock.now + int(uid.partition("-")[2]) for uid in came if uid != "head"})
        self.core.apply(
            [
                TasksBound(at, self.class_of[uid], (uid,), assigned=(self.clock.now,))
                for uid, at in came.items()
            ]
        )
        return came

    @property
    def promised(self) -> dict[str, float]:
        """By when there is to be room for those who have a reservation."""
        return {held.uid: held.starts for held in self.core._requeue.reservations.held}


@pytest.mark.parametrize("part", range(2))
def test_what_a_large_task_was_promised_is_kept(part: int):
    reserved = 0
    for seed in range(part, examples(40, least=8), 2):
        reserved += _run(seed)
    assert reserved


def _run(seed: int) -> int:
    """Return how many had a reservation; what they are promised never grows, and is kept."""
    stream, promised, kept = _Stream(seed), dict[str, float](), 0
    for _ in range(5):
        stream.step()
    stream.core.apply(tasks(1, "head", content=_ends(10, 0)))
    for _ in range(150):
        came = stream.step()
        for uid, starts in stream.promised.items():
            assert starts <= max(promised.get(uid, starts), stream.clock.now), (seed, uid)
            promised[uid] = min(starts, promised.get(uid, starts))
        for uid in came.keys() & promised.keys():
            assert stream.clock.now <= promised.pop(uid) + MOST_PAUSE, (seed, uid)
            kept += 1
        if "head" in came:
            return kept
    raise AssertionError(f"{seed}: it starves")
