"""Which shares units of a tree can hold: against going through all counts of all leaves."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from cost_models.interface import Int64
from firmament.core.tree_solver import reach as reaching
from firmament.core.tree_solver.count_vectors import make_progression
from firmament.core.tree_solver.reach import (
    ENDLESS,
    Shares,
    batches,
    compute_caps,
    find_regular,
    reach,
    room_of,
)
from firmament.core.tree_solver.tree import CountLimits, Rule, Tree, build_tree, limits
from tests.firmament.core.tree_solver.trees import full_tree
from tests.support.effort import examples


def ints(*numbers: int) -> Int64:
    return np.array(numbers, dtype=np.int64)


def bits(*counts: int) -> int:
    return sum(1 << count for count in counts)


def shares(high: list[int], others: dict[int, int] | None = None, *, least: int = 2, step: int = 2) -> Shares:
    """Units by their largest share; those in ``others`` hold any sets, and must be used."""
    strange = np.array([unit in (others or {}) for unit in range(len(high))])
    return Shares(least, step, ints(*high), ~strange, others or {}, strange)


class TestShares:
    FOUND = shares([6, 0, 0, 2], {1: bits(3, 5), 2: 0})

    def test_counts_of_regular_and_other_units(self):
        assert [self.FOUND.counts(unit) for unit in range(4)] == [bits(2, 4, 6), bits(3, 5), 0, bits(2)]
        assert self.FOUND.options(range(1, 4)) == [(bits(3, 5), True), (0, True), (bits(2), False)]

    def test_highest_counts(self):
        assert self.FOUND.highest().tolist() == [6, 5, 0, 2]
        assert self.FOUND.high.tolist() == [6, 0, 0, 2]

    def test_parents_are_plain_if_all_children_are_regular(self):
        assert find_regular(self.FOUND, ints(0, 1, 3, 4)).tolist() == [True, False, True]
        assert find_regular(self.FOUND, ints(0, 2, 4)).tolist() == [False, False]

    def test_most_of_each_child_in_steps(self):
        children, exists = np.array([[0, 3, 0]]), np.array([[True, True, False]])
        assert compute_caps(self.FOUND, children, exists).tolist() == [[3, 1, 0]]


class TestBatches:
    FIRST = ints(0, 1, 3, 6, 8, 8 + 5)
    """Parents with 1, 2, 3, 2 and 5 children."""

    def test_parents_with_similar_numbers_of_children_share_a_batch(self):
        found = list(batches(self.FIRST, np.arange(5)))
        assert [each[0].tolist() for each in found] == [[0], [1, 2, 3], [4]]
        assert found[1][1].tolist() == [[1, 2, 0], [3, 4, 5], [6, 7, 0]]
        assert found[1][2].tolist() == [[True, True, False], [True, True, True], [True, True, False]]

    def test_positions_are_those_among_the_parents_asked_for(self):
        ((positions, children, exists),) = batches(self.FIRST, ints(3, 1, 3))
        assert positions.tolist() == [0, 1, 2]
        assert children.tolist() == [[6, 7], [1, 2], [6, 7]]
        assert exists.all()
        assert list(batches(self.FIRST, ints())) == []

    @pytest.mark.parametrize(("cells", "sizes"), [(1, [1, 1, 1]), (6, [2, 1]), (9, [3]), (8, [2, 1])])
    def test_no_batch_is_larger_than_memory_allows(
        self, monkeypatch: pytest.MonkeyPatch, cells: int, sizes: list[int]
    ):
        monkeypatch.setattr(reaching, "CELLS", cells)
        found = list(batches(self.FIRST, ints(1, 2, 3)))
        assert [len(each[0]) for each in found] == sizes
        assert [place for each in found for place in each[0].tolist()] == [0, 1, 2]


def test_room_is_what_is_free_and_what_is_held():
    tree = full_tree(("rack", "node"), (2, 2))
    found = room_of(tree, ints(3, -1, ENDLESS + 7, 0), ints(0, 2, 1, 0))
    assert [each.tolist() for each in found] == [[5, ENDLESS + 1], [3, 2, ENDLESS + 1, 0]]


# --- against all counts ---------------------------------------------------------------------------------------------


def keeps(bound: CountLimits, count: int) -> bool:
    return (
        count >= bound.low
        and (not bound.high or count <= bound.high)
        and count % bound.step == 0
        and count > 0
    )


def list_counts(tree: Tree, slots: Int64, size: int, rules: list[Rule], held: Int64) -> list[list[set[int]]]:
    """By level and unit, the counts that it can hold; the last entry has those of the root."""
    bounds = [limits(rule) for rule in rules]
    last = len(rules) - 1
    found = [
        [
            {
                count
                for count in range(1, size + 1)
                if held[leaf] <= count <= slots[leaf] + held[leaf] and keeps(bounds[last], count)
            }
            for leaf in range(tree.leaves)
        ]
    ]
    used = [held > 0]
    for level in range(last, -1, -1):
        parents = tree.parents[level]
        count = tree.count_units(level - 1) if level else 1
        mine, there = [], []
        for parent in range(count):
            children = np.flatnonzero(parents == parent).tolist()
            options = [found[0][child] | (set() if used[0][child] else {0}) for child in children]
            sums = {
                sum(some)
                for some in product(*options)
                if not bounds[level].units or sum(each > 0 for each in some) == bounds[level].units
            }
            kept = {total for total in sums if 0 < total <= size}
            mine.append({total for total in kept if keeps(bounds[level - 1], total)} if level else kept)
            there.append(bool(used[0][children].any()))
        found.insert(0, mine)
        used.insert(0, np.array(there))
    return found


RULES = (
    Rule(),
    Rule("spread"),
    Rule(partitions=1),
    Rule(partitions=2),
    Rule(least=2),
    Rule(most=3),
    Rule(factor=2),
    Rule(factor=3, least=2, most=7),
    Rule("spread", least=2, most=2),
    Rule(hard=True),
    Rule("spread", hard=True),
    Rule(most=1, factor=2),
)


def test_shares_are_those_that_some_counts_of_leaves_add_up_to():
    for seed in range(examples(200, least=60)):
        draw = random.Random(seed)
        depth = draw.randint(1, 3)
        names = ("z", "r", "n")[3 - depth :]
        paths: dict[tuple[str, ...], int] = {}
        for row in range(draw.randint(1, 6)):
            path = tuple(f"{name}{draw.randint(0, 1)}" for name in names[:-1])
            paths[(*path, f"n{row}")] = row
        tree = build_tree(names, paths)
        slots = ints(*(draw.choice((-1, 0, 1, 2, 3, 4)) for _ in range(tree.leaves)))
        chance = draw.choice((0.0, 0.3))
        held = ints(*(draw.randint(1, 2) if draw.random() < chance else 0 for _ in range(tree.leaves)))
        size, rules = draw.randint(1, 8), [draw.choice(RULES) for _ in names]
        slots = np.maximum(slots, 0)
        found, expected = reach(tree, slots, size, rules, held), list_counts(tree, slots, size, rules, held)
        for level, mine in enumerate(found.shares):
            seen = [
                {count for count in range(1, size + 1) if mine.counts(unit) >> count & 1}
                for unit in range(tree.count_units(level))
            ]
            assert seen == expected[level + 1], (seed, level)
            assert mine.must.tolist() == (tree.sums(held)[level] > 0).tolist()
            assert mine.highest().tolist() == [max(each, default=0) for each in seen]
        assert found.whole & ~1 == bits(*expected[0][0]), seed
        assert [each.tolist() for each in found.room] == [each.tolist() for each in tree.sums(slots + held)]


def test_progressions():
    assert make_progression(2, 7, 2) == bits(2, 4, 6)
    assert make_progression(3, 3, 5) == bits(3)
    assert make_progression(4, 3, 1) == 0
