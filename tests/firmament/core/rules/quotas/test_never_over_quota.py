"""Random small clusters with queues: whatever happens, rounds place nothing that quotas have no room for.

The oracle counts by itself who is where, and what that leaves, from the definition of quotas.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    RecordRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    Job,
    SpreadRule,
    TaskClass,
    TaskSelector,
    TaskTerm,
)
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.results import DeltaKind
from firmament.core.scheduler import Scheduler
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import Clock, machine, scheduler
from tests.support.effort import examples

FLAVORS, RESOURCES = ("red", "blue"), ("cpu", "memory")
Quotas = dict[str, dict[str, Any]]
HOST = "kubernetes.io/hostname"


class World:
    """A scheduler, and what the oracle knows of it."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.clock = Clock()
        draw = self.draw
        machines = {f"m{each}": draw.choice(FLAVORS) for each in range(draw.randint(1, 5))}
        self.flavor_of = machines
        self.quotas: Quotas = {}
        self.task_class: dict[str, TaskClass] = {}
        self.where: dict[str, str] = {}
        self.job_of: dict[str, str] = {}
        self.need: dict[str, int] = {}
        self.number = 0
        self.classes: dict[TaskClass, int] = {}
        events: list[Event] = [flavor(name, kind=name) for name in FLAVORS]
        for name, kind in machines.items():
            events.append(machine(name, cpu=draw.randint(2, 8), memory=8, labels={"kind": kind, HOST: name}))
        self.core: Scheduler = scheduler(
            events, clock=self.clock, options=RoundOptions(preemption=draw.random() < 0.5)
        )
        self.core.apply([event for name in self.list_names() for event in self.draw_quota(name)])

    def list_names(self) -> list[str]:
        return ["root", "left", "right", "q0", "q1", "q2", "alone"]

    def draw_quota(self, name: str) -> list[Event]:
        """State a quota anew."""
        draw = self.draw
        parents = {
            "left": "root",
            "right": "root",
            "q0": "left",
            "q1": "left",
            "q2": draw.choice(["right", "root"]),
        }

        def amounts(chance: float, most: int) -> dict[str, dict[str, int]]:
            return {
                kind: {resource: draw.randint(0, most) for resource in RESOURCES}
                for kind in FLAVORS
                if draw.random() < chance
            }

        stated: dict[str, Any] = {"parent": parents.get(name, ""), "fair": draw.random() < 0.3}
        stated["borrowing"], stated["lending"] = amounts(0.3, 5), amounts(0.3, 5)
        stated["limit"], stated["guarantee"] = amounts(0.1, 9), amounts(0.1, 4)
        stated["order"] = draw.choice(["BestEffortFIFO", "StrictFIFO"])
        stated["preemption"] = {
            "within": draw.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            "reclaim": draw.choice(["Never", "LowerPriority", "Any"]),
        }
        stated["whenCanBorrow"] = draw.choice(["MayStopSearch", "TryNextFlavor"])
        stated["whenCanPreempt"] = draw.choice(["MayStopSearch", "TryNextFlavor"])
        stated["preference"] = draw.choice(["BorrowingOverPreemption", "PreemptionOverBorrowing"])
        nominal = {kind: {resource: draw.randint(0, 5) for resource in RESOURCES} for kind in FLAVORS}
        self.quotas[name] = {**stated, "nominal": nominal}
        return [quota(name, nominal, **stated)]

    # --- what the definition says --------------------------------------------------------------------------------

    def available(self, name: str, kind: str, resource: str) -> int:
        used = Counter(
            (task.queue, self.flavor_of[self.where[uid]], asked)
            for uid, task in self.task_class.items()
            if uid in self.where and task.queue
            for asked, amount in task.requests
            for _ in range(amount)
        )

        def stated(node: str, key: str) -> int | None:
            return self.quotas[node][key].get(kind, {}).get(resource)

        def children(node: str) -> list[str]:
            return [each for each, of in self.quotas.items() if of["parent"] == node]

        def subtree(node: str) -> int:
            return (stated(node, "nominal") or 0) + sum(
                subtree(each) - local(each) for each in children(node)
            )

        def local(node: str) -> int:
            lent = stated(node, "lending")
            kept = 0 if lent is None else max(0, subtree(node) - lent)
            return max(kept, min(stated(node, "guarantee") or 0, subtree(node)))

        def use(node: str) -> int:
            return used[node, kind, resource] + sum(
                max(0, use(each) - local(each)) for each in children(node)
            )

        def total(node: str) -> int:
            return used[node, kind, resource] + sum(total(each) for each in children(node))

        def within(node: str) -> int:
            parent = self.quotas[node]["parent"]
            if not parent:
                return subtree(node) - use(node)
            above, most = within(parent), stated(node, "borrowing")
            if most is not None:
                above = min(above, subtree(node) - local(node) - max(0, use(node) - local(node)) + most)
            return max(0, local(node) - use(node)) + above

        found, node = within(name), name
        while node:
            limit = stated(node, "limit")
            found = found if limit is None else min(found, limit - total(node))
            node = self.quotas[node]["parent"]
        return found

    # --- what happens --------------------------------------------------------------------------------------------

    def draw_class(self) -> TaskClass:
        draw = self.draw
        asked = [("cpu", draw.randint(1, 3))] if draw.random() < 0.9 else []
        asked += [("memory", draw.randint(1, 3))] if draw.random() < 0.5 else []
        content: dict[str, Any] = {
            "requests": tuple(asked),
            "queue": draw.choice(["q0", "q1", "q2", "alone", ""]),
        }
        label = draw.choice("xy")
        content["labels"] = (("app", label),)
        selector = TaskSelector(labels=(), namespaces=("",))
        if draw.random() < 0.15:
            content["anti_affinity"] = (TaskTerm(HOST, selector),)
        elif draw.random() < 0.15:
            content["spread"] = (SpreadRule("kind", selector, 1, required=True),)
        return TaskClass(**content)

    def submit(self) -> list[Event]:
        draw, content = self.draw, self.draw_class()
        number = self.classes.setdefault(content, len(self.classes) + 1)
        count = draw.randint(1, 5)
        uids = tuple(f"t{self.number + each}" for each in range(count))
        self.number += count
        self.task_class.update(dict.fromkeys(uids, content))
        events: list[Event] = [ClassDefined(number, content)]
        job = ""
        if draw.random() < 0.3:
            job = f"job{self.number}"
            self.need[job] = draw.randint(1, count)
            events.append(JobDefined(Job(job, size=count, min_members=self.need[job])))
            self.job_of.update(dict.fromkeys(uids, job))
        if draw.random() < 0.15 and not job:
            at = draw.choice(sorted(self.flavor_of))
            self.where.update(dict.fromkeys(uids, at))
            return [*events, TasksBound(at, number, uids)]
        return [*events, TasksSubmitted(number, uids, job=job, priority=draw.randint(0, 2))]

    def happen(self) -> list[Event]:
        draw, chance = self.draw, self.draw.random()
        if chance < 0.6 or not self.task_class:
            return self.submit()
        if chance < 0.85:
            uid = draw.choice(sorted(self.task_class))
            del self.task_class[uid]
            self.where.pop(uid, None)
            return [TaskRemoved(uid)]
        name = draw.choice(self.list_names())
        if name == "alone" and draw.random() < 0.3:
            self.quotas.pop(name, None)
            return [RecordRemoved(QUOTA_RECORD, name)]
        return self.draw_quota(name)

    def run_round(self) -> None:
        opened = self.core.open_round()
        placement = opened.solve()
        if self.draw.random() < 0.3:
            self.core.apply(self.happen())
        result = self.core.close_round(opened, placement)
        came = [delta for delta in result.deltas if delta.kind is DeltaKind.PLACE]
        for delta in came:
            self.where[delta.uid] = delta.machine
        for delta in result.deltas:  # who comes for them waits until they are gone
            if delta.kind is DeltaKind.PREEMPT:
                self.where.pop(delta.uid, None)
                self.task_class.pop(delta.uid, None)
                self.core.apply([TaskRemoved(delta.uid)])
        self.check([delta.uid for delta in came])
        bound = [
            TasksBound(
                self.where[uid], self.classes[self.task_class[uid]], (uid,), job=self.job_of.get(uid, "")
            )
            for uid in [delta.uid for delta in came]
            if uid in self.where and self.draw.random() < 0.8
        ]
        self.core.apply(bound)

    def check(self, came: list[str]) -> None:
        for uid in came:
            content = self.task_class[uid]
            if not content.queue:
                continue
            assert content.queue in self.quotas
            kind = self.flavor_of[self.where[uid]]
            for resource, _ in content.requests:
                assert self.available(content.queue, kind, resource) >= 0, (
                    uid,
                    content.queue,
                    kind,
                    resource,
                )
        for job in {self.job_of[uid] for uid in came if uid in self.job_of}:
            members = [uid for uid, of in self.job_of.items() if of == job and uid in self.where]
            assert len(members) >= self.need[job], job


def run(seed: int) -> None:
    world = World(seed)
    for _ in range(world.draw.randint(2, 8)):
        world.core.apply([event for _ in range(world.draw.randint(1, 4)) for event in world.happen()])
        world.clock.now += world.draw.choice([0.1, 5, 100])
        world.run_round()


@pytest.mark.parametrize("part", range(4))
def test_nothing_is_placed_that_quotas_have_no_room_for(part: int):
    for seed in range(part, 4 * examples(150, least=8, slow=True), 4):
        run(seed)


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_nothing_is_placed_that_quotas_have_no_room_for_in_thousands_of_clusters(part: int):
    for seed in range(1_000 + part, 5_000, 10):
        run(seed)
