"""Random histories of groups, singles, machines and edits, and a book of them that judges rounds by the oracle."""

from __future__ import annotations

import random
from collections.abc import Mapping

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    MachineRemoved,
    TaskRemoved,
    TasksSubmitted,
)
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from tests.cost_models.tree_groups.oracle import broken, possible
from tests.cost_models.tree_groups.scene import CPU, LEVELS, cluster, job, rules, tree
from tests.support.core import Clock, machine, task_class

JOBS = ("g", "h", "k")
RACKS = ("a", "b", "c")
MACHINES = ("m0", "m1", "m2", "m3", "m4")

Path = tuple[str, ...]


def some_constraints(source: random.Random) -> dict[str, dict[str, object]]:
    """Constraints of a group: each level may have any."""
    found: dict[str, dict[str, object]] = {}
    for level in LEVELS:
        rule: dict[str, object] = {"type": source.choice(("pack", "spread"))}
        if source.random() < 0.2:
            rule["hard"] = True
        if source.random() < 0.3:
            rule["partitions"] = source.randint(1, 3)
        if source.random() < 0.3:
            least = source.randint(1, 2)
            rule |= {"min": least, "max": source.randint(least, 4)}
        if source.random() < 0.2:
            rule["factor"] = 2
        if source.random() < 0.7:
            found[level] = rule
    return found


class History:
    """A scheduler and what the test knows of it."""

    def __init__(self, seed: int, options: RoundOptions, *, priorities: tuple[int, ...] = (0,)) -> None:
        self.random = random.Random(seed)
        self.clock = Clock()
        self.core: Scheduler = cluster(clock=self.clock, options=options)
        self.priorities = priorities
        self.preempts = options.preemption
        self.room: dict[str, int] = {}
        self.rack: dict[str, str] = {}
        self.rules: dict[str, dict[str, dict[str, object]]] = {}
        self.size: dict[str, int] = {}
        self.job_of: dict[str, str] = {}
        self.priority: dict[str, int] = {}
        self.leaving: set[str] = set()
        self.number = 0
        self.evicting = 0
        self.fresh: frozenset[str] = frozenset()
        self.apply(ClassDefined(1, task_class(CPU)))
        for name in MACHINES:
            self.apply(self.machine(name))
        self.apply(self.tree())
        for name in JOBS:
            self.apply(*self.define(name))

    # --- what happens --------------------------------------------------------------------------------------------

    def apply(self, *events: Event) -> None:
        self.core.apply(list(events))

    def machine(self, name: str) -> Event:
        self.room[name] = self.random.randint(0, 4)
        return machine(name, cpu=CPU * self.room[name])

    def tree(self) -> Event:
        self.rack = {name: self.random.choice(RACKS) for name in MACHINES if self.random.random() < 0.9}
        if not self.rack:
            self.rack = {"m0": "a"}
        given: dict[str, dict[str, int]] = {}
        for name, rack in self.rack.items():
            given.setdefault(rack, {})[name] = 0
        return tree(given)

    def define(self, name: str) -> list[Event]:
        self.size[name], self.rules[name] = self.random.randint(2, 5), some_constraints(self.random)
        return [job(name, self.size[name]), rules(name, self.rules[name])]

    def submit(self, name: str, count: int) -> TasksSubmitted:
        uids = tuple(f"{name}-{self.number + index}" for index in range(count))
        self.number += count
        priority = self.priorities[len(name) * ord(name[0]) % len(self.priorities)]
        if name == "x":
            priority = self.random.choice(self.priorities)
        for uid in uids:
            self.job_of[uid], self.priority[uid] = "" if name == "x" else name, priority
        owner = "" if name == "x" else name
        return TasksSubmitted(1, uids, job=owner, priority=priority, names=uids)

    def happen(self) -> None:
        """One thing that may happen between rounds, or during one."""
        pick, states = self.random.random(), self.states()
        if pick < 0.35:
            self.apply(self.submit(self.random.choice((*JOBS, "x")), self.random.randint(1, 4)))
        elif pick < 0.55 and states:
            self.remove(self.random.choice(sorted(states)))
        elif pick < 0.65:
            self.apply(self.machine(self.random.choice(MACHINES)))
        elif pick < 0.72 and len(self.room) > 1:
            name = self.random.choice(sorted(self.room))
            del self.room[name]
            self.apply(MachineRemoved(name))
        elif pick < 0.78:
            self.apply(self.tree())
        elif pick < 0.86:
            self.apply(*self.define(self.random.choice(JOBS)))
        else:
            self.report(everyone=False)

    def remove(self, uid: str) -> None:
        self.apply(TaskRemoved(uid))
        self.leaving.discard(uid)

    def report(self, *, everyone: bool) -> None:
        """Tell of bindings: most or all succeed. Victims go first."""
        for uid in sorted(self.leaving):
            self.remove(uid)
        reports = []
        for uid, (state, at) in sorted(self.states().items()):
            if state == "ASSUMED" and (everyone or self.random.random() < 0.7):
                good = everyone or self.random.random() < 0.8
                reports.append(BindingReport(uid, at, bound=good, retry=True))
        self.core.report(reports)

    # --- rounds --------------------------------------------------------------------------------------------------

    def round(self, meanwhile: int = 0) -> RoundResult:
        """One round; checks what it decided. ``meanwhile``: things that happen during the solve."""
        opened = self.core.open_round()
        placement = opened.solve()
        for _ in range(meanwhile):
            self.happen()
        before = self.states()
        result = self.core.close_round(opened, placement)
        fresh: set[str] = set()
        told: set[str] = set()
        self.evicting += any(delta.depends_on and self.job_of[delta.uid] for delta in result.deltas)
        for delta in result.deltas:
            if delta.kind is DeltaKind.PREEMPT:
                self.leaving.add(delta.uid)
                told.add(delta.uid)
            elif before[delta.uid][0] != "ASSUMED":  # else it is to be bound again where it is
                fresh.add(delta.uid)
        self.fresh = frozenset(fresh)
        self.check(fresh)
        if self.preempts:  # else gangs that were not whole in time have been given up
            self.check_victims(told, {each.uid: each.depends_on for each in result.deltas})
        return result

    def settle(self) -> None:
        for _ in range(40):
            if self.core.next_round_in() != 0:
                return
            self.round()
        raise AssertionError("rounds go on without end")

    # --- what must hold ------------------------------------------------------------------------------------------

    def states(self) -> dict[str, tuple[str, str]]:
        return {each.uid: (each.state, each.machine) for each in self.core.task_states()}

    def on_machines(self, name: str) -> dict[str, int]:
        """Tasks of a job by machine, those that have been told to go left out."""
        found: dict[str, int] = {}
        for uid, (_, at) in self.states().items():
            if self.job_of.get(uid) == name and at and uid not in self.leaving:
                found[at] = found.get(at, 0) + 1
        return found

    def check(self, fresh: set[str]) -> None:
        """Groups that got places are whole, in the tree, and keep their rules as they are now; nothing is overfull."""
        states = self.states()
        for name in {self.job_of[uid] for uid in fresh} - {""}:
            counts = self.on_machines(name)
            assert sum(counts.values()) == self.size[name], f"{name} was decided partly: {counts}"
            for uid in fresh:
                if self.job_of[uid] == name:
                    assert states[uid][1] in self.rack, "outside of the tree"
            there = {at: count for at, count in counts.items() if at in self.rack and at in self.room}
            inside: dict[Path, int] = {(self.rack[at], at): count for at, count in there.items()}
            assert broken(inside, LEVELS, self.rules[name]) == [], (inside, self.rules[name])
        for at in {states[uid][1] for uid in fresh}:
            here = [uid for uid, (_, where) in states.items() if where == at and uid not in self.leaving]
            assert len(here) <= self.room.get(at, 99), "overfull"

    def check_victims(self, told: set[str], awaited: Mapping[str, tuple[str, ...]]) -> None:
        """Victims are less important than who waits for them, are needed by somebody, and gangs go as wholes."""
        for uid, victims in awaited.items():
            for victim in told.intersection(victims):
                assert self.priority[victim] < self.priority[uid]
        assert told <= {victim for victims in awaited.values() for victim in victims}, "evicted for nobody"
        for name in {self.job_of[uid] for uid in told} - {""}:
            assert not self.on_machines(name), f"half of {name} was evicted"

    def left_behind(self, fresh: frozenset[str] = frozenset()) -> list[str]:
        """Groups and singles that wait although there is a way to place them.

        ``fresh``: tasks just placed, of which the less important are taken to be away.
        """
        states = self.states()
        waiting: dict[tuple[str, int], int] = {}
        for uid, (state, _) in states.items():
            if state == "PENDING":
                key = self.job_of[uid], self.priority[uid]
                waiting[key] = waiting.get(key, 0) + 1
        found = []
        for (name, priority), count in waiting.items():
            away = {uid for uid in fresh if self.priority[uid] < priority}
            free = dict(self.room)
            for uid, (_, at) in states.items():
                if at in free and uid not in away:
                    free[at] = max(0, free[at] - 1)
            if self._could_go(name, count, free):
                found.append(name or "x")
        return found

    def _could_go(self, name: str, count: int, free: Mapping[str, int]) -> bool:
        """Whether waiting tasks of a group, or one by itself, could be placed in the room that is free."""
        if not name:
            return any(free.values())
        held = self.on_machines(name)
        need = self.size[name] - sum(held.values())
        if need <= 0 or count < need:
            return False
        present = {at: rack for at, rack in self.rack.items() if at in self.room}
        slots: dict[Path, int] = {(rack, at): free[at] for at, rack in present.items()}
        inside: dict[Path, int] = {(present[at], at): many for at, many in held.items() if at in present}
        return possible(slots, inside, need + sum(inside.values()), LEVELS, self.rules[name])
