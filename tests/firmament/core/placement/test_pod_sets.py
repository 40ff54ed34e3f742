"""Sets of tasks that take one flavor together, how quota is dealt out in parts, and in which order gangs draw on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.board.board import Board
from firmament.core.constraints.quota_terms import Draw, QuotaTerms
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.pod_sets import (
    find_divided,
    list_confinements,
    list_pod_sets,
    number_pod_sets,
    pin_pod_sets,
    place_pod_set,
)
from firmament.core.placement.quota_parts import deal_quotas, list_by_quota
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.placement.rules import proposed
from tests.support.core import problem
from tests.support.rules import ints

EITHER = one_of(0, 1)
TWO_KINDS = [[True, False], [False, True]]
"""Machines of kind 0 have flavor 0, machines of kind 1 flavor 1."""


def posed(
    terms: QuotaTerms,
    *,
    count: Sequence[int],
    gang: Sequence[int] = (),
    free: Sequence[int] | None = None,
    priority: Sequence[int] | None = None,
    pins: dict[int, list[int]] | None = None,
) -> PlacementProblem:
    """Classes of so many tasks of one unit each, on machines of 9 units (or ``free``); class c takes draw c."""
    made = problem(
        tasks=count,
        requests=[[1]] * len(count),
        free=[[each] for each in free or [9] * len(terms.kind)],
        priority=priority,
        pins=pins,
    )
    gangs = max(gang, default=-1) + 1
    return replace(
        made,
        quotas=terms,
        gang=ints(*gang),
        gang_need=np.ones(gangs, dtype=np.int64),
    )


def terms_of(
    *draws: Draw, same: bool = True, sparing: bool = False, nominal: Sequence[int] = (9, 9)
) -> QuotaTerms:
    """Two machines of flavor 0, then two of flavor 1."""
    return pose(
        [nominal], draws, kind=[0, 0, 1, 1], covers=TWO_KINDS, same_flavor=(same,), sparing=(sparing,)
    )


BOTH = Draw(0, (EITHER,))
ONE = Draw(0, (one_of(0),))
REFUSED = Draw(-1)


# --- which sets ------------------------------------------------------------------------------------------------------


def test_sets_are_classes_of_gangs_with_a_choice_of_flavors():
    given = posed(terms_of(BOTH, ONE, REFUSED, BOTH), count=[2] * 4, gang=[0, 0, 0, -1])
    assert list_pod_sets(given) == [[0]]
    assert list_pod_sets(given, alone=True) == [[0], [3]]
    assert list_pod_sets(given, [3, 1], alone=True) == [[3]]
    assert list_pod_sets(given, [1, 3]) == []
    assert number_pod_sets(given).tolist() == [0, -1, -1, -1]
    assert list_pod_sets(replace(given, quotas=terms_of(BOTH, ONE, REFUSED, BOTH, same=False))) == []
    assert list_pod_sets(replace(given, quotas=None)) == []
    assert list_pod_sets(replace(given, gang=ints())) == []
    without = replace(given.quotas, draw=ints(-1, -1, -1, -1)) if given.quotas else None
    assert list_pod_sets(replace(given, quotas=without)) == []


def test_classes_of_one_gang_that_take_flavors_together():
    pair = replace(BOTH, together="workers")
    given = posed(terms_of(pair, pair, pair, BOTH, pair), count=[1] * 5, gang=[0, 1, 0, 0, -1])
    assert list_pod_sets(given, alone=True) == [[0, 2], [1], [3], [4]]
    assert number_pod_sets(given).tolist() == [0, 1, 0, 2, -1]
    assert choices(given, [0, 2]) == [{0: [0, 1], 2: [0, 1]}, {0: [2, 3], 2: [2, 3]}]
    assert find_divided(given, proposed((0, 0), (2, 1))).tolist() == [False, False]
    assert find_divided(given, proposed((0, 0), (2, 2))).tolist() == [True, False]
    pins = {cls: rows.tolist() for cls, rows in pin_pod_sets(given, proposed((2, 3))).pins.items()}
    assert pins == {0: [2, 3], 2: [2, 3]}


def test_a_choice_that_covers_no_machine_is_none():
    only = pose([[9, 9]], [BOTH], kind=[0, 0], covers=TWO_KINDS, same_flavor=(True,))
    assert list_pod_sets(posed(only, count=[2], gang=[0])) == []


@pytest.mark.parametrize(
    ("placed", "divided"),
    [
        ([(0, 0), (0, 1)], [False, False]),
        ([(0, 2), (0, 3)], [False, False]),
        ([(0, 1), (0, 2)], [True, False]),
        ([(1, 1), (1, 2)], [False, True]),
        ([(0, 0), (1, 2)], [False, False]),
        ([(2, 0), (2, 3)], [False, False]),
        ([], [False, False]),
    ],
)
def test_gangs_with_a_divided_set(placed: list[tuple[int, int]], divided: list[bool]):
    given = posed(terms_of(BOTH, BOTH, BOTH), count=[2] * 3, gang=[0, 1, -1])
    assert find_divided(given, proposed(*placed)).tolist() == divided


def test_sets_are_pinned_to_their_flavors():
    given = posed(terms_of(BOTH, BOTH, ONE), count=[2] * 3, gang=[0, 0, 0], pins={0: [1, 2]})
    placed = proposed((0, 1), (1, 3), (2, 0))
    pins = {cls: rows.tolist() for cls, rows in pin_pod_sets(given, placed).pins.items()}
    assert pins == {0: [1], 1: [2, 3]}
    some = pin_pod_sets(given, placed, waiting=np.array([False, True, True]))
    assert {cls: rows.tolist() for cls, rows in some.pins.items()} == {0: [1, 2], 1: [2, 3]}
    assert pin_pod_sets(given, placed, waiting=np.zeros(3, dtype=np.bool_)).pins == given.pins
    divided = pin_pod_sets(given, proposed((1, 0), (1, 3)))
    assert {cls: rows.tolist() for cls, rows in divided.pins.items()} == {0: [1, 2]}


def choices(
    given: PlacementProblem, classes: list[int], *, alone: bool = False
) -> list[dict[int, list[int]]]:
    return [
        {cls: np.flatnonzero(machines).tolist() for cls, machines in each.items()}
        for each in list_confinements(given, classes, alone=alone)
    ]


def test_how_sets_may_choose():
    given = posed(terms_of(BOTH, BOTH, ONE, BOTH), count=[2] * 4, gang=[0, 0, 0, -1])
    assert choices(given, [0]) == [{0: [0, 1]}, {0: [2, 3]}]
    assert choices(given, [0, 1]) == [
        {0: [0, 1], 1: [0, 1]},
        {0: [0, 1], 1: [2, 3]},
        {0: [2, 3], 1: [0, 1]},
        {0: [2, 3], 1: [2, 3]},
    ]
    assert choices(given, [2, 3]) == [{}]
    assert choices(given, [3], alone=True) == [{3: [0, 1]}, {3: [2, 3]}]
    assert choices(replace(given, gang=ints()), [0]) == [{}]
    assert choices(replace(given, quotas=None), [0]) == [{}]
    assert choices(replace(given, quotas=terms_of(BOTH, BOTH, ONE, BOTH, same=False)), [0]) == [{}]


def fill(board: Board) -> Assignments:
    """Place all waiting tasks of class 0 that the board takes, one after another."""
    found = []
    for machine in range(board.problem.machines):
        while board.residual.remaining[0].sum() and board.find_fitting(0)[machine]:
            board.book(Assignments.single(0, machine))
            found.append((0, machine))
    return Assignments.from_single_tasks(found)


@pytest.mark.parametrize(
    ("free", "machines"),
    [
        ([2, 2, 2, 2], [0, 0, 1]),
        ([1, 1, 2, 2], [2, 2, 3]),
        ([1, 0, 1, 1], [2, 3]),
        ([1, 1, 1, 1], [0, 1]),
        ([0, 0, 0, 0], []),
    ],
)
def test_a_set_goes_where_most_of_it_finds_places(free: list[int], machines: list[int]):
    given = posed(terms_of(BOTH), count=[3], gang=[0], free=free)
    board = Board(given)
    after, placed = place_pod_set(board, [0], fill)
    assert placed.tasks().machine.tolist() == machines
    assert int(after.residual.remaining[0].sum()) == 3 - len(machines)
    assert int(board.residual.remaining[0].sum()) == 3
    assert after.problem is given


@pytest.mark.parametrize(("sparing", "machines"), [(True, [2, 2]), (False, [0, 0])])
def test_a_set_that_would_rather_not_borrow(sparing: bool, machines: list[int]):
    parents = pose(
        [[9, 9], [1, 2]],
        [Draw(1, (EITHER,))],
        parent=[-1, 0],
        kind=[0, 0, 1, 1],
        covers=TWO_KINDS,
        same_flavor=(True, True),
        sparing=(sparing, sparing),
    )
    _, placed = place_pod_set(Board(posed(parents, count=[2], gang=[0])), [0], fill)
    assert placed.tasks().machine.tolist() == machines


# --- quota in parts --------------------------------------------------------------------------------------------------


def parts(given: PlacementProblem) -> list[tuple[int, int, list[int] | None]]:
    return [
        (part.cls, part.count, None if part.allowed is None else np.flatnonzero(part.allowed).tolist())
        for part in deal_quotas(Residual(given))
    ]


def test_each_class_gets_the_first_flavors_with_quota_and_room():
    assert parts(posed(terms_of(BOTH, nominal=(2, 5)), count=[6])) == [(0, 2, [0, 1]), (0, 4, [2, 3])]
    assert parts(posed(terms_of(BOTH, nominal=(2, 5)), count=[9])) == [(0, 2, [0, 1]), (0, 5, [2, 3])]
    assert parts(posed(terms_of(BOTH), count=[9], free=[1, 1, 3, 3])) == [(0, 2, [0, 1]), (0, 6, [2, 3])]
    assert parts(posed(terms_of(BOTH, nominal=(0, 1)), count=[9])) == [(0, 1, [2, 3])]
    assert parts(posed(terms_of(BOTH, nominal=(0, 0)), count=[9])) == []


def test_a_part_for_all_machines_names_none():
    everywhere = pose([[4]], [ONE], kind=[0, 0])
    assert parts(posed(everywhere, count=[9])) == [(0, 4, None)]


def test_who_draws_on_no_quota_keeps_all_and_who_is_refused_gets_nothing():
    terms = replace(terms_of(BOTH, Draw(0, (EITHER,), refused="no"), BOTH), draw=ints(-1, 1, 2))
    assert parts(posed(terms, count=[9, 9, 2])) == [(0, 9, None), (2, 2, [0, 1])]


def test_the_more_important_class_comes_first():
    terms = pose([[3]], [ONE, ONE], kind=[0])
    assert parts(posed(terms, count=[2, 2], priority=[0, 1])) == [(1, 2, None), (0, 1, None)]
    assert parts(posed(terms, count=[2, 2], priority=[1, 0])) == [(0, 2, None), (1, 1, None)]


def test_who_is_within_its_own_quota_comes_before_who_borrows():
    draws = [Draw(1, (one_of(0),)), Draw(2, (one_of(0),))]
    terms = pose([[3], [0], [2]], draws, parent=[-1, 0, 0], kind=[0])
    assert parts(posed(terms, count=[9, 4], priority=[1, 0])) == [(0, 3, None), (1, 2, None)]
    fewer = pose([[1], [0], [2]], draws, parent=[-1, 0, 0], kind=[0])
    assert parts(posed(fewer, count=[9, 2], priority=[1, 0])) == [(0, 1, None), (1, 2, None)]


def test_in_a_strict_queue_nobody_gets_quota_before_the_one_ahead():
    draws = [Draw(0, (one_of(0),)), Draw(0, (one_of(0),))]
    for strict, dealt in ((True, []), (False, [(1, 2, None)])):
        terms = pose([[9]], draws, kind=[0], strict=np.array([strict]))
        given = replace(posed(terms, count=[1, 2], priority=[1, 0], free=[4]), requests=np.array([[5], [1]]))
        residual = Residual(given)
        assert [(part.cls, part.count, part.allowed) for part in deal_quotas(residual)] == dealt


def test_strict_queues_limit_what_may_still_come():
    terms = pose([[9]], [ONE, ONE], kind=[0], strict=np.array([True]))
    residual = Residual(posed(terms, count=[2, 3], free=[9]))
    assert [(part.cls, part.count) for part in deal_quotas(residual)] == [(0, 2), (1, 3)]
    assert residual.quotas is not None
    assert residual.quotas.most == {0: 2, 1: 3}
    assert residual.quotas.use.own.tolist() == [[0]]


# --- gangs -----------------------------------------------------------------------------------------------------------


def order_of(terms: QuotaTerms, waiting: list[int], members: dict[int, list[int]]) -> list[int]:
    residual = Residual(posed(terms, count=waiting))
    return list(
        list_by_quota(lambda: residual, {gang: ints(*of) for gang, of in members.items()}, ints(*waiting))
    )


def test_gangs_within_their_quota_come_before_those_that_borrow():
    draws = [Draw(1, (one_of(0),)), Draw(2, (one_of(0),)), Draw(-1)]
    terms = replace(pose([[9], [1], [3]], draws, parent=[-1, 0, 0], kind=[0]), draw=ints(0, 1, -1))
    assert order_of(terms, [2, 2, 1], {0: [0], 1: [1], 2: [2]}) == [1, 2, 0]
    assert order_of(terms, [1, 2, 1], {0: [0], 1: [1], 2: [2]}) == [0, 1, 2]
    assert order_of(terms, [1, 4, 1], {1: [1], 0: [0]}) == [0, 1]
    assert order_of(terms, [1, 2, 1], {5: [1], 3: [0]}) == [5, 3]


def test_gangs_of_a_strict_queue_keep_their_order_also_if_an_earlier_one_borrows():
    draws = [Draw(1, (one_of(0),)), Draw(2, (one_of(0),))]
    terms = pose([[9], [2], [2]], draws, parent=[-1, 0, 0], kind=[0])
    waiting, members = [3, 1, 2], {0: [0], 1: [1], 2: [2]}
    terms = replace(terms, draw=ints(0, 0, 1))
    assert order_of(terms, waiting, members) == [1, 2, 0]
    strict = replace(terms, strict=np.array([False, True, False]))
    assert order_of(strict, waiting, members) == [2, 0, 1]


def test_the_order_follows_what_earlier_gangs_have_drawn():
    draws = [Draw(1, (one_of(0),)), Draw(2, (one_of(0),))]
    terms = pose([[9], [2], [2]], draws, parent=[-1, 0, 0], kind=[0])
    residual = Residual(posed(terms, count=[2, 2]))
    found = []
    for gang in list_by_quota(lambda: residual, {0: ints(0), 1: ints(0), 2: ints(1)}, ints(2, 2)):
        found.append(gang)
        if residual.quotas is not None:
            residual.quotas.draw_on(0 if gang < 2 else 1, 0, 2)
    assert found == [0, 2, 1]
