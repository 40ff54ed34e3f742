"""The words for what quotas lack, and the machines that they close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firmament.core.constraints.quota_refusals import list_quota_refusals
from firmament.core.constraints.quota_terms import Draw
from firmament.core.constraints.remaining_quota import RemainingQuota
from tests.firmament.core.constraints.quota_terms import one_of, pose

TWO_KINDS = [[True, False], [False, True]]
"""Machines of kind 0 have flavor 0, machines of kind 1 flavor 1."""


def words(room: RemainingQuota, shape: int = 0) -> list[tuple[str, list[bool]]]:
    return [(str(reason.text), refused.tolist()) for reason, refused in list_quota_refusals(room, shape)]


def test_who_is_not_admitted_and_machines_of_no_flavor():
    draws = [Draw(0, refused="the queue is stopped"), Draw(0, (one_of(0),))]
    room = RemainingQuota(pose([[1, 1]], draws, kind=[0, 1], covers=TWO_KINDS))
    assert words(room) == [("the queue is stopped", [True, True])]
    assert words(room, 1) == [("quota: node(s) of no flavor of q0", [False, True])]
    room.draw_on(1, 0, 1)
    assert words(room, 1) == [
        ("quota: q0 has not enough cpu left of flavor f0", [True, False]),
        ("quota: node(s) of no flavor of q0", [False, True]),
    ]


def test_the_first_group_that_lacks_something_is_named():
    draw = Draw(0, (one_of(0), one_of(1, 2, amount=3)))
    room = RemainingQuota(pose([[1, 2, 2]], [draw]))
    assert words(room) == [("quota: q0 has not enough cpu left of flavor f1", [True])]
    room = RemainingQuota(pose([[1, 2, 3]], [draw]))
    assert words(room) == []
    room.restrict_draws({0: 0})
    assert words(room) == [("quota: q0 has nothing left", [True])]


def lack(parent: Sequence[int], amount: int, **more: Any) -> str:
    nominal = [[4], [2], [1]][: len(parent)]
    draw = Draw(len(parent) - 1, (one_of(0, amount=amount),))
    [(text, _)] = words(RemainingQuota(pose(nominal, [draw], parent=parent, **more)))
    return text.removeprefix(f"quota: q{len(parent) - 1} has not enough cpu left of flavor f0")


def test_whose_limit_or_borrowing_is_in_the_way():
    assert lack([-1], 5) == ""
    assert lack([-1, 0, 1], 8) == " (nor has q0)"
    assert lack([-1, 0, 1], 4, limit=[[None], [None], [3]]) == " (limit of q2)"
    assert lack([-1, 0, 1], 4, limit=[[3], [None], [None]]) == " (limit of q0)"
    assert lack([-1, 0, 1], 4, borrowing=[[None], [None], [2]]) == " (most that q2 may borrow)"
    assert lack([-1, 0, 1], 5, borrowing=[[None], [1], [None]]) == " (most that q1 may borrow)"
    assert lack([-1, 0, 1], 8, borrowing=[[None], [9], [9]]) == " (nor has q0)"
    assert lack([-1, 0, 1], 8, lending=[[None], [0], [0]]) == " (nor has q0)"
