"""Gangs over random events: decided all or nothing, nothing left behind, no place lost, everything told once."""

from __future__ import annotations

import random

import pytest

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
from firmament.core.model import Job, Machine, Requirement, SpreadRule, TaskClass, TaskSelector, TaskTerm
from firmament.core.scheduler import Scheduler
from tests.support.effort import examples
from tests.support.histories.gang_book import Book
from tests.support.histories.pair import make_scheduler

MACHINES = ("m0", "m1", "m2", "m3")
JOBS = ("a", "b", "c", "")
SIZES = {1: 1, 2: 1, 3: 2, 4: 3}
QUIET = RoundOptions(reserve_after_rounds=10**9, preemption=False, gang_seconds=30.0)
EVICTING = RoundOptions(reserve_after_rounds=10**9, gang_seconds=30.0)
SELECTOR = TaskSelector(labels=(Requirement("app", "In", ("x",)),))


class World:
    """A scheduler and the book of it, driven by one random source."""

    def __init__(
        self, seed: int, options: RoundOptions, *, rules: bool = False, sizes: dict | None = None
    ) -> None:
        self.random = random.Random(seed)
        self.now = 1000.0
        self.book = Book(sizes or SIZES)
        self.core: Scheduler = make_scheduler(clock=lambda: self.now, options=options)
        self.answers: list[object] = []
        for number, size in self.book.sizes.items():
            content = TaskClass(requests=(("cpu", size),), labels=(("app", "x"),) if number % 2 else ())
            if rules and number == 1:
                content = TaskClass(
                    content.requests,
                    labels=content.labels,
                    spread=(SpreadRule("host", SELECTOR, 1, required=True),),
                )
            if rules and number == 3:
                content = TaskClass(content.requests, anti_affinity=(TaskTerm("host", SELECTOR),))
            self.core.apply([ClassDefined(number, content)])
        self.apply(*(self._machine(name) for name in MACHINES))

    def _machine(self, name: str) -> Event:
        cpu = self.random.randint(1, 7)
        return MachineUpserted(Machine(name, {"cpu": cpu, "pods": 100}, labels={"host": name}))

    def _uids(self) -> tuple[str, ...]:
        first = self.random.randrange(18)
        return tuple(f"t{number:02}" for number in range(first, first + self.random.randint(1, 5)))

    def event(self) -> Event:  # noqa: PLR0911 - one return per kind of event
        pick = self.random.random()
        job, cls = self.random.choice(JOBS), self.random.randint(1, 4)
        priority = self.random.choice((0, 0, 0, 1, 2))
        if pick < 0.40:
            return TasksSubmitted(cls, self._uids(), job=job, priority=priority)
        if pick < 0.55 and job:
            return JobDefined(Job(job, min_members=self.random.randint(0, 5)))
        if pick < 0.60 and job:
            return JobRemoved(job)
        if pick < 0.78:
            return TaskRemoved(self.random.choice(self._uids()))
        if pick < 0.84:
            return TasksBound(self.random.choice(MACHINES), cls, self._uids()[:2], job=job, priority=priority)
        if pick < 0.90:
            return MachineRemoved(self.random.choice(MACHINES))
        return self._machine(self.random.choice(MACHINES))

    def apply(self, *events: Event) -> None:
        self.core.apply(list(events))
        for event in events:
            self.book.apply(event)

    def happen(self) -> None:
        pick = self.random.random()
        assumed = sorted(uid for uid, task in self.book.tasks.items() if task.state == "ASSUMED")
        if pick < 0.6:
            self.apply(*(self.event() for _ in range(self.random.randint(1, 4))))
        elif pick < 0.9 and assumed:
            for uid in self.random.sample(assumed, self.random.randint(1, len(assumed))):
                bound, retry = self.random.random() < 0.6, self.random.random() < 0.8
                report = BindingReport(uid, self.book.tasks[uid].machine, bound=bound, retry=retry)
                self.core.report([report])
                self.book.report(report, self.now)
        else:
            self.now += self.random.choice((0.5, 1.0, 4.0, 31.0, 61.0))
        self.compare()

    def round(self, meanwhile: int = 0) -> frozenset[str]:
        opened_at = self.now
        opened = self.core.open_round()
        self.book.forget()
        self.follow_releases()
        placement = opened.solve()
        for _ in range(meanwhile):
            self.apply(*(self.event() for _ in range(self.random.randint(1, 3))))
        result = self.core.close_round(opened, placement)
        fresh = frozenset(self.book.close(result, opened_at))
        self.follow_releases()
        self.answers.append((result.deltas, result.unscheduled, result.gangs))
        self.compare()
        return fresh

    def follow_releases(self) -> None:
        """Tell the book which places the scheduler has given up by itself; the book judges whether it may."""
        for state in self.core.task_states():
            if not state.machine and self.book.tasks[state.uid].state == "ASSUMED":
                self.book.release(state.uid, self.now)

    def settle(self) -> None:
        for _ in range(3 * len(self.book.tasks) + 5):
            if self.core.next_round_in() != 0:
                return
            self.round()
        pytest.fail("rounds go on without end")

    def compare(self) -> None:
        states = {
            state.uid: (state.state.replace("BACKOFF", "PENDING"), state.machine)
            for state in self.core.task_states()
        }
        assert states == {uid: (task.state, task.machine) for uid, task in self.book.tasks.items()}


def play(world: World, rounds: int = 8) -> None:
    for _ in range(rounds):
        for _ in range(world.random.randint(1, 3)):
            world.happen()
        world.round(meanwhile=world.random.choice((0, 0, 1, 2)))


@pytest.mark.parametrize("seed", range(examples(60)))
def test_no_gang_is_ever_decided_partly_and_nothing_is_left_behind(seed: int):
    world = World(seed, QUIET)
    play(world)
    world.settle()
    assert world.book.left_behind(world.now) == []
    for job, told in world.book.told.items():
        members = sum(task.job == job for task in world.book.tasks.values())
        if world.book.is_gang(job) and members:
            truth = (members, world.book.running(job), world.book.needs[job])
            assert (told.members, told.running, told.needed) == truth


@pytest.mark.parametrize("seed", range(examples(30)))
def test_no_gang_is_decided_partly_where_rules_bind_tasks(seed: int):
    world = World(1000 + seed, QUIET, rules=True)
    play(world)
    world.settle()


@pytest.mark.parametrize("seed", range(examples(30)))
def test_no_gang_is_decided_partly_where_tasks_are_evicted(seed: int):
    world = World(1500 + seed, EVICTING)
    play(world)


@pytest.mark.parametrize("seed", range(examples(40)))
def test_more_important_gangs_and_tasks_go_first(seed: int):
    world = World(2000 + seed, QUIET, sizes={1: 1, 2: 1, 3: 1, 4: 1})
    for _ in range(8):
        for _ in range(world.random.randint(1, 3)):
            world.happen()
        fresh = world.round()
        assert world.book.left_behind(world.now, fresh, above=True) == []


@pytest.mark.parametrize("seed", range(10))
def test_equal_histories_get_equal_answers(seed: int):
    first, second = World(3000 + seed, QUIET), World(3000 + seed, QUIET)
    play(first)
    play(second)
    assert first.answers == second.answers


@pytest.mark.parametrize("seed", range(examples(20)))
def test_nothing_goes_on_while_nothing_happens(seed: int):
    world = World(4000 + seed, QUIET)
    play(world)
    for uid, task in world.book.tasks.items():
        if task.state == "ASSUMED":
            report = BindingReport(uid, task.machine, bound=True)
            world.core.report([report])
            world.book.report(report, world.now)
    world.settle()
    rounds = 0
    while (wait := world.core.next_round_in()) is not None:
        assert wait > 0
        world.now += wait
        world.settle()
        for uid, task in list(world.book.tasks.items()):
            if task.leaving:
                world.apply(TaskRemoved(uid))
            elif task.state == "ASSUMED":
                report = BindingReport(uid, task.machine, bound=True)
                world.core.report([report])
                world.book.report(report, world.now)
        world.settle()
        rounds += 1
        assert rounds < 50, "requeues up again and again"
