"""What quotas have left, and what tasks take of which flavor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.constraints.quota_flavors import (
    MOST_CHOICES,
    find_flavor_choice,
    list_flavor_choices,
    list_machine_choices,
)
from firmament.core.constraints.quota_order import QuotaOrder, QuotaStanding
from firmament.core.constraints.quota_refusals import list_quota_refusals
from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms, list_amounts, list_columns
from firmament.core.constraints.remaining_quota import ENDLESS, MANY, RemainingQuota
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.support.rules import ints

TWO_KINDS = [[True, False], [False, True]]
"""Machines of kind 0 have flavor 0, machines of kind 1 flavor 1."""


# --- how many more ---------------------------------------------------------------------------------------------------


def test_each_flavor_counts_on_the_machines_that_it_covers():
    draws = [
        Draw(0, (one_of(0, 1, amount=2),)),
        Draw(0, (one_of(1),)),
        Draw(0),
        Draw(-1),
        Draw(0, refused="no"),
    ]
    room = RemainingQuota(pose([[5, 3]], draws, kind=[0, 1, 0], covers=TWO_KINDS))
    assert [room.units_by_kind(draw).tolist() for draw in range(5)] == [
        [2, 1],
        [0, 3],
        [ENDLESS, ENDLESS],
        [0, 0],
        [0, 0],
    ]
    everywhere = RemainingQuota(pose([[5, 3]], draws))
    assert everywhere.units_by_kind(0).tolist() == [3]


def test_all_groups_and_all_resources_of_a_group_must_be_there():
    pair = DrawGroup((0,), ((0, 1),), (2, 1))
    both = [Draw(0, (pair,)), Draw(0, (one_of(0), one_of(1))), Draw(0, (one_of(1), one_of(0, amount=4)))]
    room = RemainingQuota(pose([[9, 3]], both))
    assert [room.units_by_kind(draw).tolist() for draw in range(3)] == [[3], [3], [2]]


def test_what_is_used_beyond_a_quota_leaves_no_negative_room():
    room = RemainingQuota(pose([[2]], [Draw(0, (one_of(0),))], own=[[5]]))
    assert room.units_by_kind(0).tolist() == [0]


def test_bookings_reach_all_draws_of_a_tree_and_no_other():
    draws = [Draw(node, (one_of(0),)) for node in (1, 2, 3)]
    room = RemainingQuota(pose([[4], [0], [0], [9]], draws, parent=[-1, 0, 0, -1]))
    assert [room.units_by_kind(draw).tolist() for draw in range(3)] == [[4], [4], [9]]
    twin = room.copy()
    room.add(0, 0, 3)
    assert [room.units_by_kind(draw).tolist() for draw in range(3)] == [[1], [1], [9]]
    assert [twin.units_by_kind(draw).tolist() for draw in range(3)] == [[4], [4], [9]]
    room.add(0, 0, -2)
    assert room.units_by_kind(1).tolist() == [3]
    assert room.as_terms().own.tolist() == [[0], [1], [0], [0]]
    assert RemainingQuota(room.as_terms()).units_by_kind(1).tolist() == [3]


def test_restricted_draws():
    room = RemainingQuota(pose([[9]], [Draw(0, (one_of(0),)), Draw(0, (one_of(0),))]))
    assert room.units_by_kind(0).tolist() == [9]
    room.restrict_draws({0: 2})
    assert [room.units_by_kind(draw).tolist() for draw in (0, 1)] == [[2], [9]]
    twin = room.copy()
    room.draw_on(0, 0, 1)
    assert [room.units_by_kind(draw).tolist() for draw in (0, 1)] == [[1], [8]]
    room.draw_on(0, 0, 5)
    assert room.most == {0: 0}
    assert twin.most == {0: 2}
    room.restrict_draws({})
    assert room.units_by_kind(0).tolist() == [3]


def test_machines_that_quotas_close():
    room = RemainingQuota(
        pose([[1, 0]], [Draw(0, (one_of(0, 1),)), Draw(0)], kind=[0, 1, 0], covers=TWO_KINDS)
    )
    room = RemainingQuota(replace(room.terms, draw=ints(0, -1)))
    open_to = np.array([True, True, False])
    room.close_full(open_to, 0)
    assert open_to.tolist() == [True, False, False]
    assert [room.lets_in(0, machine) for machine in range(3)] == [True, False, True]
    room.close_full(open_to, 1)
    assert open_to.tolist() == [True, False, False]
    assert room.lets_in(1, 1)
    units = ints(7, 7, 7, 0)
    room.limit_units(units, ints(0, 0, 1, 0), ints(0, 1, 1, 2))
    assert units.tolist() == [1, 0, 7, 0]
    room.limit_units(units, ints(1), ints(0))
    assert units.tolist() == [1, 0, 7, 0]
    assert list_quota_refusals(room, 1) == []


# --- which flavor ----------------------------------------------------------------------------------------------------


def test_the_first_flavor_with_enough_is_used_and_the_last_is_released_first():
    room = RemainingQuota(pose([[3, 4]], [Draw(0, (one_of(0, 1, amount=2),))]))
    room.draw_on(0, 0, 2)
    assert room.use.own.tolist() == [[2, 2]]
    assert room.booked == {(0, 0, 0, 0): 1, (0, 0, 0, 1): 1}
    room.draw_on(0, 0, 2)
    assert room.use.own.tolist() == [[4, 4]]  # one too many, in the first flavor
    room.draw_on(0, 0, -1)
    assert room.use.own.tolist() == [[4, 2]]
    assert room.as_terms().booked == ((0, 0, 0, 0, 2), (0, 0, 0, 1, 1))
    again = RemainingQuota(room.as_terms())
    for each in (room, again):
        each.draw_on(0, 0, -3)
        assert each.use.own.tolist() == [[0, 0]]
    assert room.as_terms().booked == ()
    room.draw_on(0, 0, -1)
    assert room.use.own.tolist() == [[-2, 0]]


def test_what_books_nothing():
    room = RemainingQuota(
        pose([[3, 4]], [Draw(0, (one_of(0, 1),)), Draw(-1, (one_of(0),))], covers=[[False, False]])
    )
    for draw, count in ((-1, 1), (0, 0), (1, 1), (0, 2)):
        room.draw_on(draw, 0, count)
    assert room.use.own.tolist() == [[0, 0]]
    assert room.booked == {}


def test_a_sparing_quota_rather_takes_a_later_flavor_than_to_borrow():
    terms = pose([[9, 9], [1, 2]], [Draw(1, (one_of(0, 1),))], parent=[-1, 0], sparing=(False, True))
    room = RemainingQuota(terms)
    room.draw_on(0, 0, 3)
    assert room.use.own.tolist() == [[0, 0], [1, 2]]
    room.draw_on(0, 0, 2)
    assert room.use.own.tolist() == [[0, 0], [3, 2]]
    eager = RemainingQuota(replace(terms, sparing=()))
    eager.draw_on(0, 0, 3)
    assert eager.use.own.tolist() == [[0, 0], [3, 0]]
    draw = terms.draws[0]
    fresh = RemainingQuota(terms)
    assert [fresh.units_within(draw, draw.groups[0], 1, level) for level in (0, 1)] == [2, 11]


# --- several at once -------------------------------------------------------------------------------------------------


def many(count: int) -> QuotaTerms:
    """So many draws on one quota of 100, each of one task."""
    return pose([[100, 0]], [Draw(0, (one_of(0),)) for _ in range(count)])


@pytest.mark.parametrize("count", [MANY, MANY + 1])
def test_many_draws_are_booked_as_few_are(count: int):
    shapes, zeros = np.arange(count), np.zeros(count, dtype=np.int64)
    room = RemainingQuota(many(count))
    room.restrict_draws({0: 5, 1: 1})
    room.book(shapes, zeros, np.ones_like(shapes))
    assert room.use.own.tolist() == [[count, 0]]
    assert room.units_by_kind(2).tolist() == [100 - count]
    assert room.most == {0: 4, 1: 0}
    room.book(shapes, zeros, -np.ones_like(shapes))
    assert room.use.own.tolist() == [[0, 0]]
    assert room.units_by_kind(2).tolist() == [100]


@pytest.mark.parametrize("count", [2, MANY + 36])
def test_whether_quotas_have_room_for_all(count: int):
    room, zeros = RemainingQuota(many(count)), np.zeros(count, dtype=np.int64)
    shapes = np.arange(count)
    counts = np.ones(count, dtype=np.int64)
    assert room.has_room_for(shapes, zeros, counts)
    counts[-1] += 101 - count
    assert not room.has_room_for(shapes, zeros, counts)
    assert room.use.own.tolist() == [[0, 0]]
    assert room.limit_in_turn(shapes, zeros, counts, -shapes).tolist() == [0, *counts[1:]]
    assert room.limit_in_turn(shapes, zeros, counts, shapes)[-1] == counts[-1] - 1
    counts[-1] -= 1
    assert room.limit_in_turn(shapes, zeros, counts, shapes) is counts


def test_draws_with_a_choice_or_without_admission_are_counted_one_by_one():
    for other in (Draw(0, (one_of(0, 1),)), Draw(-1), Draw(0, refused="no")):
        terms = replace(many(MANY + 2), draws=(*many(MANY + 1).draws, other))
        room, shapes = RemainingQuota(terms), np.arange(MANY + 2)
        room.book(shapes, np.zeros_like(shapes), np.ones_like(shapes))
        booked = bool(other.groups)
        assert room.use.own.tolist() == [[MANY + 1 + booked, 0]]
        assert room.booked == ({(MANY + 1, 0, 0, 0): 1} if booked else {})
        if not booked:
            assert not RemainingQuota(terms).has_room_for(shapes, np.zeros_like(shapes), np.ones_like(shapes))


def test_crowds():
    room = RemainingQuota(replace(pose([[2]], [Draw(0, (one_of(0),))]), draw=ints(0, -1)))
    assert room.find_crowded(ints(0, 1, 0), ints(0, 0, 0)).tolist() == [False, False, False]
    assert room.find_crowded(ints(0, 1, 0, 0), ints(0, 0, 0, 0)).tolist() == [True, False, True, True]
    assert room.limit_in_turn(ints(1, 0), ints(0, 0), ints(9, 0), ints(0, 0)).tolist() == [9, 0]


# --- the order -------------------------------------------------------------------------------------------------------


def test_standings():
    low, high = QuotaStanding(0), QuotaStanding(2)
    assert low < high
    assert not high < low
    assert low == QuotaStanding(0)
    assert low != high
    assert low != 0
    fair = QuotaStanding(2, (0, 1, 2), ((False, 0.5), (True, 0.2)))
    other = QuotaStanding(0, (0, 1, 3), ((True, 0.9), (False, 0.7)))
    assert other < fair  # the paths part at the last level, where only one borrows
    assert QuotaStanding(1, (0, 1), ((True, 0.5),)) < QuotaStanding(0, (0, 2), ((True, 0.6),))
    assert QuotaStanding(1, (0, 1), ((True, 0.5),)) == QuotaStanding(0, (0, 2), ((True, 0.5),))
    assert fair == QuotaStanding(9, (0, 1, 2), ((True, 9.0), (True, 9.0)))
    assert QuotaStanding(0, (4, 1), ((True, 9.0),)) < fair


def test_how_far_up_tasks_borrow():
    draws = [Draw(2, (one_of(0),)), Draw(-1), Draw(2, (one_of(0, 1),))]
    terms = pose([[4, 0], [2, 0], [1, 1]], draws, parent=[-1, 0, 1])
    room = RemainingQuota(terms)
    order = QuotaOrder(room)
    borrows = [order.find_standing([(0, 0, count)]).borrows for count in (1, 2, 3, 4, 7, 8)]
    assert borrows == [0, 1, 1, 2, 2, 2]
    assert order.find_standing([(0, 0, 1), (0, 0, 1), (1, 0, 5)]).borrows == 1
    assert order.find_standing([(2, 0, 2)]).borrows == 1
    assert order.find_standing([]) == QuotaStanding()
    assert room.use.own.tolist() == [[0, 0]] * 3
    assert room.booked == {}
    assert [order.find_height(2, columns) for columns in ([0], [])] == [0, 0]
    room.draw_on(0, 0, 4)
    assert order.find_height(2, [0]) == 2
    assert order.find_height(2, [1]) == 0
    assert order.go_on(room) is order
    assert order.go_on(RemainingQuota(pose([[4]], draws))) is not order


def test_standings_of_fair_queues():
    terms = pose([[4], [2]], [Draw(1, (one_of(0),))], parent=[-1, 0])
    order = QuotaOrder(RemainingQuota(replace(terms, fair=np.array([False, True]))))
    within, beyond = (order.find_standing([(0, 0, count)]) for count in (2, 3))
    assert (within.borrows, within.path, within.shares) == (0, (0, 1), ((False, 0.0),))
    assert (beyond.borrows, beyond.path) == (1, (0, 1))
    [(borrows, share)] = beyond.shares
    assert borrows
    assert share == pytest.approx(1000 / 6)


def test_what_a_draw_takes():
    draw = Draw(0, (DrawGroup((0, 1), ((0, 1), (2, 3)), (5, 6)), one_of(4, amount=7)))
    assert list_columns(draw) == [0, 1, 2, 3, 4]
    covered = np.array([False, True, False, False, True])
    assert list_amounts(draw, covered) == [(2, 5), (3, 6), (4, 7)]
    assert list_amounts(draw, np.ones(5, dtype=np.bool_)) == [(0, 5), (1, 6), (4, 7)]


# --- choices of flavors ----------------------------------------------------------------------------------------------


def choices(terms: QuotaTerms, *draws: int) -> list[list[list[bool]]]:
    """For each choice and draw, the kinds of machines."""
    return [[kinds.tolist() for kinds in choice] for choice in list_flavor_choices(terms, draws)]


COVERS = [[True, False, True], [False, True, True], [False, False, False], [True, True, True]]


def test_choices_of_flavors():
    two = replace(one_of(2), number=1)
    draws = [
        Draw(0, (one_of(0, 1), two)),
        Draw(0, (one_of(2, 0),)),
        Draw(0, (one_of(0), replace(one_of(1), number=1))),
    ]
    terms = pose([[1, 1, 1]], draws, kind=[0, 1, 1, 2], covers=COVERS)
    assert [[kinds for [kinds] in choices(terms, draw)] for draw in range(3)] == [
        [[True, False, False, False], [False, True, False, False]],
        [[True, True, False, False], [True, False, False, False]],
        [],  # only machines of the last kind have both, and there are none
    ]
    assert [[each.tolist() for each in machines] for machines in list_machine_choices(terms, [0])] == [
        [[True, False, False, False]],
        [[False, True, True, False]],
    ]
    [found] = find_flavor_choice(terms, [0], [ints(1, 2)]) or []
    assert found.tolist() == [False, True, True, False]
    assert find_flavor_choice(terms, [0], [ints(0, 1)]) is None
    [first] = find_flavor_choice(terms, [1], [ints(0)]) or []
    assert first.tolist() == [True, True, True, False]


def test_draws_that_choose_together():
    draws = [Draw(0, (one_of(0, 1, 2),)), Draw(0, (one_of(2, 1, 0),)), Draw(0, (one_of(1),)), Draw(0, ())]
    terms = pose([[1, 1, 1]], draws, kind=[0, 1], covers=[[True, False, False], [False, True, False]])
    both = [[[True, False], [True, False]], [[False, True], [False, True]]]
    assert choices(terms, 0, 1) == both
    assert choices(terms, 1, 0) == both[::-1]
    assert choices(terms, 0, 2) == both[1:]
    assert choices(terms, 2, 3) == [[[False, True], [True, True]]]
    found = find_flavor_choice(terms, [0, 1], [ints(), ints(1)])
    assert found is not None
    assert [each.tolist() for each in found] == [[False, True], [False, True]]
    assert find_flavor_choice(terms, [0, 1], [ints(0), ints(1)]) is None


def test_so_many_choices_are_considered():
    flavors = MOST_CHOICES + 1
    covers = np.zeros((flavors, flavors), dtype=np.bool_)
    np.fill_diagonal(covers, val=True)
    draw = Draw(0, (one_of(*range(flavors)),))
    terms = pose([[1] * flavors], [draw], kind=range(flavors), covers=covers.tolist())
    assert len(list_flavor_choices(terms, [0])) == 64


def test_what_terms_say_of_quotas():
    terms = pose([[1]] * 4, [Draw(2), Draw(-1), Draw(3)], parent=[-1, 0, 1, -1], kind=[0, 0])
    assert terms.find_nodes_of(ints(0, 1, 2, -1)).tolist() == [2, -1, 3, -1]
    assert terms.find_nodes(ints(2, 0)).tolist() == [3, 2]
    assert terms.find_roots().tolist() == [0, 0, 0, 3]
    assert terms.find_contested().tolist() == [False] * 4
    for contested in (
        replace(terms, within=ints(0, 0, 1, 0)),
        replace(terms, reclaim=ints(0, 2, 0, 0)),
        replace(terms, borrows=ints(1, 0, 0, 0) > 0),
    ):
        assert contested.find_contested().tolist() == [True, True, True, False]
    assert not terms.is_sparing(0)
    assert replace(terms, sparing=(False, True, False, False)).is_sparing(1)
    assert not replace(terms, sparing=(False, True, False, False)).is_sparing(0)
    assert terms.find_evicting_early().tolist() == [False] * 4
    early = replace(terms, evicts_first=(True, False, False, False))
    assert early.find_evicting_early().tolist() == [True, False, False, False]
    both = replace(early, evicts_before_borrowing=(False, True, False, False))
    assert both.find_evicting_early().tolist() == [True, True, False, False]
    part = terms.part(ints(2, 0), ints(1))
    assert part.draw.tolist() == [2, 0]
    assert part.kind.tolist() == [0]


# --- bounds over all machines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (Draw(0, (one_of(0),)), 5),
        (Draw(0, (one_of(0, amount=2),)), 2),
        (Draw(0, (one_of(1, amount=4),)), 0),
        (Draw(0, (one_of(0), one_of(1))), 3),
        (Draw(0, (one_of(0, 1),)), 8),  # several flavors: together, wherever they are
        (Draw(0, (one_of(0, 1, amount=2),)), 3),
        (Draw(0, (one_of(0, 1), one_of(1))), 3),
        (Draw(0, (one_of(1), one_of(0, 1))), 3),
        (Draw(0, (one_of(0, 1),), refused="no"), 0),
        (Draw(-1, (one_of(0, 1),)), 0),
        (Draw(0, (one_of(0),), refused="no"), 0),
    ],
)
def test_a_bound_on_all_kinds_of_machines_together(draw: Draw, expected: int):
    """Flavors 0 and 1 have 5 and 3 left; the last kind is of machines that stand for none."""
    covers = [[True, True], [True, True], [False, False]]
    room = RemainingQuota(pose([[5, 3]], [draw], kind=[0, 1], covers=covers))
    assert room.count_units(0) == expected


class TestOneKind:
    """What one kind of machines may take is asked for without the others."""

    DRAWS = (
        Draw(0, (one_of(0, 1, amount=2),)),
        Draw(0, (one_of(1),)),
        Draw(0),
        Draw(-1, (one_of(0),)),
        Draw(0, (one_of(0),), refused="no"),
    )

    def test_it_is_the_entry_of_all_kinds(self):
        room = RemainingQuota(pose([[5, 3]], self.DRAWS, kind=[0, 1], covers=TWO_KINDS))
        for draw in range(len(self.DRAWS)):
            for kind in (0, 1):
                expected = int(RemainingQuota(room.terms).units_by_kind(draw)[kind])
                assert room.units_of_kind(draw, kind) == expected, (draw, kind)

    def test_also_where_something_else_limits_the_tasks(self):
        room = RemainingQuota(pose([[9, 9]], self.DRAWS, kind=[0, 1], covers=TWO_KINDS))
        room.restrict_draws({0: 1, 1: 4})
        assert [room.units_of_kind(0, kind) for kind in (0, 1)] == [1, 1]
        assert [room.units_of_kind(1, kind) for kind in (0, 1)] == [0, 4]
        assert room.units_by_kind(0).tolist() == [1, 1]
        room.draw_on(0, 0, 1)
        assert [room.units_of_kind(0, kind) for kind in (0, 1)] == [0, 0]
        room.draw_on(1, 1, 9)
        assert room.units_of_kind(1, 1) == 0
        room.restrict_draws({})
        assert [room.units_of_kind(0, kind) for kind in (0, 1)] == [3, 0]

    def test_what_exceeds_the_quota_leaves_nothing(self):
        room = RemainingQuota(pose([[2]], [Draw(0, (one_of(0),))], own=[[5]]))
        assert (room.units_of_kind(0, 0), room.count_units(0)) == (0, 0)
        assert not room.lets_in(0, 0)


class TestSeveralFlavorsOnOneMachine:
    """Both flavors cover the machine: tasks use the first with enough left, and release the last first."""

    def room(self, *, sparing: bool = False) -> RemainingQuota:
        draws = [Draw(1, (one_of(0, 1),))]
        return RemainingQuota(pose([[2, 2], [2, 3]], draws, parent=[-1, 0], sparing=(False, sparing)))

    def used(self, room: RemainingQuota) -> list[int]:
        """What is used in each flavor."""
        found: list[int] = room.as_terms().own[1].tolist()
        return found

    @pytest.mark.parametrize(
        ("count", "rash", "sparing"),
        [
            (1, [1, 0], [1, 0]),
            (3, [3, 0], [2, 1]),
            (5, [4, 1], [2, 3]),
            (7, [4, 3], [4, 3]),
            (9, [4, 5], [4, 5]),
        ],
    )
    def test_flavors_are_used_in_turn(self, count: int, rash: list[int], sparing: list[int]):
        for spares, expected in ((False, rash), (True, sparing)):
            room = self.room(sparing=spares)
            room.draw_on(0, 0, count)
            assert self.used(room) == expected
            one_by_one = self.room(sparing=spares)
            for _ in range(count):
                one_by_one.draw_on(0, 0, 1)
            assert self.used(one_by_one) == expected

    def test_beyond_the_quota_the_first_flavor_is_overdrawn(self):
        room = self.room()
        room.draw_on(0, 0, 12)
        assert self.used(room) == [7, 5]
        assert room.as_terms().booked == ((0, 0, 0, 0, 7), (0, 0, 0, 1, 5))

    @pytest.mark.parametrize(("back", "left"), [(1, [4, 0]), (2, [3, 0]), (5, [0, 0])])
    def test_the_last_flavor_is_released_first(self, back: int, left: list[int]):
        room = self.room()
        room.draw_on(0, 0, 5)
        room.draw_on(0, 0, -back)
        assert self.used(room) == left
        again = RemainingQuota(room.as_terms())
        assert self.used(again) == left
        again.draw_on(0, 0, -1)
        assert self.used(again) == [max(0, left[0] - 1), 0] if left[0] else [-1, 0]

    def test_nothing_is_used_where_no_flavor_covers_the_machine_or_nobody_draws(self):
        draws = [Draw(0, (one_of(0, 1),)), Draw(-1, (one_of(0),))]
        room = RemainingQuota(pose([[2, 2]], draws, kind=[0], covers=[[False, False]]))
        room.draw_on(0, 0, 3)
        room.draw_on(1, 0, 3)
        room.draw_on(-1, 0, 3)
        assert room.as_terms().own.tolist() == [[0, 0]]


def test_who_keeps_what_it_has_borrowed_cannot_be_asked_for_it():
    draws = [Draw(0, (one_of(0),))]
    assert pose([[1], [1]], draws).is_reclaimable(1)
    kept = pose([[1], [1]], draws, keeps_borrowed=(False, True))
    assert (kept.is_reclaimable(0), kept.is_reclaimable(1)) == (True, False)


def test_roots_of_a_tree_of_three_levels():
    terms = pose([[1]] * 6, [], parent=[-1, 0, 1, -1, 3, 1])
    assert terms.tree.roots.tolist() == terms.find_roots().tolist() == [0, 0, 0, 3, 3, 0]
    assert [each.tolist() for each in terms.tree.levels] == [[0, 3], [1, 4], [2, 5]]
