"""The proposal's examples and the placement problems of the algorithm that it refers to."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.tree_solver.tree import Rule
from tests.firmament.core.tree_solver.trees import asked, full_tree, per_unit, placed, shown, two_levels

PACK, SPREAD = Rule("pack"), Rule("spread")


def racks(*slots: int):
    nodes = [f"node-{index}" for index in range(6)]
    return two_levels(
        {
            "rack-0": dict(zip(nodes[:3], slots[:3], strict=True)),
            "rack-1": dict(zip(nodes[3:], slots[3:], strict=True)),
        }
    )


GROUP_A = [
    pytest.param((8, 8, 8, 8, 8, 8), {"rack-0": {"node-0": 3, "node-1": 3, "node-2": 2}}, id="idle"),
    pytest.param((8, 3, 0, 2, 2, 2), {"rack-0": {"node-0": 5, "node-1": 3}}, id="uneven"),
    pytest.param(
        (3, 0, 3, 2, 0, 2),
        {"rack-0": {"node-0": 3, "node-2": 3}, "rack-1": {"node-3": 1, "node-5": 1}},
        id="nearly full",
    ),
]


@pytest.mark.parametrize(("slots", "expected"), GROUP_A)
def test_group_a_is_packed_on_racks_and_spread_on_nodes(slots, expected):
    tree, room = racks(*slots)
    assert shown(tree, placed(tree, room, 8, PACK, SPREAD)) == expected


def test_user_a_has_two_partitions_in_two_racks_each_packed():
    tree = full_tree(("rack", "node"), (4, 3))
    answer = placed(tree, np.tile([4, 2, 3], 4), 8, Rule("spread", partitions=2), PACK)
    assert per_unit(tree, answer, 0) == [4, 4]
    assert per_unit(tree, answer, 1) == [4, 4]


def test_user_b_has_one_server_and_two_to_four_pods_per_node():
    tree = full_tree(("server", "node"), (2, 3))
    answer = placed(tree, np.array([4, 1, 4, 4, 4, 1]), 6, PACK, Rule("spread", least=2, most=4))
    assert per_unit(tree, answer, 0) == [6]
    assert per_unit(tree, answer, 1) == [3, 3]


def test_a_range_is_kept_where_filling_up_would_leave_too_few():
    tree = full_tree(("node",), (3,))
    room = np.full(3, 9)
    assert per_unit(tree, placed(tree, room, 5, Rule("spread", least=2, most=4)), 0) == [3, 2]
    assert per_unit(tree, placed(tree, room, 5, Rule("pack", least=2, most=4)), 0) == [3, 2]


def test_partitions_pass_over_a_full_rack():
    tree, room = two_levels({"a": {"n": 0}, "b": {"n": 1}, "c": {"n": 9}, "d": {"n": 9}})
    answer = placed(tree, room, 8, Rule("spread", partitions=2), PACK)
    assert shown(tree, answer) == {"c": {"n": 4}, "d": {"n": 4}}


def test_packed_partitions_are_as_uneven_as_can_be():
    tree = full_tree(("node",), (4,))
    assert per_unit(tree, placed(tree, np.full(4, 9), 9, Rule("pack", partitions=3)), 0) == [7, 1, 1]


def test_a_rack_of_small_nodes_is_no_place_for_a_share_that_belongs_on_one():
    tree, room = two_levels({"a": dict.fromkeys("12345", 1), "b": {"1": 3, "2": 2}})
    answer = placed(tree, room, 4, PACK, Rule("pack", hard=True))
    assert shown(tree, answer) == {"a": {"1": 1}, "b": {"1": 3}}


class TestSlideProblems:
    """120 machines on 3 zones of 8 racks of 20 servers."""

    tree = full_tree(("zone", "rack", "server"), (3, 8, 20))
    room = np.full(480, 4)

    def place(self, *rules: Rule) -> list[list[int]]:
        answer = placed(self.tree, self.room, 120, *rules)
        return [per_unit(self.tree, answer, level) for level in range(3)]

    def test_first(self):
        zones, on_racks, servers = self.place(
            Rule(least=60, most=60), Rule(least=1, most=16), Rule(least=1, most=2)
        )
        assert zones == [60, 60]
        assert on_racks == [16] * 6 + [12] * 2
        assert servers == [2] * 60

    def test_second(self):
        zones, on_racks, _ = self.place(Rule(least=60, most=60), Rule("spread", least=6, most=16), PACK)
        assert zones == [60, 60]
        assert on_racks == [8] * 8 + [7] * 8

    def test_third(self):
        zones, on_racks, servers = self.place(Rule(hard=True), PACK, Rule(least=2, most=2))
        assert (zones, on_racks, servers) == ([120], [40] * 3, [2] * 60)

    def test_fourth(self):
        zones, on_racks, servers = self.place(
            Rule("spread", partitions=2), Rule("spread", partitions=2), Rule("spread", least=2, most=20)
        )
        assert (zones, on_racks, servers) == ([60, 60], [30] * 4, [2] * 60)


def test_the_large_demonstration():
    tree = full_tree(("region", "zone", "room", "rack", "server"), (3, 3, 2, 8, 20))
    room = np.random.default_rng(5).binomial(5, 0.7, tree.leaves)
    rules = (
        SPREAD,
        Rule("spread", partitions=2),
        Rule("pack", partitions=1, least=180, most=220),
        Rule("spread", partitions=4),
        Rule("pack", least=2, most=5),
    )
    answer = placed(tree, room, 1200, *rules)
    assert per_unit(tree, answer, 0) == [400] * 3
    assert per_unit(tree, answer, 1) == [200] * 6
    assert per_unit(tree, answer, 2) == [200] * 6
    assert per_unit(tree, answer, 3) == [50] * 24
    servers = per_unit(tree, answer, 4)
    assert servers[-1] >= 2
    assert servers[0] <= 5


class TestChoice:
    """Which of several domains that would do as well."""

    tree, room = two_levels({"empty": {"1": 4, "2": 4}, "tight": {"1": 4, "2": 0}, "wide": {"1": 4, "2": 3}})
    cost = np.array([0, 0, 9, 9, 5, 5])

    @pytest.mark.parametrize(
        ("choice", "rack"), [("best-fit", "tight"), ("roomiest", "empty"), ("cheapest", "empty")]
    )
    def test_domain(self, choice, rack):
        answer = placed(self.tree, self.room, 4, PACK, PACK, cost=self.cost, choice=choice)
        assert list(shown(self.tree, answer)) == [rack]

    def test_rooms_are_compared_by_what_counts(self):
        counted = np.array([1, 3, 9, 9, 9, 9])
        answer = placed(self.tree, self.room, 4, PACK, PACK, cost=self.cost, counted=counted)
        assert list(shown(self.tree, answer)) == ["empty"]

    def test_cost_decides_between_domains_of_equal_room(self):
        tree = full_tree(("rack", "node"), (3, 2))
        answer = placed(tree, np.full(6, 4), 4, PACK, PACK, cost=np.array([5, 5, 3, 2, 7, 3]))
        assert answer.tolist() == [0, 0, 0, 4, 0, 0]

    def test_the_last_unit_is_the_tightest_that_will_do(self):
        tree = full_tree(("node",), (4,))
        answer = placed(tree, np.array([2, 3, 1, 3]), 7, PACK)
        assert answer.tolist() == [0, 3, 1, 3]

    def test_equal_units_are_taken_in_tree_order(self):
        tree = full_tree(("rack", "node"), (3, 12))
        answer = placed(tree, np.full(36, 2), 5, PACK, SPREAD)
        assert answer.tolist() == [1] * 5 + [0] * 31


class TestReplacement:
    """Pods that are there stay; the rules hold for them and the new ones together."""

    tree, room = two_levels({"a": {"1": 1, "2": 1}, "b": {"1": 4, "2": 4}})

    def test_goes_to_the_domain_of_the_others(self):
        held = np.array([2, 1, 0, 0])
        answer = placed(self.tree, self.room, 4, Rule(hard=True), PACK, held=held)
        assert shown(self.tree, answer) == {"a": {"1": 3, "2": 1}}

    def test_waits_if_there_is_no_room_in_it(self):
        held = np.array([2, 1, 0, 0])
        answer = asked(self.tree, np.array([0, 0, 4, 4]), 4, Rule(hard=True), PACK, held=held)
        assert not isinstance(answer, np.ndarray)
        assert answer.message.startswith("level rack: hard pack wants all 4 pods on one unit")
        assert "3 of them running" in answer.message
