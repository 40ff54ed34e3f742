"""The order in which tasks draw on quotas: by how far up they borrow, and by the share that they borrow."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.board.board import Board
from firmament.core.constraints.quota_order import WEIGHTLESS, QuotaOrder, QuotaShares, QuotaStanding
from firmament.core.constraints.quota_terms import Draw
from firmament.core.constraints.remaining_quota import RemainingQuota
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks
from tests.support.rules import ints


@pytest.mark.parametrize("weight", [1.0, 4.0, 0.0])
def test_a_share_is_what_is_borrowed_of_what_those_above_could_lend(weight):
    core = scheduler(
        machine("a"),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 6000}}),
        quota("team", {"any": {"cpu": 2000}}, parent="cohort", fair=True, weight=weight),
        tasks(1, "t", content=task_class(100, queue="team")),
    )
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    quotas = Board(snapshot.problem).residual.quotas
    assert quotas is not None
    shares, [draw] = QuotaShares(quotas.terms), quotas.terms.draws
    own = quotas.terms.tree.subtree[draw.node]
    assert shares.compute(draw.node, own) == 0.0
    assert shares.compute(draw.node, own - 1) == 0.0
    counted = 1 / weight if weight else WEIGHTLESS
    assert shares.compute(draw.node, own + 2000) == pytest.approx(250.0 * counted)
    top = quotas.use.list_path(draw.node)[-1]
    assert top != draw.node
    assert shares.compute(top, quotas.terms.tree.subtree[top] + 2000) == 0.0


def of_tree(*used: tuple[int, int], fair: bool = False) -> QuotaOrder:
    """The order after tasks of ``used`` (quota, number) have come; each takes 1, and draw N is of quota N.

    Quota 0 with 10 of its own is above quotas 1 and 2 with 4 each; quota 3 with 6 stands alone.
    """
    draws = [Draw(node, (one_of(0),)) for node in range(4)]
    room = RemainingQuota(pose([[10], [4], [4], [6]], draws, parent=[-1, 0, 0, -1], fair=np.full(4, fair)))
    for node, count in used:
        room.draw_on(node, 0, count)
    return QuotaOrder(room)


@pytest.mark.parametrize(
    ("used", "draw", "count", "height"),
    [
        ([], 1, 4, 0),  # all that the quota has itself
        ([], 1, 5, 1),  # one more comes from above
        ([(1, 3)], 1, 1, 0),
        ([(1, 3)], 1, 2, 1),
        ([(1, 4)], 2, 4, 0),  # what a sibling uses of its own is not missing here
        ([], 1, 99, 1),  # nobody has it: the root's height
        ([], 0, 18, 1),
        ([], 3, 7, 0),  # a quota alone has no levels below
    ],
)
def test_who_needs_to_borrow_from_further_up_comes_later(
    used: list[tuple[int, int]], draw: int, count: int, height: int
):
    order = of_tree(*used)
    assert order.find_standing([(draw, 0, count)]).borrows == height
    # The same, of tasks of two draws, one of which draws on nothing.
    both = [(draw, 0, count - 1), (draw, 0, 1)]
    assert order.find_standing(both).borrows == height


def test_of_several_draws_the_one_that_borrows_from_furthest_up_decides():
    order = of_tree()
    within, beyond = (1, 0, 1), (2, 0, 5)
    assert order.find_standing([within, beyond]).borrows == 1
    assert order.find_standing([beyond, within]).borrows == 1
    assert order.find_standing([within, (2, 0, 4)]).borrows == 0
    assert order.find_standing([]).borrows == 0


def test_asking_for_a_standing_books_nothing():
    for fair in (False, True):
        order = of_tree((1, 2), fair=fair)
        room = order._room
        before = room.use.own.tolist(), room.use.used.tolist(), room.units_by_kind(2).tolist()
        order.find_standing([(1, 0, 3), (2, 0, 9)])
        order.find_standing([(1, 0, 3)])
        assert (room.use.own.tolist(), room.use.used.tolist(), room.units_by_kind(2).tolist()) == before


def test_tasks_with_several_flavors_stand_by_those_that_they_would_take():
    room = RemainingQuota(pose([[0, 5], [2, 3]], [Draw(1, (one_of(0, 1),))], parent=[-1, 0]))
    order = QuotaOrder(room)
    assert [order.find_standing([(0, 0, count)]).borrows for count in (2, 5, 6)] == [0, 0, 1]
    assert (room.booked, room.most) == ({}, {}), "asking leaves no trace"


def test_what_a_quota_keeps_for_itself_is_not_asked_of_those_above():
    # Quota 2 lends 1 of its 4, so quota 1 has 3: 6 tasks take 3 from there, 7 take 4.
    terms = pose([[9], [2], [4]], [Draw(2, (one_of(0),))], parent=[-1, 0, 1], lending=[[None], [None], [1]])
    order = QuotaOrder(RemainingQuota(terms))
    assert [order.find_standing([(0, 0, count)]).borrows for count in (4, 6, 7)] == [0, 1, 2]


def test_fair_shares_count_with_what_is_requested():
    order = of_tree((1, 5), (2, 4), fair=True)
    borrower, saver = order.find_standing([(1, 0, 1)]), order.find_standing([(2, 0, 1)])
    assert (borrower.path, saver.path) == ((0, 1), (0, 2))
    # 18 in all: 2 and 1 beyond the 4 of each.
    assert [borrows for borrows, _ in (*borrower.shares, *saver.shares)] == [True, True]
    assert [share for _, share in (*borrower.shares, *saver.shares)] == pytest.approx([2000 / 18, 1000 / 18])
    assert saver < borrower
    exact = of_tree((1, 3), fair=True).find_standing([(1, 0, 1)])
    assert exact.shares == ((False, 0.0),), "all of its own, and nothing borrowed"


def stand(borrows: int = 0, path: tuple[int, ...] = (), *shares: tuple[bool, float]) -> QuotaStanding:
    return QuotaStanding(borrows, path, shares)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (stand(0), stand(1)),
        (stand(0, (9, 1), (True, 5.0)), stand(1)),  # one without shares: by height
        (stand(0), stand(1, (9, 1), (False, 0.0))),
        (stand(0, (8, 1), (True, 5.0)), stand(1, (9, 2), (False, 0.0))),  # other roots: by height
        (stand(1, (9, 1), (False, 7.0)), stand(0, (9, 2), (True, 1.0))),  # who does not borrow
        (stand(1, (9, 1), (True, 1.0)), stand(0, (9, 2), (True, 7.0))),  # the smaller share
        # Level by level from the root: where paths part, not further down.
        (stand(0, (9, 1, 3), (True, 1.0), (True, 7.0)), stand(0, (9, 2, 4), (True, 2.0), (False, 0.0))),
        # A common node says nothing.
        (stand(0, (9, 1, 3), (True, 5.0), (True, 1.0)), stand(0, (9, 1, 4), (True, 5.0), (True, 2.0))),
    ],
)
def test_which_of_two_tasks_comes_first(first: QuotaStanding, second: QuotaStanding):
    assert first < second
    assert not second < first
    assert first != second
    assert (first.compare(second) < 0, second.compare(first) > 0) == (True, True)


def test_tasks_of_one_queue_and_equal_heights_are_equal():
    assert stand(1) == stand(1, (9, 1), (True, 2.0))
    assert stand(0, (9, 1), (True, 1.0)) == stand(3, (9, 1), (True, 7.0)), "the same quota"
    assert stand(0, (9, 1), (True, 2.0)) == stand(0, (9, 2), (True, 2.0))


def test_a_share_leaves_out_resources_that_nobody_could_lend():
    # cpu: 2 beyond of 8 that could be lent; gpu: 5 beyond of nothing.
    terms = pose([[4, 0], [4, 0]], [], parent=[1, -1], resource=np.array([0, 1]))
    shares = QuotaShares(terms)
    assert shares.compute(0, ints(6, 5)) == 250.0
    assert shares.compute(0, ints(4, 5)) == 0.0
    # Flavors of one resource add up: 1 and 2 beyond, of 8 and 8.
    alike = QuotaShares(pose([[4, 4], [4, 4]], [], parent=[1, -1]))
    assert alike.compute(0, ints(5, 6)) == pytest.approx(3000 / 16)


def test_an_order_goes_on_with_the_quotas_of_the_next_room():
    order = of_tree()
    full = order._room.copy()
    full.draw_on(1, 0, 4)
    assert order.go_on(full) is order
    assert order.find_standing([(1, 0, 1)]).borrows == 1, "by what the other room has left"
    other = of_tree()._room
    assert order.go_on(other) is not order
    assert order.go_on(other).find_standing([(1, 0, 1)]).borrows == 0
