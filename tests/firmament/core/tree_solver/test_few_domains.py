"""As few domains as possible, level by level, against a search through all sets of domains."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np

from firmament.core.tree_solver.nested.few_domains import choose_few_domains
from tests.support.effort import examples


def count_fewest(room: dict[int, int], count: int) -> int:
    """The size of the smallest set of domains that takes ``count`` tasks."""
    sizes = range(1, len(room) + 1)
    return next(
        size for size in sizes if any(sum(each) >= count for each in combinations(room.values(), size))
    )


def sum_by_domain(code: list[int], slots: list[int], machines: list[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for machine in machines:
        if code[machine] >= 0:
            found[code[machine]] = found.get(code[machine], 0) + slots[machine]
    return found


def test_each_level_has_the_fewest_domains_that_the_level_above_allows():
    for seed in range(examples(2_000)):
        draw = random.Random(seed)
        machines = draw.randint(1, 12)
        rack = [draw.randrange(5) for _ in range(machines)]
        row = [draw.choice((0, 1, -1)) for _ in range(5)]
        codes = [[row[each] for each in rack], rack, list(range(machines))]
        slots = [draw.randint(0, 3) for _ in range(machines)]
        where = sorted(draw.sample(range(machines), draw.randint(1, machines)))
        in_all = sum(slots[each] for each in where)
        if not in_all:
            continue
        count = draw.randint(1, in_all)
        left, rank = choose_few_domains(
            [np.array(code) for code in codes], np.array(slots), count, np.array(where)
        )
        allowed = where
        for code in codes:
            room = sum_by_domain(code, slots, allowed)
            if sum(room.values()) < count:
                continue
            used = {code[each] for each in left.tolist()}
            assert len(used) == count_fewest(room, count), seed
            allowed = [each for each in allowed if code[each] in used]
        assert left.tolist() == allowed
        assert sum(slots[each] for each in allowed) >= count
        assert rank is not None
        assert len(rank) == len(left)


def test_the_last_domain_is_the_tightest_that_takes_the_rest():
    code = np.array([0, 1, 2, 3])
    left, rank = choose_few_domains([code], np.array([4, 1, 2, 3]), 6, np.arange(4))
    assert left.tolist() == [0, 2]
    assert rank is not None
    assert rank.tolist() == [0, 1]


def test_a_label_that_too_few_machines_have_does_not_count():
    left, rank = choose_few_domains([np.array([0, -1, -1])], np.array([1, 1, 1]), 2, np.arange(3))
    assert left.tolist() == [0, 1, 2]
    assert rank is None
