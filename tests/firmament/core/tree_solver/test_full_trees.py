"""Trees that fill nearly all of two resources, by construction; and the search through patterns that places them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from firmament.core.tree_solver.nested.pattern_search import Bins, Effort, fill_bins
from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.solver import solve_nested
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains
from firmament.core.tree_solver.tree import Shortage
from tests.support.effort import examples

CAPACITY = (16, 32)
SHAPES = ((1, 2), (1, 4), (2, 2), (2, 4), (2, 7), (3, 5), (3, 11), (4, 4), (4, 8), (5, 4), (5, 13), (6, 9))
ZONE, RACK = 0, 1


@dataclass(frozen=True)
class FullTree:
    """A tree: ``parent`` and label of groups; ``tasks``: group, shape and number; ``rack`` and ``zone`` of machines."""

    parent: list[int]
    within: list[int]
    tasks: list[tuple[int, tuple[int, int], int]]
    rack: list[int]
    zone: list[int]
    least: list[int]

    def pose(self) -> NestedProblem:
        groups, machines = len(self.parent), len(self.rack)
        shapes = sorted({shape for _, shape, _ in self.tasks})
        nothing = np.empty(0, dtype=np.int64)
        group = LinkedGroup(
            name="tree",
            names=tuple(f"g{each}" for each in range(groups)),
            parent=np.array(self.parent),
            least=np.array(self.least),
            within=tuple((key,) if key >= 0 else () for key in self.within),
            rather_within=((),) * groups,
            apart=(False,) * groups,
            part_class=np.arange(len(self.tasks)),
            part_group=np.array([group for group, _, _ in self.tasks]),
            part_count=np.array([count for _, _, count in self.tasks]),
            part_to_come=np.zeros(len(self.tasks), dtype=np.bool_),
            held_group=nothing,
            held_machine=nothing,
            order=nothing,
        )
        room = NestedRoom(
            np.tile(np.array(CAPACITY)[:, None], (1, machines)),
            np.array(shapes),
            np.full((len(shapes), machines), 10**6),
            [np.zeros_like] * len(shapes),
        )
        domains = NestedDomains(("zone", "rack"), np.array([self.zone, self.rack]), ())
        return NestedProblem(group, domains, room, [shapes.index(shape) for _, shape, _ in self.tasks])

    def above(self, group: int) -> list[int]:
        found = []
        while group >= 0:
            found.append(group)
            group = self.parent[group]
        return found

    def check(self, places: NestedPlaces) -> Counter[int]:
        """Return tasks by part; fails if a machine is overfull, or a group in two domains."""
        used: defaultdict[int, np.ndarray] = defaultdict(lambda: np.zeros(2, dtype=np.int64))
        domains: defaultdict[int, set[int]] = defaultdict(set)
        placed: Counter[int] = Counter()
        for part, machine, count in zip(
            places.part.tolist(), places.machine.tolist(), places.count.tolist(), strict=True
        ):
            group, shape, _ = self.tasks[part]
            used[machine] += np.array(shape) * count
            placed[part] += count
            for each in self.above(group):
                if self.within[each] >= 0:
                    domains[each].add((self.zone, self.rack)[self.within[each]][machine])
        assert all((each <= CAPACITY).all() for each in used.values())
        assert all(len(each) == 1 for each in domains.values())
        return placed


def fill_rack(draw: random.Random, nodes: int) -> dict[tuple[int, int], int]:
    """Shapes and numbers of tasks that fit the machines of a rack, of which they use 94 to 95 % of some resource."""
    cpu, memory = CAPACITY[0] * nodes, CAPACITY[1] * nodes
    while True:
        shapes = draw.sample(SHAPES, draw.randint(2, 4))
        left = [CAPACITY] * nodes
        used = (0, 0)
        found: Counter[tuple[int, int]] = Counter()
        for turn in range(12 * nodes):
            shape = shapes[turn] if turn < len(shapes) else draw.choice(shapes)
            able = [at for at, each in enumerate(left) if each[0] >= shape[0] and each[1] >= shape[1]]
            after = used[0] + shape[0], used[1] + shape[1]
            if able and after[0] <= 0.95 * cpu and after[1] <= 0.95 * memory:
                at = draw.choice(able)
                left[at] = left[at][0] - shape[0], left[at][1] - shape[1]
                used = after
                found[shape] += 1
        if len(found) == len(shapes) and (used[0] >= 0.94 * cpu or used[1] >= 0.94 * memory):
            return dict(found)


def draw_full_tree(seed: int) -> FullTree:
    draw = random.Random(seed)
    levels, racks, nodes = draw.randint(2, 4), draw.randint(2, 4), draw.randint(3, 8)
    zones = 1 if levels == 2 else 2
    rack = [index // nodes for index in range(zones * racks * nodes)]
    parent, within, tasks = [-1], [-1], []
    for _ in range(zones):
        above = 0
        if levels > 2:
            parent.append(0)
            within.append(ZONE)
            above = len(parent) - 1
        for _ in range(racks):
            inside = above
            if levels > 3:
                parent.append(above)
                within.append(RACK)
                inside = len(parent) - 1
            for shape, count in fill_rack(draw, nodes).items():
                parent.append(inside)
                within.append(RACK)
                tasks.append((len(parent) - 1, shape, count))
    own = {group: count for group, _, count in tasks}
    least = [own.get(each) or parent.count(each) for each in range(len(parent))]
    return FullTree(parent, within, tasks, rack, [at // racks for at in rack], least)


def test_trees_that_nearly_fill_two_resources_by_construction_are_placed():
    seeds = range(examples(1_000, slow=True))
    placed = 0
    for tree in map(draw_full_tree, seeds):
        found = solve_nested(tree.pose(), SearchSteps(20_000))
        if not isinstance(found, Shortage):
            counts = tree.check(found)
            placed += all(counts[part] == count for part, (_, _, count) in enumerate(tree.tasks))
    assert placed >= 0.99 * len(seeds)


@pytest.mark.parametrize("seed", range(examples(50)))
def test_trees_that_nearly_fill_two_resources_are_placed_without_the_tasks_that_they_can_do_without(seed):
    tree = draw_full_tree(seed)
    # Twice the tasks of one group, of which it needs half: all cannot be placed, and what is needed just fits.
    doubled = random.Random(seed).randrange(len(tree.tasks))
    group, shape, count = tree.tasks[doubled]
    tasks = [*tree.tasks]
    tasks[doubled] = group, shape, 2 * count
    tree = FullTree(tree.parent, tree.within, tasks, tree.rack, tree.zone, tree.least)
    found = solve_nested(tree.pose(), SearchSteps(20_000))
    assert not isinstance(found, Shortage), found.message
    counts = tree.check(found)
    assert all(counts[part] >= tree.least[group] for part, (group, _, _) in enumerate(tasks))


# --- patterns --------------------------------------------------------------------------------------------------------


def fits(bins: Bins, left: Sequence[int], at: int = 0) -> bool:
    """Whether items can be put into bins, by trying all ways."""
    if not any(left):
        return True
    if at == bins.free.shape[1]:
        return False
    for pattern in product(
        *(range(min(count, most) + 1) for count, most in zip(left, bins.most[:, at], strict=True))
    ):
        apart = Counter(
            number for number, count in zip(bins.apart.tolist(), pattern, strict=True) for _ in range(count)
        )
        fitting = (np.array(pattern) @ bins.requests <= bins.free[:, at]).all()
        alone = all(count < 2 for number, count in apart.items() if number >= 0)
        if fitting and alone and fits(bins, [a - b for a, b in zip(left, pattern, strict=True)], at + 1):
            return True
    return False


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("seed", range(examples(200)))
def test_bins_are_filled_if_there_is_any_way_and_else_it_is_certain_that_there_is_none(seed, checked):
    draw = random.Random(seed)
    kinds, number = draw.randint(1, 3), draw.randint(1, 3)
    bins = Bins(
        free=np.array([[draw.randint(0, 7) for _ in range(number)] for _ in range(2)]),
        requests=np.array([[draw.randint(0, 3), draw.randint(0, 3)] for _ in range(kinds)]),
        counts=np.array([draw.randint(0, 3) for _ in range(kinds)]),
        most=np.array([[draw.choice((0, 1, 9, 9)) for _ in range(number)] for _ in range(kinds)]),
        likeness=("",) * number,
        apart=np.array([draw.choice((-1, 0)) if checked else -1 for _ in range(kinds)]),
    )
    asked = []

    def take_all(bin_: int, pattern: np.ndarray) -> tuple[bool, bool]:
        asked.append((pattern @ bins.requests <= bins.free[:, bin_]).all())
        return True, True

    found = fill_bins(bins, Effort(100_000), np.random.default_rng(seed), take_all if checked else None)
    assert all(asked)
    assert (found.patterns is not None) == fits(bins, bins.counts.tolist())
    if found.patterns is None:
        assert found.certain
        return
    total = np.zeros(kinds, dtype=np.int64)
    for at, pattern in found.patterns:
        assert (pattern @ bins.requests <= bins.free[:, at]).all()
        assert (pattern <= bins.most[:, at]).all()
        assert pattern[bins.apart == 0].sum() <= 1
        total += pattern
    assert total.tolist() == bins.counts.tolist()
    assert len({at for at, _ in found.patterns}) == len(found.patterns)
