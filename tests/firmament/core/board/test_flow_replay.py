"""What a flow proposes is admitted task by task, in an order in which each is valid when it is made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.board.admit_one_by_one import in_valid_order, replay
from firmament.core.board.board import Board
from firmament.core.constraints.pairs import PairRules
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion
from firmament.core.reasons import Reason
from tests.firmament.core.constraints.test_pairs import ruled_apart
from tests.firmament.core.placement.rules import Units, apart, broken, proposed, ruled, together, units
from tests.support.core import problem
from tests.support.rules import counter, ints, spreading

ZONE = [0, 0, 1, 1]
HOST = [0, 1, 2, 3]
FREE = [[9]] * 4


def test_nothing_proposed():
    state = Board(ruled([], {}, tasks=[1], requests=[[1]], free=FREE))
    assert units(replay(state, proposed())) == []


def test_what_rules_forbid_is_refused_and_what_is_admitted_is_booked():
    given = ruled([counter(ZONE)], {0: apart(0)}, tasks=[4], requests=[[2]], free=FREE)
    state = Board(given)
    assert units(replay(state, proposed((0, 1, 2), (0, 0), (0, 3)))) == [(0, 0), (0, 3)]
    assert state.residual.free.T.tolist() == [[7], [9], [9], [7]]
    assert int(state.residual.remaining.sum()) == 2
    assert state.residual.placed.tolist() == [1, 0, 0, 1]
    assert state.rules.counts[0].tolist() == [1, 1]


def test_classes_that_keep_each_other_off_the_same_machines_share_them_out():
    rules = {
        cls: ClassRules(
            adds=(cls,),
            exclusions=tuple(Exclusion(each, Reason.TOO_NEAR) for each in range(3) if each != cls),
        )
        for cls in range(3)
    }
    counters = [counter(list(range(6))) for _ in range(3)]
    given = ruled(counters, rules, tasks=[6] * 3, requests=[[1]] * 3, free=[[9]] * 6)
    state = Board(given)
    every = proposed(*((cls, machine) for cls in range(3) for machine in range(6)))
    assert sorted(units(replay(state, every))) == [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5)]


def test_room_is_kept():
    state = Board(ruled([counter(HOST)], {0: together(0)}, tasks=[9], requests=[[4, 1]], free=[[9, 9]] * 4))
    assert units(replay(state, proposed((0, 2, 4)))) == [(0, 2), (0, 2)]
    assert state.residual.free[:, 2].tolist() == [1, 7]


@pytest.mark.parametrize("limit", [1, 2])
def test_joint_rows_are_kept(limit: int):
    rows = JointRows(ints(0, 0, 0, 0), ints(1), ints(limit), "full")
    given = ruled([counter(HOST)], {0: apart(0)}, tasks=[9], requests=[[1]], free=FREE, joint=[rows])
    state = Board(given)
    assert len(units(replay(state, proposed((0, 0), (0, 1), (0, 2))))) == limit
    assert state.residual.joint[0].left.tolist() == [0]
    assert int(state.residual.remaining.sum()) == 9 - limit


def test_who_does_not_ask_for_a_resource_does_not_mind_that_it_is_overcommitted():
    given = ruled([counter(HOST)], {0: apart(0)}, tasks=[1], requests=[[1, 0]], free=[[1, -5]] * 4)
    state = Board(given)
    assert units(replay(state, proposed((0, 3)))) == [(0, 3)]


# --- order -----------------------------------------------------------------------------------------------------------


def test_a_follower_is_tried_again_once_its_leader_has_come():
    rules = {
        0: ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR)),
        1: ClassRules(adds=(0,)),
    }
    state = Board(ruled([counter(ZONE)], rules, tasks=[2, 1], requests=[[1]] * 2, free=FREE))
    found = units(replay(state, proposed((0, 0), (0, 2), (1, 1))))
    assert found == [(1, 1), (0, 0)]


def test_followers_of_followers_come_in_turn():
    rules = {
        0: ClassRules(adds=(2,), attraction=Attraction((1,), own=False, reason=Reason.NOT_NEAR)),
        1: ClassRules(adds=(1,), attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR)),
        2: ClassRules(adds=(0,)),
    }
    given = ruled([counter(ZONE) for _ in range(3)], rules, tasks=[1] * 3, requests=[[1]] * 3, free=FREE)
    state = Board(given)
    assert units(replay(state, proposed((0, 0), (1, 1), (2, 0)))) == [(2, 0), (1, 1), (0, 0)]


def test_spread_tasks_come_from_the_emptiest_domain_up():
    rule = ClassRules(adds=(0,), spreadings=(spreading(0, ZONE),))
    given = ruled([counter(ZONE, [2, 0])], {0: rule}, tasks=[4], requests=[[1]], free=FREE)
    state = Board(given)
    found = units(replay(state, proposed((0, 0), (0, 2, 2), (0, 3))))
    assert found == [(0, 2), (0, 2), (0, 0), (0, 3)]  # the last two fill their domains to the same height
    assert broken(given, found) == []


def test_important_tasks_come_first_with_or_without_rules():
    given = ruled(
        [counter(HOST)],
        {0: ClassRules(adds=(0,)), 1: ClassRules(exclusions=(Exclusion(0, Reason.TOO_NEAR),))},
        tasks=[1, 1, 1],
        requests=[[5], [5], [5]],
        free=FREE,
        priority=[0, 1, 2],
    )
    state = Board(given)
    assert units(replay(state, proposed((0, 0), (1, 0), (2, 0)))) == [(2, 0)]
    state = Board(replace(given, priority=ints(0, 1, 0)))
    assert units(replay(state, proposed((0, 0), (1, 0), (2, 0)))) == [(1, 0)]


def test_the_longest_waiting_come_first_among_equals():
    given = ruled(
        [counter(HOST)],
        {0: apart(0), 1: apart(0)},
        tasks=[[0, 0, 0, 1], [0, 1, 0, 0]],
        requests=[[1]] * 2,
        free=FREE,
    )
    state = Board(given)
    assert units(replay(state, proposed((0, 0), (1, 0)))) == [(1, 0)]


# --- a placement that is to be put in order --------------------------------------------------------------------------


def test_a_valid_order_is_found():
    rules = {
        0: ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR)),
        1: ClassRules(adds=(0,)),
    }
    given = ruled([counter(ZONE)], rules, tasks=[2, 1], requests=[[1]] * 2, free=FREE)
    found = in_valid_order(given, proposed((0, 0), (0, 1), (1, 1)))
    assert found is not None
    assert units(found) == [(1, 1), (0, 1), (0, 0)]


def test_no_order_is_found_where_there_is_none():
    given = ruled([counter(ZONE)], {0: apart(0)}, tasks=[2], requests=[[1]], free=FREE)
    assert in_valid_order(given, proposed((0, 0), (0, 1))) is None
    crowded = ruled([], {}, tasks=[2], requests=[[5]], free=FREE)
    assert in_valid_order(crowded, proposed((0, 0), (0, 0))) is None


def test_without_rules_any_order_is_valid():
    plain = problem(tasks=[2], requests=[[1]], free=FREE)
    found = in_valid_order(plain, proposed((0, 3), (0, 0)))
    assert found is not None
    expected: Units = [(0, 0), (0, 3)]
    assert units(found) == expected


def test_what_is_admitted_counts_for_pairs():
    """Whether or not rules concern it: the next pass must know where both ends of each pair are."""
    made = ruled([counter([0, 1])], {0: apart(0)}, tasks=[2, 1], requests=[[1], [1]], free=[[2], [2]])
    none = np.empty(0, dtype=np.int64)
    pairs = replace(ruled_apart(), limit=np.array([9.0]))
    board = Board(replace(made, pairs=PairRules(pairs, 100.0, ints(0, 1), none, none)))
    replay(board, proposed((0, 0), (0, 1), (1, 1)))
    assert board.pairs.counts.tolist() == [[1, 1], [0, 1]]
