"""What exhaustive search is too slow for: the quick ways against the thorough ones, and whole clusters."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.tree_solver import regular
from firmament.core.tree_solver.answers import assign
from firmament.core.tree_solver.count_vectors import _by_table, best_profile, find_reachable, make_progression
from firmament.core.tree_solver.tree import Rule, Shortage
from tests.firmament.core.tree_solver.cases import random_rule
from tests.firmament.core.tree_solver.exhaustive import keeps
from tests.firmament.core.tree_solver.trees import asked, full_tree, per_unit, placed
from tests.support.effort import examples

PACK, SPREAD = Rule("pack"), Rule("spread")
CAPS = st.lists(st.integers(0, 12), min_size=1, max_size=14)


@settings(max_examples=examples(150))
@given(CAPS, st.integers(1, 5), st.integers(0, 6), st.booleans())
def test_regular_children_are_divided_as_any_others(caps, least, units, pack):
    most = -np.sort(-np.array([[cap if cap >= least else 0 for cap in caps]]), axis=1)
    size = int(most.sum()) + 2
    options = [(make_progression(least, cap), False) for cap in most[0].tolist()]
    totals = find_reachable(options, units, size)
    row = regular.find_totals(most, least, units, size)[0]
    assert [total for total in range(1, size + 1) if row[total]] == [
        total for total in range(1, size + 1) if totals >> total & 1
    ]
    shares = np.flatnonzero(row[1:]) + 1
    if len(shares):
        fill = regular.pack_profiles if pack else regular.spread_profiles
        profiles = fill(np.repeat(most, len(shares), axis=0), least, units, shares)
        used = [option for option in options if option[0]]
        for share, profile in zip(shares.tolist(), profiles.tolist(), strict=True):
            assert tuple(count for count in profile if count) == _by_table(used, units, pack, share)


SETS = st.lists(
    st.tuples(st.integers(1, 2**10 - 1).map(lambda bits: bits << 1), st.booleans()), min_size=1, max_size=7
)


@settings(max_examples=examples(150))
@given(SETS, st.integers(0, 4), st.booleans())
def test_any_sets_of_counts_are_divided_as_by_a_table(options, units, pack):
    size = 40
    totals = find_reachable(options, units, size)
    for total in range(1, size + 1):
        if totals >> total & 1:
            assert best_profile(options, units, pack, total) == _by_table(options, units, pack, total)


RANGES = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 8), st.booleans()).map(
        lambda each: (
            make_progression(each[0], each[0] + each[1]) if each[2] else make_progression(1, each[1] + 1),
            each[2],
        )
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=examples(150))
@given(RANGES, st.integers(0, 5), st.booleans())
def test_children_that_hold_pods_are_divided_as_by_a_table(options, units, pack):
    size = 60
    totals = find_reachable(options, units, size)
    for total in range(1, size + 1):
        if totals >> total & 1:
            assert best_profile(options, units, pack, total) == _by_table(options, units, pack, total)


@settings(max_examples=examples(150))
@given(st.data())
def test_leaves_are_dealt_out_as_by_exchanging(data):
    leaves = data.draw(st.integers(1, 9))
    each = st.lists(st.integers(0, 6), min_size=leaves, max_size=leaves)
    caps, cost, room = (np.array([data.draw(each)]) for _ in range(3))
    order = np.sort(caps[0])[::-1]
    profile = tuple(
        sorted(
            (data.draw(st.integers(1, cap)) for cap in order[: data.draw(st.integers(1, leaves))] if cap),
            reverse=True,
        )
    )
    if not profile:
        return
    padded = np.zeros((1, leaves), dtype=np.int64)
    padded[0, : len(profile)] = profile
    held = regular.assign_counts(padded, caps, cost, room)[0]
    weights = [
        {
            count: count * int(cost[0, leaf]) * 1000 + int(room[0, leaf])
            for count in set(profile)
            if count <= caps[0, leaf]
        }
        for leaf in range(leaves)
    ]
    _, least = assign(profile, weights, [False] * leaves)
    assert sorted(held[held > 0].tolist(), reverse=True) == list(profile)
    assert sum(weights[leaf][count] for leaf, count in enumerate(held.tolist()) if count) == least


class TestClusterOfTenThousand:
    tree = full_tree(("zone", "row", "rack", "server"), (5, 10, 10, 20))
    room = np.random.default_rng(1).integers(0, 9, 10_000)
    cost = np.random.default_rng(2).integers(0, 200, 10_000)

    @pytest.mark.parametrize(
        "rules",
        [
            (PACK, PACK, PACK, PACK),
            (SPREAD, SPREAD, SPREAD, SPREAD),
            (Rule("spread", partitions=2), SPREAD, PACK, Rule(factor=4)),
            (PACK, Rule(hard=True), Rule("pack", least=20, most=90), Rule("spread", least=2, most=4)),
            (PACK, PACK, PACK, Rule("pack", least=5, most=8)),
            (PACK, PACK, Rule("spread", least=15, most=20), Rule("spread", hard=True)),
        ],
    )
    def test_a_group_of_a_thousand_is_placed_in_time(self, rules):
        size = 600 if rules[1].hard else 1000
        began = time.process_time()
        answer = placed(self.tree, self.room, size, *rules, cost=self.cost)
        # Many times what it takes on an idle machine, so that only another order of growth fails.
        assert time.process_time() - began < 1.0
        assert (answer <= self.room).all()

    def test_one_member_of_a_thousand_is_replaced_in_time(self):
        before = placed(self.tree, self.room, 1000, SPREAD, PACK, PACK, PACK, cost=self.cost)
        gone = int(np.flatnonzero(before)[3])
        held = before.copy()
        held[gone] = 0
        slots = self.room - before
        began = time.process_time()
        answer = asked(self.tree, slots, 1000, SPREAD, PACK, PACK, PACK, cost=self.cost, held=held)
        assert time.process_time() - began < 1.0
        assert not isinstance(answer, Shortage)
        assert (answer >= held).all()
        assert per_unit(self.tree, answer, 0) == [200] * 5


@pytest.mark.parametrize("seed", range(4))
def test_no_strict_rule_is_bent_for_larger_groups(seed):
    rng = random.Random(seed)
    tree = full_tree(("zone", "rack", "node"), (4, 5, 8))
    paths = [tree.leaf_path(leaf) for leaf in range(tree.leaves)]
    placements = 0
    for _ in range(40):
        room = np.array([rng.randint(0, 9) for _ in paths])
        held = np.zeros(len(paths), dtype=np.int64)
        size = rng.randint(30, 240)
        rules = tuple(random_rule(rng, size) for _ in tree.levels)
        first = asked(tree, room, size, *rules, cost=room)
        if isinstance(first, Shortage):
            continue
        placements += 1
        assert keeps(rules, paths, first.tolist())
        assert first.sum() == size
        assert (first <= room).all()
        held[first > 0] = [rng.randint(0, count) for count in first[first > 0].tolist()]
        again = placed(tree, room - held, size, *rules, cost=room, held=held)
        assert keeps(rules, paths, again.tolist())
        assert (again >= held).all()
        assert (again <= room).all()
    assert placements > 10
