"""Upper bounds on quota and room once victims have left: what they count, and that they change no state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.bounds import (
    BorrowingBound,
    FreedBound,
    QuotaBound,
    RoomBound,
    find_single_kind,
    give_back,
    list_within_reach,
)
from firmament.core.preemption.quotas.victims import Preemptor
from tests.firmament.core.constraints.quota_terms import one_of
from tests.firmament.core.constraints.quota_terms import pose as pose_quotas
from tests.firmament.core.preemption.quotas.quota_states import quota_state
from tests.firmament.core.preemption.states import Victim, Waiting

BOTH = [[True, False], [False, True], [False, False]]
"""Machines of kind 0 are of flavor 0, those of kind 1 of flavor 1; the last row is of machines that are gone."""


def two_flavors(used: list[list[int]], **more: Any) -> QuotaTerms:
    """Two queues that have 2 of each flavor; class 0 draws on the first, 1 on the second, and 2 on none."""
    draws = [Draw(0, (one_of(0, 1),)), Draw(1, (one_of(0, 1),))]
    return pose_quotas(
        [[2, 2], [2, 2]],
        draws,
        kind=(0, 1),
        covers=BOTH,
        own=used,
        **{"draw": np.array([0, 1, -1]), **more},
    )


def full(used: list[list[int]] | None = None) -> PreemptionState:
    """Two machines, one of each flavor, with two victims of the first queue on the first and one on the second."""
    victims = [Victim(0, (1,)), Victim(0, (1,)), Victim(1, (1,))]
    terms = two_flavors(used or [[2, 2], [2, 2]])
    return quota_state(terms, [Waiting((1,), count=5)] * 3, [[0], [0]], victims, draws=[0, 0, 0])


class TestQuota:
    @pytest.mark.parametrize(
        ("victims", "count", "expected"),
        [
            ([], 1, False),
            ([0], 1, True),
            ([0], 2, False),
            ([0, 2], 2, True),
            ([0, 2], 3, False),
            ([0, 1, 2], 3, True),
            ([], 0, True),
        ],
    )
    def test_what_victims_use_is_enough(self, victims: list[int], count: int, expected: bool):
        now = full()
        assert QuotaBound(now, victims).is_enough([(0, count)]) is expected
        step = QuotaBound(now)
        for victim in victims:
            step.let_go([victim])
        assert step.is_enough([(0, count)]) is expected
        assert now.quotas is not None
        assert now.quotas.units_by_kind(0).tolist() == [0, 0, 0], "the state stays"

    def test_every_class_must_have_enough_and_those_without_quota_always_have(self):
        bound = QuotaBound(full(), [0])
        assert bound.is_enough([(0, 1), (2, 99)])
        assert not bound.is_enough([(0, 1), (1, 1)])
        assert bound.is_enough([])

    def test_each_task_gives_back_the_flavor_of_its_machine(self):
        now = full()
        assert now.quotas is not None
        left = now.quotas.copy()
        give_back(left, now.preemption, [2])
        assert left.units_by_kind(0).tolist() == [0, 1, 0]
        give_back(left, now.preemption, iter([0, 1]))
        assert left.units_by_kind(0).tolist() == [2, 1, 0]
        give_back(left, now.preemption, [])
        assert left.units_by_kind(0).tolist() == [2, 1, 0]


def lacking(amount: int, used: int, **more: Any) -> PreemptionState:
    """One queue that has 4 of cpu and 10 of memory in one flavor; a task takes ``amount`` of cpu and 1 of memory."""
    draws = [
        Draw(0, (DrawGroup((0,), ((0, 1),), (amount, 1)),)),
        Draw(0, (DrawGroup((0,), ((0, 1),), (2, 5)),)),
        Draw(0, (DrawGroup((0, 1), ((0, 1), (2, 3)), (1, 1)),)),
    ]
    terms = pose_quotas(
        [[4, 10, 9, 9]],
        draws,
        covers=[[True, True], [False, False]],
        own=[[used, 10, 0, 0]],
        **more,
    )
    victims = [Victim(0, (1,))] * 4
    return quota_state(terms, [Waiting((1,))] * 3, [[0]], victims, draws=[1, 1, -1, 0])


class TestFreed:
    @pytest.mark.parametrize(
        ("victims", "expected"), [([], False), ([0], False), ([0, 2], False), ([0, 1], True), ([0, 3], True)]
    )
    def test_victims_must_use_what_is_lacking_of_every_resource(self, victims: list[int], expected: bool):
        # One task lacks 3 of cpu and 1 of memory; victims 0 and 1 use 2 of cpu each, 2 nothing, and 3 uses 3.
        assert FreedBound(lacking(3, 4), [(0, 1)]).is_enough(victims) is expected

    def test_memory_alone_may_be_lacking(self):
        bound = FreedBound(lacking(1, 0), [(0, 4)])
        assert not bound.is_enough([])
        assert not bound.is_enough([3, 3, 3]), "one of memory each"
        assert bound.is_enough([0])

    def test_what_is_left_counts(self):
        now = lacking(2, 1)
        assert not FreedBound(now, [(0, 1)]).is_enough([])  # of memory nothing is left
        assert FreedBound(now, [(0, 1)]).is_enough([3])
        assert not FreedBound(now, [(0, 3)]).is_enough([3, 3])
        assert FreedBound(now, [(0, 3)]).is_enough([3, 3, 3])

    def test_classes_of_one_queue_are_summed(self):
        now = lacking(3, 4)
        assert FreedBound(now, [(0, 1), (1, 1)]).is_enough([0, 1, 3])
        assert not FreedBound(now, [(0, 1), (1, 1)]).is_enough([0, 1])

    def test_who_may_choose_a_flavor_lacks_nothing_here(self):
        assert FreedBound(lacking(3, 4), [(2, 9)]).is_enough([])

    def test_a_class_without_quota_lacks_nothing(self):
        assert FreedBound(lacking(3, 4, draw=np.array([-1, 0, 1])), [(0, 9)]).is_enough([])


def roomy(
    free: list[list[int]], size: tuple[int, ...], victims: list[Victim], **more: Any
) -> PreemptionState:
    terms = pose_quotas([[9]], [Draw(0, (one_of(0),))], kind=(0,) * len(free))
    return quota_state(terms, [Waiting(size, count=9)], free, victims, draws=[0] * len(victims), **more)


class TestRoom:
    @pytest.mark.parametrize(
        ("count", "victims", "expected"),
        [
            (1, [], True),
            (2, [], False),
            (2, [0], False),
            (2, [0, 1], True),
            (2, [2], True),
            (3, [2], False),
            (3, [0, 1, 2], True),
            (4, [0, 1, 2], False),
        ],
    )
    def test_tasks_fit_what_is_free_and_what_victims_give_back(
        self, count: int, victims: list[int], expected: bool
    ):
        sizes = [Victim(0, (1,)), Victim(0, (1,)), Victim(1, (2,))]
        now = roomy([[0], [3]], (2,), sizes)
        bound = RoomBound(now, [(0, count)])
        bound.let_go(victims)
        assert bound.is_enough() is expected
        assert now.room.tolist() == [[0], [3]], "the state stays"

    def test_one_machine_is_enough_for_all_and_no_more_are_counted_than_come(self):
        assert RoomBound(roomy([[9], [0]], (2,), []), [(0, 4)]).is_enough()
        bound = RoomBound(roomy([[9], [0]], (2,), [Victim(0, (9,))]), [(0, 5)])
        assert not bound.is_enough()
        bound.let_go([0])
        assert bound.is_enough()

    def test_machines_that_filters_close_do_not_count(self):
        now = roomy([[9], [1]], (2,), [Victim(0, (5,)), Victim(1, (1,))], feasible=[[False, True]])
        bound = RoomBound(now, [(0, 1)])
        bound.let_go([0])
        assert not bound.is_enough()
        bound.let_go([1])
        assert bound.is_enough()

    def test_machines_that_only_joint_rows_close_do(self):
        closed = {"feasible": [[False, True]], "occupied": [[True, False]]}
        assert RoomBound(roomy([[2], [0]], (2,), [], **closed), [(0, 1)]).is_enough()
        assert RoomBound(roomy([[2], [2]], (2,), [], **closed), [(0, 2)]).is_enough()

    def test_pins_close_all_others(self):
        assert not RoomBound(roomy([[2], [0]], (2,), [], pins={0: [1]}), [(0, 1)]).is_enough()
        assert RoomBound(roomy([[2], [2]], (2,), [], pins={0: [1]}), [(0, 1)]).is_enough()

    def test_the_scarcest_resource_decides_and_others_may_be_overdrawn(self):
        assert not RoomBound(roomy([[9, 1]], (2, 1), []), [(0, 2)]).is_enough()
        assert RoomBound(roomy([[9, 2]], (2, 1), []), [(0, 2)]).is_enough()
        assert RoomBound(roomy([[9, -5]], (2, 0), []), [(0, 2)]).is_enough()

    def test_an_overdrawn_machine_takes_nothing_away_from_others(self):
        bound = RoomBound(roomy([[-6], [2]], (2,), [Victim(0, (7,)), Victim(0, (1,))]), [(0, 2)])
        bound.let_go([0])
        assert not bound.is_enough()
        bound.let_go([1])
        assert bound.is_enough()
        assert RoomBound(roomy([[-6], [2]], (2,), []), [(0, 1)]).is_enough()

    def test_every_class_needs_room(self):
        terms = pose_quotas([[9]], [Draw(0, (one_of(0),))] * 2)
        now = quota_state(terms, [Waiting((2,)), Waiting((5,))], [[4]])
        assert RoomBound(now, [(0, 2)]).is_enough()
        assert not RoomBound(now, [(0, 2), (1, 1)]).is_enough()


# 0 is above the queues 1 and 2, which have 4 each; 3 is a queue of its own.
PARENT = (-1, 0, 0, -1)


def tree(first: int, second: int, **more: Any) -> PreemptionState:
    """What the queues 1 and 2 use; victims 0 and 1 are of queue 1, 2 and 3 of queue 2; class 0 waits in queue 1."""
    terms = pose_quotas(
        [[0], [4], [4], [4]],
        [Draw(1, (one_of(0),)), Draw(2, (one_of(0),)), Draw(1, (one_of(0, 0),))],
        parent=PARENT,
        covers=[[True], [False]],
        own=[[0], [first], [second], [0]],
        **more,
    )
    victims = [Victim(0, (1,), priority) for priority in (0, 1, 2, 3)]
    return quota_state(terms, [Waiting((1,), count=9)] * 3, [[0]], victims, draws=[0, 0, 1, 1])


NODE = np.array([1, 1, 2, 2])
COMES = Preemptor(1, (0,), (10, -9), -1)


class TestReach:
    @pytest.mark.parametrize(
        ("used", "count", "expected"),
        [(3, 1, [0, 1, 2, 3]), (4, 1, [0, 1]), (4, 0, [0, 1, 2, 3]), (0, 5, [0, 1]), (0, 4, [0, 1, 2, 3])],
    )
    def test_other_queues_are_out_of_reach_if_the_preemptor_would_borrow(
        self, used: int, count: int, expected: list[int]
    ):
        found = list_within_reach(tree(used, 4), NODE, COMES, [(0, count)], [0, 1, 2, 3], [])
        assert [*found] == expected

    def test_everybody_has_left_by_then(self):
        assert [*list_within_reach(tree(4, 4), NODE, COMES, [(0, 1)], [0, 2], [0])] == [0, 2]
        assert [*list_within_reach(tree(5, 4), NODE, COMES, [(0, 1)], [0, 2], [0])] == [0]
        assert [*list_within_reach(tree(5, 4), NODE, COMES, [(0, 1)], [2], [0, 1])] == [2]

    def test_flavors_that_depend_on_the_machine_leave_nobody_out(self):
        assert [*list_within_reach(tree(9, 4), NODE, COMES, [(2, 1)], [2, 3], [])] == [2, 3]

    def test_a_policy_may_let_it_borrow(self):
        borrows = {"borrows": np.array([False, True, False, False]), "threshold": np.array([0, 2, 0, 0])}
        found = list_within_reach(tree(4, 4, **borrows), NODE, COMES, [(0, 1)], [0, 2, 3], [])
        assert [*found] == [0, 2]


class TestBorrowing:
    def bound(self, first: int, second: int, count: int = 1, cls: int = 0, **more: Any) -> BorrowingBound:
        return BorrowingBound(tree(first, second, **more), NODE, COMES, [(cls, count)])

    @pytest.mark.parametrize(
        ("used", "victims", "exceeded"),
        [
            (4, [], False),
            (4, [0], False),
            (4, [2], True),
            (3, [2], False),
            (4, [0, 2], False),
            (5, [0, 2], True),
            (5, [0, 1, 2], False),
        ],
    )
    def test_it_is_exceeded_if_the_preemptor_borrows_beside_victims(
        self, used: int, victims: list[int], exceeded: bool
    ):
        bound = self.bound(used, 4)
        bound.let_go(victims)
        assert bound.is_exceeded() is exceeded
        step = self.bound(used, 4)
        for victim in victims:
            step.let_go([victim])
        assert step.is_exceeded() is exceeded

    def test_a_policy_fair_shares_or_a_choice_of_flavors_lift_it(self):
        lifted: list[dict[str, Any]] = [
            {"borrows": np.array([False, True, False, False]), "threshold": np.array([0, 2, 0, 0])},
            {"fair": np.array([False, True, False, False])},
            {"cls": 2},
        ]
        for more in lifted:
            bound = self.bound(4, 4, **more)
            bound.let_go([2])
            assert not bound.is_exceeded()
        above = self.bound(4, 4, **lifted[0])
        above.let_go([3])
        assert above.is_exceeded(), "more important than the threshold"

    def test_other_queues_that_no_longer_borrow_are_covered(self):
        bound = self.bound(0, 5)
        assert not bound.is_covered(2)
        bound.let_go([3])
        assert bound.is_covered(2)
        assert not bound.is_covered(0), "the preemptor's own queue"
        fair = self.bound(0, 4, fair=np.array([False, True, False, False]))
        assert not fair.is_covered(2)
        assert self.bound(0, 4).is_covered(2)

    def test_the_state_stays(self):
        now = tree(4, 5)
        BorrowingBound(now, NODE, COMES, [(0, 3)]).let_go([0, 2])
        assert now.quotas is not None
        assert now.quotas.use.own[:, 0].tolist() == [0, 4, 5, 0]


class TestSingleKind:
    def room(self, groups: tuple[DrawGroup, ...], covers: list[list[bool]]) -> RemainingQuota:
        kinds = tuple(range(len(covers) - 1))
        return RemainingQuota(pose_quotas([[9, 9]], [Draw(0, groups)], kind=kinds, covers=covers))

    @pytest.mark.parametrize(
        ("flavors", "expected"), [((0,), 1), ((1,), 0), ((0, 1), 2), ((1, 0), 2), ((), 0)]
    )
    def test_the_first_kind_that_all_flavors_cover(self, flavors: tuple[int, ...], expected: int):
        covers = [[False, True], [True, False], [True, True], [True, True]]
        groups = tuple(one_of(flavor) for flavor in flavors)
        assert find_single_kind(self.room(groups, covers), 0) == expected

    def test_there_may_be_none(self):
        one_each = [[False, True], [True, False], [True, True]]
        assert find_single_kind(self.room((one_of(0), one_of(1)), one_each), 0) is None
        assert find_single_kind(self.room((one_of(0, 1),), one_each), 0) is None
        assert find_single_kind(self.room((one_of(1), one_of(0, 1)), one_each), 0) is None
