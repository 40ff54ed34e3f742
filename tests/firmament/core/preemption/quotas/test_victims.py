"""Where quotas of a tree part ways, and who borrows there."""

from __future__ import annotations

import pytest

from firmament.core.constraints.quota_terms import Draw
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.preemption.quotas.victims import Preemptor, is_borrowing, part_ways, stays_within
from tests.firmament.core.constraints.quota_terms import one_of, pose

# 0 is above 1 and 2; 1 above the queues 3 and 4; 2 above the queue 5. Each queue has 4.
PARENT = (-1, 0, 0, 1, 1, 2)


def room(third: int = 0, fourth: int = 0, fifth: int = 0, *, second_has: int = 0) -> RemainingQuota:
    """What the queues 3, 4 and 5 use."""
    return RemainingQuota(
        pose(
            [[0], [0], [second_has], [4], [4], [4]],
            [Draw(3, (one_of(0),))],
            parent=PARENT,
            own=[[0], [0], [0], [third], [fourth], [fifth]],
        )
    )


COMES = Preemptor(3, (0,), (10, 0), -1)


@pytest.mark.parametrize(
    ("node", "other", "expected"),
    [
        (3, 4, (3, 4)),
        (4, 3, (4, 3)),
        (3, 5, (1, 2)),
        (5, 4, (2, 1)),
        (1, 2, (1, 2)),
        (1, 5, (1, 2)),
        (3, 3, (3, 3)),
    ],
)
def test_quotas_part_ways_below_what_they_have_in_common(node: int, other: int, expected: tuple[int, int]):
    assert part_ways(room(), node, other) == expected


@pytest.mark.parametrize(("used", "expected"), [(3, False), (4, False), (5, True)])
def test_a_queue_borrows_if_it_uses_more_than_its_own(used: int, expected: bool):
    assert is_borrowing(room(fourth=used), COMES, 4) is expected
    assert is_borrowing(room(fifth=used), COMES, 5) is expected


def test_so_must_all_above_it_that_are_not_above_the_preemptor():
    assert not is_borrowing(room(fifth=6, second_has=2), COMES, 5)
    assert is_borrowing(room(fifth=7, second_has=2), COMES, 5)
    assert not is_borrowing(room(fifth=7), Preemptor(3, (), (10, 0), -1), 5), (
        "of nothing that the preemptor draws on"
    )


@pytest.mark.parametrize(
    ("used", "beside_sibling", "beside_cousin"),
    [(4, True, True), (5, False, True), (8, False, True), (9, False, False)],
)
def test_the_side_of_a_preemptor_stays_within_its_own(used: int, beside_sibling: bool, beside_cousin: bool):
    assert stays_within(room(third=used), COMES, [4]) is beside_sibling
    assert stays_within(room(third=used), COMES, [5]) is beside_cousin
    assert stays_within(room(third=used), COMES, [5, 4]) is (beside_sibling and beside_cousin)
    assert stays_within(room(third=used), COMES, [])
