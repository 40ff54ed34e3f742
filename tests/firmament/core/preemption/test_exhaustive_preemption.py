"""Preemption against an exhaustive search over all sets of victims on small clusters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import BindingReport, ClassDefined, Event, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.results import DeltaKind
from tests.oracle.cluster import ASSUMED, BOUND
from tests.support.core import machine, scheduler, task_class
from tests.support.effort import examples
from tests.support.histories.pair import Pair


@dataclass(frozen=True)
class Task:
    """What it asks for (cpu, memory), its priority, and its machine if it runs."""

    uid: str
    size: tuple[int, int]
    priority: int
    machine: str = ""


@dataclass(frozen=True)
class Case:
    """Machines of (cpu, memory), tasks that run, and tasks that wait, all of one priority."""

    machines: dict[str, tuple[int, int]]
    running: tuple[Task, ...]
    waiting: tuple[Task, ...]

    def events(self) -> list[Event]:
        """The same as events."""
        found: list[Event] = [
            machine(name, cpu=cpu, memory=memory) for name, (cpu, memory) in self.machines.items()
        ]
        for number, task in enumerate((*self.running, *self.waiting), start=1):
            found.append(ClassDefined(number, task_class(*task.size)))
            if task.machine:
                found.append(TasksBound(task.machine, number, (task.uid,), priority=task.priority))
            else:
                found.append(TasksSubmitted(number, (task.uid,), priority=task.priority))
        return found


def case(seed: int, waiting: int) -> Case:
    """Full machines: each is exactly as large as what runs there, and a little more."""
    rnd = random.Random(seed)
    running = []
    machines: dict[str, tuple[int, int]] = {}
    for name in ("a", "b", "c")[: rnd.randint(1, 3)]:
        there = [
            Task(f"{name}{index}", (rnd.randint(1, 4), rnd.randint(1, 4)), rnd.randint(0, 3), name)
            for index in range(rnd.randint(1, 4))
        ]
        running += there
        machines[name] = (
            sum(task.size[0] for task in there) + rnd.randint(0, 1),
            sum(task.size[1] for task in there) + rnd.randint(0, 1),
        )
    size = (rnd.randint(1, 5), rnd.randint(1, 5))
    return Case(machines, tuple(running), tuple(Task(f"p{index}", size, 2) for index in range(waiting)))


def fitting(case: Case, gone: frozenset[str]) -> int:
    """How many of the waiting tasks, which are all alike, fit once ``gone`` are."""
    fits = 0
    for name, capacity in case.machines.items():
        free = [
            capacity[k] - sum(t.size[k] for t in case.running if t.machine == name and t.uid not in gone)
            for k in range(2)
        ]
        fits += min(free[k] // case.waiting[0].size[k] for k in range(2))
    return min(fits, len(case.waiting))


def best(case: Case) -> tuple[int, tuple[int, ...]]:
    """Most tasks that can be placed, and the least ``value`` of victims for that, by trying every set of victims."""
    candidates = [task for task in case.running if task.priority < case.waiting[0].priority]
    most = fitting(case, frozenset(task.uid for task in candidates))
    sets = (some for count in range(len(candidates) + 1) for some in combinations(candidates, count))
    return most, min(value(some) for some in sets if fitting(case, frozenset(t.uid for t in some)) == most)


def decided(case: Case) -> tuple[int, frozenset[str]]:
    """Tasks that get a place, and who has to go."""
    deltas = scheduler(case.events()).run_round().deltas
    victims = frozenset(delta.uid for delta in deltas if delta.kind is DeltaKind.PREEMPT)
    return sum(delta.kind is DeltaKind.PLACE for delta in deltas), victims


def test_as_unimportant_victims_as_can_be():
    equal, cases = 0, examples(400)
    for seed in range(cases):
        each = case(seed, waiting=1 + seed % 3)
        most, least = best(each)
        placed, victims = decided(each)
        assert placed == most, each
        assert fitting(each, victims) == most
        found = value([task for task in each.running if task.uid in victims])
        assert found[0] == least[0], each
        equal += found == least
    assert equal >= 0.95 * cases, f"{equal} of {cases}"


def value(victims: Sequence[Task]) -> tuple[int, ...]:
    """What sets of victims compare by: the highest priority, the sum as kube-scheduler forms it, the number."""
    priorities = [task.priority for task in victims]
    return max(priorities, default=0), sum(each + 2**31 for each in priorities), len(priorities)


@settings(max_examples=examples(40))
@given(st.integers(0, 10**6))
def test_random_events_around_evictions(seed: int):
    """Machines are full, important tasks come, victims go, stay or fail to go: the oracle checks every step."""
    rnd = random.Random(seed)
    pair = Pair()
    pair.apply(*case(seed, waiting=1).events())
    for number in range(12):
        bound = sorted(uid for uid, task in pair.oracle.tasks.items() if task.state == BOUND)
        leaving = [uid for uid in bound if pair.oracle.tasks[uid].leaving]
        assumed = sorted(uid for uid, task in pair.oracle.tasks.items() if task.state == ASSUMED)
        match rnd.randrange(7):
            case 0 | 1:
                pair.apply(
                    ClassDefined(50 + number, task_class(rnd.randint(1, 4), rnd.randint(1, 4))),
                    TasksSubmitted(50 + number, (f"new{number}",), priority=rnd.randint(0, 5)),
                )
            case 2 if leaving:
                pair.apply(TaskRemoved(rnd.choice(leaving)))
            case 3 if leaving:
                _report(pair, rnd.choice(leaving), bound=False)
            case 4 if assumed:
                uid = rnd.choice(assumed)
                waits = any(each in leaving for each in pair.oracle.tasks[uid].counts_on)
                _report(pair, uid, bound=not waits)
            case 5 if assumed:
                pair.apply(TaskRemoved(rnd.choice(assumed)))
            case _:
                pair.now += 5.0
        pair.settle()


def _report(pair: Pair, uid: str, *, bound: bool) -> None:
    """Report about a task to both the scheduler and the oracle."""
    report = BindingReport(uid, pair.oracle.tasks[uid].machine, bound=bound)
    pair.scheduler.report([report])
    pair.oracle.report(report, pair.now)
    pair.compare()
