"""Groups with rules, plain gangs, singles, and tasks that keep each other away, in one round."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job, Requirement, TaskSelector, TaskTerm
from tests.cost_models.tree_groups.history import some_constraints
from tests.cost_models.tree_groups.oracle import broken
from tests.cost_models.tree_groups.scene import CPU, LEVELS, cluster, job, rules, tree
from tests.support.core import machine, placed, task_class, uids
from tests.support.effort import examples

QUIET = RoundOptions(reserve_after_rounds=10**9, preemption=False)
SELECTOR = TaskSelector(labels=(Requirement("app", "In", ("lonely",)),))
LONELY = task_class(CPU, labels=(("app", "lonely"),), anti_affinity=(TaskTerm("host", SELECTOR),))
SMALL, LARGE, ALONE = 1, 2, 3
SIZE = {SMALL: 1, LARGE: 2, ALONE: 1}


class Mixed:
    """A cluster of random size and what waits for it."""

    def __init__(self, seed: int, *, lonely: bool) -> None:
        self.random = random.Random(seed)
        self.rack = {f"m{number}": self.random.choice("abc") for number in range(self.random.randint(3, 7))}
        self.room = {name: self.random.randint(1, 5) for name in self.rack}
        self.events: list[Event] = [
            ClassDefined(SMALL, task_class(CPU)),
            ClassDefined(LARGE, task_class(2 * CPU)),
            ClassDefined(ALONE, LONELY),
            *(machine(name, cpu=CPU * room, labels={"host": name}) for name, room in self.room.items()),
        ]
        given: dict[str, dict[str, object]] = {}
        for name, rack in self.rack.items():
            given.setdefault(rack, {})[name] = {}
        self.events.append(tree(given))
        self.cls: dict[str, int] = {}
        self.need: dict[str, int] = {}
        self.rules: dict[str, dict[str, dict[str, object]]] = {}
        for number in range(self.random.randint(1, 3)):
            self._group(f"g{number}")
        for number in range(self.random.randint(0, 2)):
            self._gang(f"p{number}")
        self._tasks("s", self.random.randint(0, 4), SMALL, "")
        self._tasks("b", self.random.randint(0, 3), LARGE, "")
        if lonely:
            self._tasks("l", self.random.randint(1, 4), ALONE, "")

    def _group(self, name: str) -> None:
        self.need[name], self.rules[name] = self.random.randint(2, 5), some_constraints(self.random)
        self.events += [job(name, self.need[name]), rules(name, self.rules[name])]
        self._tasks(name, self.need[name], self.random.choice((SMALL, SMALL, LARGE)), name)

    def _gang(self, name: str) -> None:
        self.need[name] = self.random.randint(2, 4)
        self.events.append(JobDefined(Job(name, min_members=self.need[name])))
        self._tasks(
            name, self.need[name] + self.random.randint(0, 1), self.random.choice((SMALL, LARGE)), name
        )

    def _tasks(self, prefix: str, count: int, cls: int, owner: str) -> None:
        priority = self.random.choice((0, 0, 1, 2))
        names = uids(prefix, count)
        self.cls |= dict.fromkeys(names, cls)
        self.events.append(TasksSubmitted(cls, names, job=owner, priority=priority, names=names))


@pytest.mark.parametrize("lonely", [False, True], ids=["simple", "with rules between tasks"])
@pytest.mark.parametrize("seed", range(examples(60)))
def test_all_limits_hold_and_room_is_used(seed: int, lonely: bool):
    mixed = Mixed(seed, lonely=lonely)
    where = placed(cluster(mixed.events, options=QUIET).run_round())
    free = dict(mixed.room)
    for uid, at in where.items():
        free[at] -= SIZE[mixed.cls[uid]]
    assert min(free.values()) >= 0
    for name, need in mixed.need.items():
        mine = Counter(at for uid, at in where.items() if uid.startswith(f"{name}-"))
        assert mine.total() == 0 or mine.total() >= need
        if name in mixed.rules:
            counts: dict[tuple[str, ...], int] = {(mixed.rack[at], at): count for at, count in mine.items()}
            assert broken(counts, LEVELS, mixed.rules[name]) == []
            assert mine.total() in (0, need)
    alone = [at for uid, at in where.items() if uid.startswith("l-")]
    assert len(alone) == len(set(alone))
    for uid, cls in mixed.cls.items():
        if uid not in where and uid[0] in "sb":
            assert max(free.values()) < SIZE[cls], "room was left unused"
