"""Random histories of a small cluster with queues of all kinds, in which evictions have to end after each step.

A step is an arrival, an end, or a change of quotas, with the rounds that follow until nobody is evicted any more. Who
is evicted comes again, as its owner would create it. Kinds are mixed: one flavor or two, borrowing and lending limits,
fair shares by each strategy, weights, priorities, preferences among flavors, gangs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, TaskClass
from firmament.core.results import DeltaKind, RoundResult
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import Clock, machine, scheduler, task_class

MOST_WORKLOADS = 14
"""Workloads that are there at a time."""
MOST_ROUNDS = 80
"""Rounds with evictions after one step: more than these workloads need if none is evicted in a circle."""
STRATEGIES = (
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
)


@dataclass(slots=True)
class _Workload:
    """A task, or a gang: its class, its priority, the uids of its tasks, and how often tasks were created again."""

    number: int
    content: TaskClass
    priority: int
    uids: list[str]
    job: str
    gang: bool
    created: int = 0


@dataclass(slots=True)
class Figures:
    """What a history did."""

    steps: int = 0
    rounds: int = 0
    evictions: int = 0
    longest: int = 0
    """Rounds with evictions after one step, at most."""


@dataclass(slots=True)
class _Settling:
    """Uids on machines, and their workloads."""

    placed: dict[str, str] = field(default_factory=dict)
    of: dict[str, _Workload] = field(default_factory=dict)


class MixedWorld:
    """A scheduler with a tree of quotas and what happens to it."""

    def __init__(self, seed: int) -> None:
        self._draw = draw = random.Random(seed)
        self._clock = Clock()
        self._fair = draw.random() < 0.4
        self._gangs = draw.random() < 0.5
        self._flavors = ("one", "two")[: draw.choice((1, 2))]
        self._workloads: dict[str, _Workload] = {}
        self._seen = _Settling()
        self._number = 0
        self.stated: dict[str, dict[str, Any]] = {}
        """The quotas as they are stated now, by name."""
        self.figures = Figures()
        queues = draw.randint(3, 6)
        self._queues = {f"q{number}": draw.choice(("left", "left", "root")) for number in range(queues)}
        self._capacity = {f"m{number}": draw.randint(1, 5) for number in range(draw.randint(4, 8))}
        machines = [
            machine(name, cpu=cpu, labels={"kind": self._flavors[number % len(self._flavors)]})
            for number, (name, cpu) in enumerate(self._capacity.items())
        ]
        flavors = [
            flavor(name, **({"kind": name} if len(self._flavors) > 1 else {})) for name in self._flavors
        ]
        self._core = scheduler(
            *machines,
            *flavors,
            self._state("root", self._draw_amounts(3), fair=self._fair),
            self._state("left", self._draw_amounts(3), parent="root", fair=self._fair),
            *(self._state_quota(name) for name in self._queues),
            clock=self._clock,
        )

    def _draw_amounts(self, most: int) -> dict[str, dict[str, int]]:
        return {name: {"cpu": self._draw.randint(0, most)} for name in self._flavors}

    def _state(self, name: str, amounts: dict[str, dict[str, int]], **more: Any) -> RecordUpserted:
        self.stated[name] = {"nominal": amounts, **more}
        return quota(name, amounts, **more)

    def _state_quota(self, name: str) -> RecordUpserted:
        """State a queue's quota anew."""
        draw = self._draw
        policy: dict[str, Any] = {
            "within": draw.choice(["Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"]),
            "reclaim": draw.choice(["Never", "LowerPriority", "Any", "Any"]),
            "borrow": {"policy": draw.choice(["Never", "LowerPriority"])},
        }
        if self._fair:
            policy["strategies"] = draw.choice(STRATEGIES)
        elif draw.random() < 0.3:
            policy["borrow"] = {"policy": "LowerPriority", "threshold": draw.randint(0, 1)}
        stated: dict[str, Any] = {"parent": self._queues[name], "preemption": policy, "fair": self._fair}
        for limit in ("borrowing", "lending"):
            if draw.random() < 0.25:
                stated[limit] = self._draw_amounts(4)
        if len(self._flavors) > 1:
            stated["whenCanBorrow"] = draw.choice(["MayStopSearch", "TryNextFlavor"])
            stated["whenCanPreempt"] = draw.choice(["MayStopSearch", "TryNextFlavor"])
            stated["preference"] = draw.choice(["BorrowingOverPreemption", "PreemptionOverBorrowing"])
        return self._state(name, self._draw_amounts(4), weight=draw.choice((0.5, 1.0, 1.0, 2.0)), **stated)

    def step(self) -> None:
        """Let one thing happen, and see that evictions end; raises ``AssertionError`` if they do not."""
        draw, chance = self._draw, self._draw.random()
        self._clock.advance(draw.choice((0, 30, 60, 700)))
        if chance < 0.12:
            self._core.apply([self._state_quota(draw.choice([*self._queues]))])
        elif self._workloads and (chance < 0.35 or len(self._workloads) >= MOST_WORKLOADS):
            gone = self._workloads.pop(draw.choice([*self._workloads]))
            self._core.apply([TaskRemoved(uid) for uid in gone.uids])
            for uid in gone.uids:
                self._seen.placed.pop(uid, None)
                del self._seen.of[uid]
        else:
            self._arrive()
        self.figures.steps += 1
        self._settle()

    def _arrive(self) -> None:
        draw = self._draw
        self._number += 1
        name = f"t{self._number}"
        gang = self._gangs and draw.random() < 0.3
        size = draw.randint(2, 3) if gang else 1
        content = task_class(draw.randint(1, 2 if gang else 4), queue=draw.choice([*self._queues]))
        uids = [f"{name}-{index}" for index in range(size)] if gang else [name]
        # An owner creates a new task with a new uid; a task without an owner comes again by its own.
        job = name if gang or draw.random() < 0.5 else ""
        made = _Workload(self._number, content, draw.randint(0, 2), uids, job, gang)
        self._workloads[name] = made
        self._seen.of.update(dict.fromkeys(uids, made))
        jobs: list[Event] = [JobDefined(Job(job, size=size, min_members=size if gang else 0))] if job else []
        self._core.apply([*jobs, ClassDefined(made.number, content), self._submit(made, uids)])

    def _submit(self, workload: _Workload, uids: list[str]) -> TasksSubmitted:
        return TasksSubmitted(workload.number, tuple(uids), job=workload.job, priority=workload.priority)

    def _settle(self) -> None:
        for number in range(MOST_ROUNDS):
            result = self._core.run_round()
            self.figures.rounds += 1
            self.judge(result)
            gone = [delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT]
            came = {delta.uid: delta.machine for delta in result.deltas if delta.kind is DeltaKind.PLACE}
            self._create_again(gone)
            self._bind(came)
            self._check()
            if not gone:
                self.figures.longest = max(self.figures.longest, number)
                return
            self.figures.evictions += len(gone)
        raise AssertionError("they evict each other without end")

    def judge(self, result: RoundResult) -> None:
        """Judge a round's decisions before they take effect; by itself a world does not."""

    def _create_again(self, gone: list[str]) -> None:
        """Remove evicted tasks, and submit them again, with new uids if they have owners."""
        events: list[Event] = []
        for uid in gone:
            workload = self._seen.of.pop(uid)
            del self._seen.placed[uid]
            workload.uids.remove(uid)
            workload.created += 1
            new = f"{uid.partition('+')[0]}+{workload.created}" if workload.job else uid
            workload.uids.append(new)
            self._seen.of[new] = workload
            events += [TaskRemoved(uid), self._submit(workload, [new])]
        if events:
            self._core.apply(events)

    def _bind(self, came: dict[str, str]) -> None:
        events = []
        for uid, at in came.items():
            workload = self._seen.of[uid]
            events.append(
                TasksBound(at, workload.number, (uid,), priority=workload.priority, job=workload.job)
            )
        self._seen.placed.update(came)
        if events:
            self._core.apply(events)

    def _check(self) -> None:
        """No machine is overcommitted, and no gang is there in part."""
        used = dict.fromkeys(self._capacity, 0)
        for uid, at in self._seen.placed.items():
            used[at] += dict(self._seen.of[uid].content.requests)["cpu"]
        assert all(used[at] <= capacity for at, capacity in self._capacity.items())
        for each in self._workloads.values():
            if each.gang:
                assert sum(uid in self._seen.placed for uid in each.uids) in (0, len(each.uids))


def run(seed: int, steps: int) -> Figures:
    """Play a history; raises ``AssertionError`` if evictions do not end after one of its steps."""
    world = MixedWorld(seed)
    for _ in range(steps):
        world.step()
    return world.figures
