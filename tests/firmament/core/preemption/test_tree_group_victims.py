"""Who goes for a group, against all sets of victims on small clusters."""

from __future__ import annotations

import itertools
import random

import pytest

from firmament.core.configuration import RoundOptions
from tests.cost_models.tree_groups.history import some_constraints
from tests.cost_models.tree_groups.oracle import possible
from tests.cost_models.tree_groups.scene import (
    LEVELS,
    cluster,
    evicted,
    group,
    job,
    machines,
    racks,
    rules,
    running,
    tree,
)
from tests.support.effort import examples

QUIET = RoundOptions(reserve_after_rounds=10**9)
MINE = 5


class Small:
    """Two racks; single tasks and gangs of several priorities run there, and a group of priority 5 comes."""

    def __init__(self, seed: int) -> None:
        source = random.Random(seed)
        self.racks = racks(
            a=[source.randint(1, 3) for _ in range(2)],
            b=[source.randint(1, 3) for _ in range(source.randint(1, 2))],
        )
        self.free = {name: room for rack in self.racks.values() for name, room in rack.items()}
        self.units: dict[str, list[str]] = {}
        self.priority: dict[str, int] = {}
        self.events = [*machines(self.racks), tree(self.racks)]
        for number in range(source.randint(1, 6)):
            self._tenant(source, f"t{number}", 1 if source.random() < 0.6 else source.randint(2, 3))
        self.size, self.constraints = source.randint(2, 4), some_constraints(source)
        self.events += group("g", self.size, self.constraints, priority=MINE)

    def _tenant(self, source: random.Random, name: str, size: int) -> None:
        places = [at for at, room in self.free.items() for _ in range(room)]
        if len(places) < size:
            return
        self.units[name] = source.sample(places, size)
        self.priority[name] = source.choice((0, 1, 2, MINE))
        owner = name if size > 1 else ""
        if owner:
            self.events += [job(owner, size), rules(owner)]
        for number, at in enumerate(self.units[name]):
            self.free[at] -= 1
            self.events += running(owner, {at: (f"{name}-{number}",)}, priority=self.priority[name])

    def possible_without(self, going: frozenset[str]) -> bool:
        slots: dict[tuple[str, ...], int] = {}
        for rack, here in self.racks.items():
            for at in here:
                slots[rack, at] = self.free[at] + sum(self.units[unit].count(at) for unit in going)
        return possible(slots, {}, self.size, LEVELS, self.constraints)

    def ways(self) -> list[frozenset[str]]:
        """All sets of less important units without which the group fits."""
        lower = [unit for unit in self.units if self.priority[unit] < MINE]
        subsets = itertools.chain.from_iterable(
            itertools.combinations(lower, number) for number in range(len(lower) + 1)
        )
        return [frozenset(each) for each in subsets if self.possible_without(frozenset(each))]


@pytest.mark.parametrize("seed", range(examples(150)))
def test_the_least_important_go_as_wholes_and_nobody_without_need(seed: int):
    small = Small(seed)
    ways = small.ways()
    result = cluster(small.events, options=QUIET).run_round()
    told = set(evicted(result))
    victims = frozenset(uid.split("-")[0] for uid in told)
    assert told == {f"{unit}-{number}" for unit in victims for number in range(len(small.units[unit]))}
    placed = {delta.uid for delta in result.deltas if delta.uid.startswith("g-")}
    assert len(placed) == (small.size if ways else 0)
    if not ways:
        assert not victims
        return
    assert victims in ways
    assert not any(way < victims for way in ways), "somebody goes in vain"
    top = max((small.priority[unit] for unit in victims), default=-1)
    assert top == min(max((small.priority[unit] for unit in way), default=-1) for way in ways)
