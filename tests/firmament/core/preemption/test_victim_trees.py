"""Victims in trees of groups against all sets of victims there are: members, groups or whole trees go, never a part."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound
from firmament.core.model import Job, JobGroup
from firmament.core.results import DeltaKind
from tests.firmament.core.preemption.victim_sets import Case, Running, Sets, content
from tests.support.core import scheduler
from tests.support.effort import examples

TREE = Job("t")


@dataclass(frozen=True)
class TreeCase(Case):
    """``group_of``: by task, its group in the tree of job ``t``, whose tasks name that job."""

    tree: Job = TREE
    group_of: tuple[tuple[str, str], ...] = ()

    def events(self) -> list[Event]:
        group_of = dict(self.group_of)
        rest = replace(self, running=tuple(task for task in self.running if task.job != "t"))
        found = [*Case.events(rest), JobDefined(self.tree)]
        for number, task in enumerate((task for task in self.running if task.job == "t"), start=500):
            found.append(
                ClassDefined(number, replace(content(task.size, task.app), group=group_of[task.uid]))
            )
            found.append(TasksBound(task.machine, number, (task.uid,), priority=task.priority, job="t"))
        return found


def make_tree(rnd: random.Random) -> Job:
    """Return a tree of two or three levels, some of whose groups are disrupted as a whole."""
    groups = [JobGroup("root", least=rnd.randint(0, 2))]
    for number in range(rnd.randint(1, 3)):
        name = f"g{number}"
        inside = rnd.choice((0, 0, 2))
        whole = rnd.random() < 0.25
        groups.append(JobGroup(name, "root", rnd.randint(0, 2), disrupted_whole=whole))
        groups += [
            JobGroup(f"{name}-{each}", name, rnd.randint(0, 2), disrupted_whole=whole)
            for each in range(inside)
        ]
    if rnd.random() < 0.15:
        groups.append(JobGroup("beside", least=1))
    return Job("t", min_members=0, groups=tuple(groups), disrupted_whole=rnd.random() < 0.1)


def make_case(seed: int) -> TreeCase:
    rnd = random.Random(seed)
    tree = make_tree(rnd)
    leaves = [each.name for each in tree.groups if each.name not in {other.parent for other in tree.groups}]
    apps = rnd.choice(((), ("x",)))
    machines: dict[str, tuple[int, int]] = {}
    running: list[Running] = []
    group_of: dict[str, str] = {}
    for name in ("a", "b", "c")[: rnd.randint(1, 3)]:
        here = []
        for index in range(rnd.randint(1, 4)):
            job = rnd.choice(("t", "t", ""))
            uid = f"{name}{index}"
            # Tasks that are too important to leave keep whole groups where they are.
            priority = rnd.choice((0, 0, 1, 1, 1, 3)) if job else rnd.choice((0, 1))
            size = rnd.randint(1, 4), rnd.randint(1, 4)
            here.append(Running(uid, size, priority, name, rnd.choice(("", *apps)), job))
            if job:
                group_of[uid] = rnd.choice(leaves)
        running += here
        total = np.array([task.size for task in here]).sum(axis=0)
        machines[name] = (int(total[0]) + rnd.randint(0, 1), int(total[1]) + rnd.randint(0, 1))
    return TreeCase(
        machines,
        tuple(running),
        (rnd.randint(1, 5), rnd.randint(1, 5)),
        rnd.randint(1, 3),
        {app: rnd.randint(0, 2) for app in apps},
        {},
        frozenset(),
        rnd.random() < 0.3,
        tree,
        tuple(group_of.items()),
    )


class TreeSets(Sets):
    """All sets of victims of a case of which none leaves a part of a group that is whole now, or leaves as a whole."""

    def __init__(self, case: TreeCase) -> None:
        super().__init__(case)
        self._tree = case.tree
        self._group_of = dict(case.group_of)
        before = Counter(self._group_of.values())
        for number, goes in enumerate(self.goes.tolist()):
            lost = Counter(
                self._group_of[task.uid]
                for task, gone in zip(self.lower, goes, strict=True)
                if gone and task.uid in self._group_of
            )
            self.allowed[number] &= self._may_lose(before, lost)

    def _may_lose(self, before: Counter[str], lost: Counter[str]) -> bool:
        after = before - lost
        roots = [each for each in self._tree.groups if not each.parent]
        was_whole = all(self._is_whole(each, before) for each in roots)
        if lost and after.total() and self._tree.disrupted_whole:
            return False
        if len(roots) > 1:
            whole_before = [self._is_whole(each, before) for each in roots]
            whole_after = [self._is_whole(each, after) for each in roots]
            if after.total() and whole_before != whole_after and (was_whole or any(whole_before)):
                return False
        return all(self._group_may_lose(each, before, after) for each in self._tree.groups)

    def _group_may_lose(self, group: JobGroup, before: Counter[str], after: Counter[str]) -> bool:
        there, left = self._count(group, before), self._count(group, after)
        if left in {0, there}:
            return True
        if group.disrupted_whole:
            return False
        if self._is_whole(group, before):
            return self._is_whole(group, after)
        inside = [each for each in self._tree.groups if each.parent == group.name]
        return bool(inside) and all(
            self._is_whole(each, before) == self._is_whole(each, after) for each in inside
        )

    def _count(self, group: JobGroup, have: Counter[str]) -> int:
        inside = [each for each in self._tree.groups if each.parent == group.name]
        return have[group.name] + sum(self._count(each, have) for each in inside)

    def _is_whole(self, group: JobGroup, have: Counter[str]) -> bool:
        inside = [each for each in self._tree.groups if each.parent == group.name]
        if not inside:
            return have[group.name] >= group.least
        return sum(self._is_whole(each, have) for each in inside) >= group.least


CASES = 500


@pytest.mark.parametrize("part", range(examples(4, least=1)))
def test_only_what_can_be_spared_of_a_tree_leaves_or_all_of_it(part: int):
    """As many come as can; no part of a group is left; the best set in 9 of 10 cases."""
    equal = short = 0
    for seed in range(part, CASES, 4):
        case = make_case(seed)
        sets = TreeSets(case)
        most, over, top, weight = sets.best()
        deltas = scheduler(case.events()).run_round().deltas
        victims = frozenset(delta.uid for delta in deltas if delta.kind is DeltaKind.PREEMPT)
        placed = sum(delta.kind is DeltaKind.PLACE for delta in deltas)
        found = sets.of(victims)
        assert sets.allowed[found], f"{seed}: part of a group {sorted(victims)} {case}"
        assert placed <= sets.fits[found], f"{seed}: {case}"
        short += placed < most
        equal += (sets.over[found], sets.top[found], sets.weight[found]) == (over, top, weight)
    assert short <= 0.01 * (CASES / 4), f"{short} of {CASES // 4}"
    assert equal >= 0.9 * (CASES / 4), f"{equal} of {CASES // 4}"
