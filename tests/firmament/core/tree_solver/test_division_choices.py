"""Ways to divide a group's members over domains, against listing all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import pytest

from cost_models.group_terms import LevelRule
from firmament.core.tree_solver.nested.divided import choices
from firmament.core.tree_solver.nested.divided.choices import (
    DivisionChoice,
    DivisionChoices,
    MemberCounts,
    MemberShare,
    iterate_dealings,
)
from firmament.core.tree_solver.nested.divided.profiles import DomainRoom
from firmament.core.tree_solver.tree import limits
from tests.support.effort import examples

Dealing = tuple[tuple[int, ...], ...]


def all_dealings(sizes: Sequence[int], waiting: Sequence[int]) -> set[Dealing]:
    """Every way to divide members of several kinds into shares of some sizes."""
    rows = [
        [counts for counts in product(*(range(each + 1) for each in waiting)) if sum(counts) == size]
        for size in sizes
    ]
    return {way for way in product(*rows) if tuple(map(sum, zip(*way, strict=True))) == tuple(waiting)}


def in_order(way: Dealing, sizes: Sequence[int], domains: Sequence[int]) -> bool:
    """Whether shares that could be exchanged come in one order: the larger first."""
    return all(
        way[at] <= way[at - 1]
        for at in range(1, len(way))
        if sizes[at] == sizes[at - 1] and domains[at] == domains[at - 1]
    )


def unevenness(counts: Sequence[int], size: int, left: Sequence[int]) -> float:
    """By how much a share differs from one that has an equal part of each kind."""
    total = sum(left)
    return sum(abs(each - count * size / total) for each, count in zip(counts, left, strict=True))


def test_each_way_is_given_once_and_an_even_one_first():
    for seed in range(examples(150, least=60)):
        draw = random.Random(seed)
        waiting = [draw.randint(0, 3) for _ in range(draw.randint(1, 3))]
        sizes, left = [], sum(waiting)
        for _ in range(draw.randint(0, 2)):
            sizes.append(draw.randint(0, left))
            left -= sizes[-1]
        sizes.append(left)
        domains = [draw.choice((-1, -1, 4)) for _ in sizes]
        found = list(iterate_dealings(sizes, waiting, domains))
        ways = [way for way, _ in found]
        assert all(is_all for _, is_all in found)
        assert len(set(ways)) == len(ways)
        expected = all_dealings(sizes, waiting)
        if len(waiting) > 1:
            expected = {way for way in expected if in_order(way, sizes, domains)}
        assert set(ways) == expected, seed
        if sum(waiting) and len(waiting) > 1:
            least = min(unevenness(way[0], sizes[0], waiting) for way in all_dealings(sizes, waiting))
            assert unevenness(ways[0][0], sizes[0], waiting) == pytest.approx(least)


@pytest.mark.parametrize(
    ("sizes", "waiting", "expected"),
    [([0, 0], [], [((), ())]), ([1], [], []), ([2, 1], [3], [((2,), (1,))]), ([0], [0], [((0,),)])],
)
def test_of_one_kind_or_none_there_is_one_way(sizes: list[int], waiting: list[int], expected: list[Dealing]):
    assert [way for way, _ in iterate_dealings(sizes, waiting, [-1] * len(sizes))] == expected


@pytest.mark.parametrize(
    ("size", "waiting", "first"),
    [
        (50, (20,) * 5, (10,) * 5),
        (52, (20,) * 5, (11, 11, 10, 10, 10)),
        (99, (20,) * 5, (20, 20, 20, 20, 19)),
        (61, (100, 2, 20, 20, 20), (38, 0, 8, 8, 7)),
        (100, (20,) * 5, (20,) * 5),
    ],
)
def test_of_very_many_ways_a_near_even_one_is_given_and_they_are_not_all(
    size: int, waiting: tuple[int, ...], first: tuple[int, ...]
):
    rest = sum(waiting) - size
    (way, is_all) = next(iter(iterate_dealings([size, rest], waiting, [0, 1])))
    assert sum(way[0]) == size
    assert sum(way[1]) == rest
    assert all(a + b == count for a, b, count in zip(*way, waiting, strict=True))
    assert not is_all
    if size != 61:
        assert way[0] == first
    assert (
        max(abs(each - count * size / sum(waiting)) for each, count in zip(way[0], waiting, strict=True)) <= 1
    )


def test_so_many_combinations_of_one_share_are_tried(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(choices, "COMBINATIONS", 3)
    few = list(iterate_dealings([2, 2], [2, 2], [0, 1]))
    assert [way[0] for way, _ in few] == [(1, 1), (0, 2), (2, 0)]
    assert all(is_all for _, is_all in few)
    many = list(iterate_dealings([3, 3], [3, 3], [0, 1]))
    assert len(many) == 3
    assert not many[0][1]


def room(held: tuple[int, ...], held_most: tuple[int, ...], most: tuple[int, ...]) -> DomainRoom:
    return DomainRoom(held=held, held_most=held_most, most=most)


def listed(
    rule: LevelRule, members: MemberCounts, *, binds_held: bool = False
) -> tuple[list[DivisionChoice], bool]:
    """All choices, and whether they are complete."""
    made = DivisionChoices(rule, members, binds_held=binds_held)
    found: list[DivisionChoice] = []
    while (choice := made.get(len(found))) is not None:
        found.append(choice)
    assert made.get(len(found) + 5) is None
    assert [made.get(rank) for rank in range(len(found))] == found, "what was listed is kept"
    return found, made.is_complete


class TestChoices:
    def test_members_are_left_out_one_after_another_down_to_those_that_are_needed(self):
        rule = LevelRule("spread", most=2)
        found, complete = listed(rule, MemberCounts((5,), {}, 3, (room((), (), (5, 5)),)))
        assert complete
        assert [(tuple(share.size for share in each.shares), each.left) for each in found] == [
            ((2, 2), 1),
            ((2, 1), 2),
            ((), 5),
        ]
        assert [(each.is_whole, each.keeps_rule) for each in found] == [
            (True, True),
            (True, True),
            (False, False),
        ]
        assert found[0].shares == (MemberShare(-1, (2,), 2), MemberShare(-1, (2,), 2))

    def test_members_that_are_there_stay_in_their_domains(self):
        rule = LevelRule("pack", most=3)
        found, _ = listed(rule, MemberCounts((2,), {7: 1, 9: 2}, 2, (room((1, 2), (3, 3), (3,)),)))
        assert all([share.domain for share in each.shares][:2] == [7, 9] for each in found)
        assert all(each.shares[0].size >= 1 and each.shares[1].size >= 2 for each in found)
        assert {tuple(share.size for share in each.shares) for each in found if not each.left} == {
            (2, 3),
            (3, 2),
            (1, 3, 1),
            (2, 2, 1),
            (1, 2, 2),
        }
        for each in found:
            held = {7: 1, 9: 2}
            for share in each.shares:
                assert share.size == held.get(share.domain, 0) + sum(share.new)
        assert found[-1] == DivisionChoice(
            (MemberShare(7, (0,), 1), MemberShare(9, (0,), 2)), 2, is_whole=True, keeps_rule=False
        )

    @pytest.mark.parametrize(("least", "whole"), [(1, True), (2, True), (3, False)])
    def test_in_the_end_only_those_that_are_there_are_in_shares(self, least: int, whole: bool):
        members = MemberCounts((1,), {0: 2}, least, (room((2,), (2,), ()),))
        (choice,) = listed(LevelRule("pack", most=1), members)[0]
        assert (choice.left, choice.is_whole, choice.keeps_rule) == (1, whole, False)
        assert listed(LevelRule("pack", most=1), members, binds_held=True)[0] == []

    def test_rules_that_bind_who_is_there_must_be_kept_by_them_too(self):
        """Two are in one domain; a further one must come, so that two domains are used."""
        rule = LevelRule("spread", partitions=2)
        members = MemberCounts((2,), {0: 2}, 2, (room((2,), (3,), (3,)),))
        sizes = [tuple(share.size for share in each.shares) for each in listed(rule, members)[0]]
        assert sizes == [(2, 2), (3, 1), (2, 1), (2,)]
        bound = [
            tuple(share.size for share in each.shares) for each in listed(rule, members, binds_held=True)[0]
        ]
        assert bound == [(2, 2), (3, 1), (2, 1)]

    def test_a_group_that_needs_nobody_may_have_one_member_or_more(self):
        found, _ = listed(LevelRule("spread"), MemberCounts((2,), {}, 0, (room((), (), (2, 2)),)))
        assert [each.left for each in found] == [0, 0, 1, 2]

    def test_kinds_are_divided_evenly_first_and_all_ways_are_listed(self):
        members = MemberCounts((2, 2), {}, 4, (room((), (), (4, 4)),))
        found, complete = listed(LevelRule("spread", partitions=2, least=2), members)
        assert complete
        assert [[share.new for share in each.shares] for each in found] == [
            [(1, 1), (1, 1)],
            [(2, 0), (0, 2)],
            [],
        ]

    def test_so_many_ways_of_one_list_of_sizes_are_listed(self, monkeypatch: pytest.MonkeyPatch):
        members = MemberCounts((3, 3), {}, 6, (room((), (), (6, 6)),))
        rule = LevelRule("spread", partitions=2, least=3)
        every, complete = listed(rule, members)
        assert (len(every), complete) == (3, True)
        monkeypatch.setattr(choices, "DEALINGS", 2)
        assert (len(listed(rule, members)[0]), listed(rule, members)[1]) == (3, True)
        monkeypatch.setattr(choices, "DEALINGS", 1)
        some, complete = listed(rule, members)
        assert (some, complete) == ([every[0], every[-1]], False)


def test_every_division_that_keeps_the_rule_is_listed_the_fewest_left_out_first():
    for seed in range(examples(100, least=40)):
        draw = random.Random(seed)
        rule = LevelRule(
            draw.choice(("pack", "spread")),
            partitions=draw.choice((0, 0, 1, 2)),
            least=draw.choice((0, 0, 2)),
            most=draw.choice((0, 0, 2, 3)),
            factor=draw.choice((1, 1, 1, 2)),
        )
        waiting, least = draw.randint(0, 5), draw.randint(0, 3)
        most = tuple(sorted((draw.randint(1, 4) for _ in range(draw.randint(1, 3))), reverse=True))
        found, complete = listed(rule, MemberCounts((waiting,), {}, least, (room((), (), most),)))
        assert complete
        bounds = limits(rule)
        expected = set()
        for sizes in product(*(range(each + 1) for each in most)):
            used = tuple(sorted((each for each in sizes if each), reverse=True))
            if not used or not max(1, least) <= sum(used) <= waiting:
                continue
            if bounds.units and len(used) != bounds.units:
                continue
            if any(
                each < bounds.low or (bounds.high and each > bounds.high) or each % bounds.step
                for each in used
            ):
                continue
            expected.add(used)
        kept = [tuple(share.size for share in each.shares) for each in found if each.keeps_rule]
        assert len(set(kept)) == len(kept)
        assert set(kept) == expected, (seed, rule, most, waiting)
        left = [each.left for each in found]
        assert left == sorted(left)
