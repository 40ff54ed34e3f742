"""Whom one task has evicted, against kube-scheduler's order gone through machine by machine and victim by victim.

The oracle differs from kube-scheduler in one point, as docs/preemption.md states: budgets let the least important go.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, Event, RecordUpserted, TasksBound, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.results import DeltaKind
from tests.support.core import machine, scheduler
from tests.support.effort import examples

PREEMPTOR = 2**31 - 1
PRIORITIES = (
    (0, 1, 2),
    (-10, 0, 1000),
    (-(2**31), -(2**31) + 1, 0),
    (0, 2_000_000_000, 2_000_001_000),
    (-(2**31), 2_000_000_000, 2_000_001_000),
)


@dataclass(frozen=True)
class Running:
    """``apps``: what budgets select it by; no two started at the same time."""

    uid: str
    size: tuple[int, int]
    priority: int
    started: float
    apps: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """What runs on each machine, and what is free there beside it; ``size``: of the one that waits.

    ``disrupted``: by budget, the tasks that it has counted as gone already.
    """

    running: Mapping[str, tuple[Running, ...]]
    free: dict[str, tuple[int, int]]
    size: tuple[int, int]
    budgets: dict[str, int]
    disrupted: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def costs(self, task: Running) -> list[str]:
        """The budgets that the task's going is counted by."""
        return [app for app in task.apps if task.uid not in self.disrupted.get(app, ())]

    def events(self) -> list[Event]:
        found: list[Event] = []
        for name, there in self.running.items():
            total = [sum(each.size[k] for each in there) + self.free[name][k] for k in range(2)]
            found.append(machine(name, cpu=total[0], memory=total[1]))
        for app, allowed in self.budgets.items():
            selector = [{"key": app, "operator": "Exists"}]
            disrupted = sorted(self.disrupted.get(app, ()))
            payload = {"namespace": "", "selector": selector, "allowed": allowed, "disrupted": disrupted}
            found.append(RecordUpserted(BUDGET_RECORD, app, json.dumps(payload).encode()))
        number = 0
        for name, there in self.running.items():
            for each in there:
                number += 1
                found.append(ClassDefined(number, content(each.size, each.apps)))
                found.append(
                    TasksBound(
                        name,
                        number,
                        (each.uid,),
                        names=(each.uid,),
                        priority=each.priority,
                        assigned=(each.started,),
                    )
                )
        found.append(ClassDefined(1000, content(self.size, ())))
        found.append(TasksSubmitted(1000, ("p",), priority=PREEMPTOR))
        return found


def content(size: tuple[int, int], apps: tuple[str, ...]) -> TaskClass:
    return TaskClass(
        requests=(("cpu", size[0]), ("memory", size[1])), labels=tuple((app, "") for app in apps)
    )


def make_case(seed: int) -> Case:
    source = random.Random(seed)
    priorities = source.choice(PRIORITIES)
    apps = source.choice(((), ("x",), ("x", "y")))
    names = ("a", "b", "c")[: source.randint(1, 3)]
    starts = source.sample(range(1, 100), 15)
    running = {
        name: tuple(
            Running(
                f"{name}{index}",
                (source.randint(1, 4), source.randint(1, 4)),
                source.choice(priorities),
                float(starts.pop()),
                tuple(app for app in apps if source.random() < 0.4),
            )
            for index in range(source.randint(1, 5))
        )
        for name in names
    }
    case = Case(
        running,
        {name: (source.randint(0, 1), source.randint(0, 1)) for name in names},
        (source.randint(2, 8), source.randint(2, 8)),
        {app: source.randint(0, 2) for app in apps},
    )
    everyone = [task.uid for there in running.values() for task in there]
    share = source.choice((0.0, 0.3))
    disrupted = {app: frozenset(uid for uid in everyone if source.random() < share) for app in apps}
    return replace(case, disrupted=disrupted)


def importance(task: Running) -> tuple[int, float]:
    """The less, the more important."""
    return -task.priority, task.started


def beyond_budgets(case: Case, tasks: list[Running]) -> list[Running]:
    """Those whose budgets do not let them go after the others; the least important may go first."""
    left = dict(case.budgets)
    found = []
    for task in sorted(tasks, key=importance, reverse=True):
        for app in case.costs(task):
            left[app] -= 1
        if any(left[app] < 0 for app in case.costs(task)):
            found.append(task)
    return found


def reprieved(case: Case, name: str) -> list[Running] | None:
    """Who has to go from a machine, as ``SelectVictimsOnNode`` finds it; None if all are not enough."""
    there, free = list(case.running[name]), list(case.free[name])
    room = [free[k] + sum(task.size[k] for task in there) - case.size[k] for k in range(2)]
    if min(room) < 0:
        return None
    beyond = beyond_budgets(case, there)
    victims = []
    for task in sorted(there, key=lambda each: (each not in beyond, *importance(each))):
        if all(room[k] >= task.size[k] for k in range(2)):
            room = [room[k] - task.size[k] for k in range(2)]
        else:
            victims.append(task)
    return victims


def price(case: Case, victims: list[Running]) -> tuple[float, ...]:
    """What ``pickOneNodeForPreemption`` compares nodes by."""
    top = max(task.priority for task in victims)
    return (
        len(beyond_budgets(case, victims)),
        top,
        sum(task.priority + 2**31 for task in victims),
        len(victims),
        -min(task.started for task in victims if task.priority == top),
    )


def evicted(case: Case) -> set[str]:
    deltas = scheduler(case.events()).run_round().deltas
    assert {delta.uid for delta in deltas if delta.kind is DeltaKind.PLACE} <= {"p"}
    return {delta.uid for delta in deltas if delta.kind is DeltaKind.PREEMPT}


@settings(max_examples=examples(400))
@given(st.integers(0, 10**6))
def test_one_task_evicts_whom_kubernetes_order_names(seed: int):
    case = make_case(seed)
    offers = [offer for offer in (reprieved(case, name) for name in case.running) if offer is not None]
    if not offers:
        assert evicted(case) == set()
        return
    best = min(offers, key=lambda victims: price(case, victims)) if all(offers) else []
    assert evicted(case) == {task.uid for task in best}, case


def alone(uid: str, cpu: int, priority: int, started: float = 1.0, *apps: str) -> Running:
    return Running(uid, (cpu, 1), priority, started, apps)


@pytest.mark.parametrize(
    ("running", "victims"),
    [
        ({"a": (alone("dns", 4, 2_000_000_000),), "b": (alone("b1", 2, -10), alone("b2", 2, -10))}, "b1 b2"),
        ({"a": (alone("high", 4, 1000), alone("l1", 2, 0), alone("l2", 2, 0))}, "l1 l2"),
        ({"a": (alone("one", 4, -5),), "b": (alone("b1", 2, -5), alone("b2", 2, -5))}, "one"),
        ({"a": (alone("a1", 2, 7), alone("a2", 2, 1)), "b": (alone("b1", 2, 7), alone("b2", 2, 0))}, "b1 b2"),
        ({"a": (alone("old", 4, 0, 1.0),), "b": (alone("young", 4, 0, 2.0),)}, "young"),
    ],
    ids=["highest-first", "on-one-machine", "negative-priorities", "sum", "latest"],
)
def test_criteria_one_by_one(running: Mapping[str, tuple[Running, ...]], victims: str):
    case = Case(running, dict.fromkeys(running, (0, 1)), (4, 0), {})
    assert evicted(case) == set(victims.split())


def test_a_budget_lets_the_least_important_go():
    running = (alone("h", 4, 10, 1.0, "x"), alone("l", 4, 0, 0.0, "x"))
    assert evicted(Case({"a": running}, {"a": (0, 1)}, (4, 0), {"x": 1})) == {"l"}
    assert evicted(Case({"a": running}, {"a": (0, 1)}, (4, 0), {"x": 0})) == {"l"}


def test_a_task_that_its_budget_has_counted_as_gone_costs_it_nothing():
    running = {"a": (alone("counted", 4, 0, 1.0, "x"),), "b": (alone("other", 4, 0, 2.0, "x"),)}
    case = Case(running, dict.fromkeys(running, (0, 1)), (4, 0), {"x": 0})
    assert evicted(case) == {"other"}
    assert evicted(replace(case, disrupted={"x": frozenset({"counted"})})) == {"counted"}


def test_two_budgets_over_one_task_count_once():
    running = {
        "a": (alone("a", 4, 5, 1.0, "x", "y"),),
        "b": (alone("b", 4, 9, 1.0, "x"),),
    }
    assert evicted(Case(running, dict.fromkeys(running, (0, 1)), (4, 0), {"x": 0, "y": 0})) == {"a"}
