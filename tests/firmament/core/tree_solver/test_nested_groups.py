"""Trees of groups against a search through all placements, and trees that fit by construction."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import pytest

from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.solver import solve_nested
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains
from firmament.core.tree_solver.tree import Shortage
from tests.support.effort import examples


@dataclass(frozen=True)
class Case:
    """A tree: ``parent`` and ``within`` (a label or -1) of groups, ``tasks``: group, size and number; ``room`` and
    ``code``: of machines, and by label their domains. ``spare``: by group, how many fewer than all go together.
    ``apart``: groups whose child groups share no domain.
    """

    parent: Sequence[int]
    within: Sequence[int]
    tasks: Sequence[tuple[int, int, int]]
    room: Sequence[int]
    code: Sequence[Sequence[int]]
    spare: Sequence[int] = ()
    apart: Sequence[int] = ()

    @property
    def least(self) -> list[int]:
        """Tasks, or groups, that each group needs."""
        own = [
            sum(count for group, _, count in self.tasks if group == each) for each in range(len(self.parent))
        ]
        there = [count or self.parent.count(each) for each, count in enumerate(own)]
        return [count - less for count, less in zip(there, self.spare or [0] * len(there), strict=True)]

    def problem(self) -> NestedProblem:
        groups = len(self.parent)
        sizes = sorted({size for _, size, _ in self.tasks})
        part = np.array(self.tasks, dtype=np.int64).reshape(-1, 3)
        nothing = np.empty(0, dtype=np.int64)
        group = LinkedGroup(
            name="tree",
            names=tuple(f"g{each}" for each in range(groups)),
            parent=np.array(self.parent, dtype=np.int64),
            least=np.array(self.least, dtype=np.int64),
            within=tuple((key,) if key >= 0 else () for key in self.within),
            rather_within=((),) * groups,
            apart=tuple(each in self.apart for each in range(groups)),
            part_class=np.arange(len(part)),
            part_group=part[:, 0],
            part_count=part[:, 2],
            part_to_come=np.zeros(len(part), dtype=np.bool_),
            held_group=nothing,
            held_machine=nothing,
            order=nothing,
        )
        code = np.array(self.code, dtype=np.int64).reshape(-1, len(self.room))
        names = tuple(f"label-{each}" for each in range(len(code)))
        values = tuple(tuple(f"d{each}" for each in range(int(row.max()) + 1)) for row in code)
        domains = NestedDomains(names, code, values)
        many = np.full((len(sizes), len(self.room)), 10**6)
        room = NestedRoom(np.array([self.room]), np.array(sizes)[:, None], many, [np.zeros_like] * len(many))
        return NestedProblem(group, domains, room, [sizes.index(size) for _, size, _ in self.tasks])

    def single(self) -> list[tuple[int, int]]:
        """Group and size of each task."""
        return [(group, size) for group, size, count in self.tasks for _ in range(count)]

    def above(self, group: int) -> Iterator[int]:
        while group >= 0:
            yield group
            group = self.parent[group]

    def allows(self, where: Sequence[tuple[int, int, int]]) -> bool:
        """Whether tasks (group, size, machine) may be where they are."""
        used = [0] * len(self.room)
        domain: dict[int, int] = {}
        for group, size, machine in where:
            used[machine] += size
            for each in self.above(group):
                key = self.within[each]
                if key < 0:
                    continue
                code = self.code[key][machine]
                if code < 0 or domain.setdefault(each, code) != code:
                    return False
        for one, other in combinations(domain, 2):
            siblings = self.parent[one] == self.parent[other] and self.parent[one] in self.apart
            if siblings and self.within[one] == self.within[other] and domain[one] == domain[other]:
                return False
        return all(taken <= room for taken, room in zip(used, self.room, strict=True))

    def fits(self, placed: tuple[tuple[int, int, int], ...] = ()) -> bool:
        """Whether there is a placement, by trying all."""
        tasks = self.single()
        if len(placed) == len(tasks):
            return True
        group, size = tasks[len(placed)]
        return any(
            self.allows(now := (*placed, (group, size, machine))) and self.fits(now)
            for machine in range(len(self.room))
        )

    def choices(self, group: int = 0) -> Iterator[dict[int, int]]:
        """Yield the fewest tasks by group that make a group whole, in each way there is."""
        inside = [each for each, parent in enumerate(self.parent) if parent == group]
        if not inside:
            yield {group: self.least[group]}
            return
        for chosen in combinations(inside, self.least[group]):
            for parts in product(*(list(self.choices(child)) for child in chosen)):
                yield {each: count for part in parts for each, count in part.items()}

    def fits_in_part(self) -> bool:
        """Whether there is a placement of what the groups need."""
        return any(
            replace(self, tasks=[(group, size, chosen.get(group, 0)) for group, size, _ in self.tasks]).fits()
            for chosen in self.choices()
        )

    def is_whole(self, group: int, placed: Mapping[int, int]) -> bool:
        """Whether so many tasks by group are what a group needs."""
        inside = [each for each, parent in enumerate(self.parent) if parent == group]
        whole = sum(self.is_whole(each, placed) for each in inside) if inside else placed.get(group, 0)
        return whole >= self.least[group]


def small_case(seed: int) -> Case:
    """Up to six tasks in up to four groups on up to five machines, whether they fit or not."""
    draw = random.Random(seed)
    machines = draw.randint(2, 5)
    zone = sorted(draw.choice((0, 0, 1)) for _ in range(machines))
    rack = [2 * at + draw.choice((0, 1)) for at in zone]
    missing = draw.random() < 0.2
    parent = [-1, 0, *(draw.choice((0, 1)) for _ in range(draw.randint(0, 2)))]
    inner = set(parent)
    leaves = [each for each in range(len(parent)) if each not in inner]
    return Case(
        parent,
        [draw.choice((-1, 0)), *(draw.choice((-1, 0, 1, 1)) for _ in parent[1:])],
        [(leaf, draw.randint(1, 3), draw.randint(1, 2)) for leaf in leaves],
        [draw.randint(1, 5) for _ in range(machines)],
        [zone, [-1 if missing and index == 0 else code for index, code in enumerate(rack)]],
    )


def apart_case(seed: int) -> Case:
    """A small tree whose root's groups have domains of one label, each its own; some have groups of pods in them."""
    draw = random.Random(f"apart {seed}")
    case = small_case(seed)
    key = draw.choice((0, 1, 1))
    inside = draw.randint(2, 3)
    parent, within = [-1], [-1]
    leaves = []
    for _ in range(inside):
        parent.append(0)
        within.append(key)
        leaves.append(len(parent) - 1)
        if draw.random() < 0.3:
            parent.append(leaves.pop())
            within.append(draw.choice((-1, 1)))
            leaves.append(len(parent) - 1)
    tasks = [(leaf, draw.randint(1, 3), draw.randint(1, 2)) for leaf in leaves]
    return replace(case, parent=parent, within=within, tasks=tasks, apart=(0,))


def full_case(seed: int) -> Case:
    """A tree that fits by construction on machines of which it fills 95 %: racks in zones, groups of pods in racks."""
    draw = random.Random(seed)
    levels = draw.randint(2, 4)
    zones, racks, nodes = (1 if levels == 2 else 2), 2, draw.randint(2, 4)
    size = draw.choice((8, 16))
    room = [size] * (zones * racks * nodes)
    rack = [index // nodes for index in range(len(room))]
    zone = [at // racks for at in rack]
    parent, within, counts = [-1], [-1], dict[tuple[int, int], int]()
    left, target = [*room], 0.95 * size * nodes
    for place in range(zones):
        above = 0
        if levels > 2:
            parent.append(0)
            within.append(0)
            above = len(parent) - 1
        for number in range(place * racks, (place + 1) * racks):
            inside, taken = above, 0
            if levels > 3:
                parent.append(above)
                within.append(1)
                inside = len(parent) - 1
            kinds = []
            for pod in draw.sample((1, 2, 3, 4), draw.randint(1, 3)):
                parent.append(inside)
                within.append(1)
                kinds.append((len(parent) - 1, pod))
            for turn in range(200):
                group, pod = kinds[turn] if turn < len(kinds) else draw.choice(kinds)
                able = [each for each in range(len(room)) if rack[each] == number and left[each] >= pod]
                if able and taken + pod <= target:
                    left[draw.choice(able)] -= pod
                    taken += pod
                    counts[group, pod] = counts.get((group, pod), 0) + 1
    tasks = [(group, pod, count) for (group, pod), count in counts.items()]
    used = {group for group, _, _ in tasks}
    assert used == set(range(len(parent))) - set(parent)
    return Case(parent, within, tasks, room, [zone, rack])


def solve(case: Case) -> NestedPlaces | Shortage:
    return solve_nested(case.problem(), SearchSteps(20_000))


def spread_out(case: Case, places: NestedPlaces) -> list[tuple[int, int, int]]:
    return [
        (case.tasks[part][0], case.tasks[part][1], machine)
        for part, machine, count in zip(
            places.part.tolist(), places.machine.tolist(), places.count.tolist(), strict=True
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(examples(600)))
def test_small_trees_are_placed_if_there_is_any_way_and_else_a_level_is_named(seed):
    case = small_case(seed)
    found = solve(case)
    assert isinstance(found, Shortage) == (not case.fits())
    if isinstance(found, Shortage):
        assert found.message
    else:
        where = spread_out(case, found)
        assert sorted(each[:2] for each in where) == sorted(case.single())
        assert case.allows(where)


@pytest.mark.parametrize("seed", range(examples(400)))
def test_groups_that_must_be_apart_share_no_domain_and_are_placed_if_there_is_any_way(seed):
    case = apart_case(seed)
    found = solve(case)
    assert isinstance(found, Shortage) == (not case.fits())
    if not isinstance(found, Shortage):
        where = spread_out(case, found)
        assert sorted(each[:2] for each in where) == sorted(case.single())
        assert case.allows(where)


def test_it_is_certain_of_nearly_all_small_trees_without_a_place_that_there_is_none():
    cases = [small_case(seed) for seed in range(examples(600))]
    found = [case.problem().search_places(SearchSteps(20_000)) for case in cases]
    certain = [sure for places, sure in found if places is None]
    assert sum(certain) >= 0.95 * len(certain) > 0


@pytest.mark.parametrize("seed", range(examples(400)))
def test_what_groups_need_is_placed_if_there_is_any_way_and_no_part_of_a_group(seed):
    case = small_case(seed)
    draw = random.Random(f"spare {seed}")
    case = replace(case, spare=[draw.randint(0, count - 1) for count in case.least])
    found = solve(case)
    assert isinstance(found, Shortage) == (not case.fits_in_part())
    if isinstance(found, Shortage):
        return
    where = spread_out(case, found)
    assert case.allows(where)
    placed = Counter(group for group, _, _ in where)
    assert case.is_whole(0, placed)
    for group in range(len(case.parent)):
        begun = any(group in case.above(each) for each in placed)
        assert case.is_whole(group, placed) or not begun


def test_trees_that_fill_machines_by_construction_are_placed():
    cases = [full_case(seed) for seed in range(examples(1_000))]
    placed = 0
    for case in cases:
        found = solve(case)
        if not isinstance(found, Shortage):
            assert case.allows(spread_out(case, found))
            placed += found.tasks == len(case.single())
    assert placed >= 0.99 * len(cases)
