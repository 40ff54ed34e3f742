"""Gangs with rules inside, in clusters that have just room for them: found where they fit, by plain counting."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations, product

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job, Requirement, SpreadRule, TaskClass, TaskSelector, TaskTerm
from firmament.core.results import DeltaKind
from tests.support.core import machine, scheduler
from tests.support.effort import examples

HOST, ZONE = "kubernetes.io/hostname", "zone"
TOGETHER, APART, SPREAD, BOTH = "in one zone", "on machines of their own", "over zones", "both of the first"


AFFINITY, ANTI_AFFINITY = "the topology constraint by zone", "pod anti-affinity rules"
SPREADING = "pod topology spread constraints"
REST = {
    (TOGETHER, AFFINITY): "none",
    (APART, ANTI_AFFINITY): "none",
    (SPREAD, SPREADING): "none",
    (BOTH, AFFINITY): APART,
    (BOTH, ANTI_AFFINITY): TOGETHER,
}
"""What is left of a rule without a constraint."""


@dataclass(frozen=True)
class Case:
    """A gang of some tasks of each kind, with a ``rule``. ``zone``, ``room``: of machines; ``size``: of kinds."""

    rule: str
    zone: dict[str, str]
    room: dict[str, int]
    size: dict[int, int]
    count: dict[int, int]

    def events(self) -> list[Event]:
        found: list[Event] = [
            machine(name, cpu=room, labels={HOST: name, ZONE: self.zone[name]})
            for name, room in self.room.items()
        ]
        found.append(JobDefined(Job("g", min_members=sum(self.count.values()))))
        for kind, count in self.count.items():
            gang, own = selector("gang", "g"), selector("kind", str(kind))
            content = TaskClass(
                requests=(("cpu", self.size[kind]),),
                labels=(("gang", "g"), ("kind", str(kind))),
                affinity=(TaskTerm(ZONE, gang),) if self.rule in (TOGETHER, BOTH) else (),
                anti_affinity=(TaskTerm(HOST, own),) if self.rule in (APART, BOTH) else (),
                spread=(SpreadRule(ZONE, own, 1, True),) if self.rule == SPREAD else (),
            )
            found.append(ClassDefined(kind + 1, content))
            found.append(TasksSubmitted(kind + 1, tuple(f"{kind}-{n}" for n in range(count)), job="g"))
        return found

    def allows(self, where: list[tuple[int, str]]) -> bool:
        """Whether tasks (kind and machine) may all be where they are."""
        used: Counter[str] = Counter()
        for kind, at in where:
            used[at] += self.size[kind]
        if any(used[at] > self.room[at] for at in used):
            return False
        if self.rule in (TOGETHER, BOTH) and len({self.zone[at] for _, at in where}) > 1:
            return False
        if self.rule in (APART, BOTH) and max(Counter(where).values()) > 1:
            return False
        if self.rule == SPREAD:
            for kind in self.count:
                there = Counter(self.zone[at] for each, at in where if each == kind)
                counts = [there[zone] for zone in {*self.zone.values()}]
                if max(counts) - min(counts) > 1:
                    return False
        return True

    def tasks(self) -> list[int]:
        return [kind for kind, count in self.count.items() for _ in range(count)]


def selector(key: str, value: str) -> TaskSelector:
    return TaskSelector(labels=(Requirement(key, "In", (value,)),))


def feasible_case(seed: int) -> Case:
    """Tasks are given their places first, and machines what these take, now and then a little more."""
    draw = random.Random(seed)
    zones = [f"z{index}" for index in range(draw.randint(2, 4))]
    per_zone = draw.randint(2, 5)
    zone = {f"{name}-{index}": name for name in zones for index in range(per_zone)}
    rule = draw.choice((TOGETHER, APART, SPREAD, BOTH))
    inside = [name for name in zone if rule not in (TOGETHER, BOTH) or zone[name] == zones[-1]]
    where: list[tuple[int, str]] = []
    for kind in range(draw.randint(1, 3)):
        many = draw.randint(2 if kind == 0 else 1, 4)
        if rule in (APART, BOTH):
            places = draw.sample(inside, min(many, len(inside)))
        elif rule == SPREAD:
            turn = draw.sample(zones, len(zones))
            places = [
                draw.choice([name for name in inside if zone[name] == turn[n % len(turn)]])
                for n in range(many)
            ]
        else:
            places = [draw.choice(inside) for _ in range(many)]
        where += [(kind, at) for at in places]
    size = {kind: draw.randint(1, 4) for kind, _ in where}
    taken: Counter[str] = Counter()
    for kind, at in where:
        taken[at] += size[kind]
    slack = draw.choice((0, 0, 1))
    room = {
        name: taken[name] + draw.choice((0, slack)) if taken[name] else draw.choice((0, 0, 1, 2, 3))
        for name in zone
    }
    case = Case(rule, zone, room, size, dict(Counter(kind for kind, _ in where)))
    assert case.allows(where)
    return case


def small_case(seed: int) -> Case:
    """Up to four tasks on up to four machines, whether they fit or not."""
    draw = random.Random(seed)
    zone = {f"m{index}": draw.choice("ab") for index in range(draw.randint(2, 4))}
    room = {name: draw.randint(1, 4) for name in zone}
    count = {0: draw.randint(1, 2), 1: draw.randint(1, 2)}
    rule = draw.choice((TOGETHER, APART, SPREAD, BOTH))
    return Case(rule, zone, room, {0: draw.randint(1, 3), 1: draw.randint(1, 3)}, count)


def feasible(case: Case) -> bool:
    """Whether there is a place for each task, by trying all there are."""
    tasks = case.tasks()
    return any(
        case.allows(list(zip(tasks, places, strict=True))) for places in product(case.zone, repeat=len(tasks))
    )


def without(case: Case, names: Iterable[str]) -> Case:
    """The case without some constraints, by the names that reasons have for them."""
    for name in names:
        if name == "cpu":
            case = replace(case, room=dict.fromkeys(case.room, 100))
        else:
            case = replace(case, rule=REST[case.rule, name])
    return case


def decided(case: Case) -> list[tuple[int, str]]:
    """Kind and machine of each task that one round places."""
    deltas = scheduler(case.events()).run_round().deltas
    assert all(delta.kind is DeltaKind.PLACE for delta in deltas)
    return [(int(delta.uid.partition("-")[0]), delta.machine) for delta in deltas]


CASES = 1_000


@pytest.mark.parametrize("part", range(examples(4, least=1)))
def test_nearly_all_that_fit_are_placed_in_one_round(part: int):
    """The search is bounded; of a thousand, ten may be missed."""
    missed = []
    for seed in range(part, CASES, 4):
        case = feasible_case(seed)
        where = decided(case)
        assert not where or case.allows(where), seed
        if len(where) < len(case.tasks()):
            assert not where, f"{seed}: half a gang"
            missed.append(seed)
    assert len(missed) <= 0.01 * CASES / 4, missed


@pytest.mark.parametrize("part", range(examples(4, least=1)))
def test_small_ones_are_placed_if_and_only_if_they_fit(part: int):
    for seed in range(part, 600, 4):
        case = small_case(seed)
        tasks = case.tasks()
        fits = feasible(case)
        where = decided(case)
        assert len(where) == (len(tasks) if fits else 0), f"{seed}: {case}"
        assert not where or case.allows(where), seed


@pytest.mark.parametrize("part", range(examples(4, least=1)))
def test_the_reason_names_the_constraints_without_which_they_would_fit(part: int):
    told = 0
    for seed in range(part, 600, 4):
        case = small_case(seed)
        if feasible(case):
            continue
        messages = sorted({each.message for each in scheduler(case.events()).run_round().unscheduled})
        found = {re.search(r"not for all at once \(because of ([^)]*)\)", each) for each in messages}
        reasons = {each[1] for each in found if each is not None}
        if not reasons:
            assert not any("had room" in each for each in messages), f"{seed}: {messages}"
            continue
        [left] = reasons
        told += 1
        blamed = [alternative.split(" and ") for alternative in left.split(" or ")]
        assert all(feasible(without(case, names)) for names in blamed), f"{seed}: {case} {left}"
        for names in blamed:
            fewer = combinations(names, len(names) - 1)
            assert not any(feasible(without(case, some)) for some in fewer), f"{seed}: {case} {left}"
        alone = {names[0] for names in blamed if len(names) == 1}
        others = {"cpu", *(name for rule, name in REST if rule == case.rule)} - alone
        assert not any(feasible(without(case, [name])) for name in others), f"{seed}: {case} {left}"
    assert told > 10
