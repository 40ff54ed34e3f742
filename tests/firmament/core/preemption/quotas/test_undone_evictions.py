"""Evictions that would be undone at once, because another queue would take back quota or room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import Draw, DrawGroup
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.undone_evictions import is_room_taken_back, is_taken_back
from firmament.core.preemption.quotas.victims import Preemptor
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.preemption.quotas.quota_states import quota_state
from tests.firmament.core.preemption.states import Victim, Waiting

NOTHING, LOWER, ANY = 0, 1, 2
"""Policies, as the terms number them: of ``withinClusterQueue`` the last is ``LowerOrNewerEqualPriority``."""


def scene(
    *,
    standing: int = 3,
    within: int = LOWER,
    reclaim: int = ANY,
    used: tuple[int, int] = (3, 1),
    shared: int = 0,
    free: int = 0,
    draw: Draw | None = None,
    fair: bool = False,
    count: int = 1,
    lending: int | None = None,
    keeps: bool = False,
    **more: Any,
) -> PreemptionState:
    """Queues 1 and 2 have 2 each below a root, 3 is apart. Class 0 of queue 1 came; class 1 of queue 2 still waits.

    The victim has the priority 5.
    """
    terms = pose(
        [[shared, 0], [2, 2], [2, 2], [9, 9]],
        [Draw(1, (one_of(0),)), draw or Draw(2, (one_of(0),)), Draw(3, (one_of(0),))],
        parent=[-1, 0, 0, -1],
        covers=[[True, True], [False, False]],
        own=[[0, 0], [used[0], 0], [used[1], 0], [0, 0]],
        lending=[[None, None], [None, None], [lending, None], [None, None]],
        within=np.array([0, 0, within, within]),
        reclaim=np.array([0, 0, reclaim, reclaim]),
        fair=np.array([False, False, fair, False]),
        keeps_borrowed=(False, keeps, False, False),
    )
    waiting = [Waiting((1,), 4), Waiting((1,), standing, count=count)]
    return quota_state(
        terms, waiting, [[free]], [Victim(0, (1,), 5), Victim(0, (1,), 5)], draws=[1, 0], **more
    )


NODE = np.array([2, 1])
CAME = Preemptor(1, (0,), (2, -9), -1)


def taken_back(
    came: Preemptor = CAME, victims: tuple[int, ...] = (0,), *, for_room: bool = False, **of: Any
) -> bool:
    return is_taken_back(scene(**of), NODE, came, victims, for_room=for_room)


class TestQuota:
    def test_a_third_task_would_take_it_back(self):
        assert taken_back()
        assert taken_back(victims=(1, 0))

    def test_nobody_does_for_the_own_queue(self):
        assert not taken_back(victims=(1,))
        assert not taken_back(victims=())

    @pytest.mark.parametrize(
        ("within", "standing", "expected"),
        [(LOWER, 4, True), (LOWER, 5, False), (ANY, 5, True), (ANY, 6, False), (NOTHING, 0, False)],
    )
    def test_the_victim_must_be_able_to_replace_it(self, within: int, standing: int, expected: bool):
        assert taken_back(within=within, standing=standing) is expected

    def test_for_room_no_policy_within_the_queue_is_needed(self):
        assert taken_back(within=NOTHING, for_room=True)
        assert not taken_back(within=NOTHING, for_room=True, standing=5)

    @pytest.mark.parametrize(
        ("reclaim", "priority", "expected"),
        [(LOWER, 2, True), (LOWER, 3, False), (ANY, 3, True), (ANY, 99, True), (NOTHING, 0, False)],
    )
    def test_its_queue_must_let_it_reclaim(self, reclaim: int, priority: int, expected: bool):
        assert taken_back(CAME._replace(importance=(priority, 0)), reclaim=reclaim) is expected

    @pytest.mark.parametrize(
        ("used", "expected"),
        [((3, 1), True), ((2, 1), False), ((3, 2), False), ((4, 0), True), ((2, 2), False)],
    )
    def test_the_preemptor_borrows_and_the_other_queue_has_quota_left(
        self, used: tuple[int, int], expected: bool
    ):
        assert taken_back(used=used) is expected

    def test_the_preemptors_queue_must_be_reclaimable(self):
        assert not taken_back(keeps=True)

    def test_no_place_may_be_there_without_an_eviction(self):
        assert taken_back(shared=1, free=0)
        assert not taken_back(shared=1, free=1)
        assert taken_back(shared=0, free=1), "room without quota"

    def test_it_must_wait_and_be_able_to_evict(self):
        now = scene()
        assert is_taken_back(now, NODE, CAME, [0])
        held = replace(now.preemption, reclaims=np.array([True, False]))
        now.preemption = held
        assert not is_taken_back(now, NODE, CAME, [0])
        served = scene()
        served.remaining[1] = 0
        assert not is_taken_back(served, NODE, CAME, [0])

    def test_a_queue_of_which_no_victim_left_is_not_asked(self):
        assert not taken_back(draw=Draw(3, (one_of(0),)))

    def test_all_groups_of_resources_need_one_flavor_that_has_enough(self):
        assert taken_back(draw=Draw(2, (one_of(0), one_of(0))))
        assert not taken_back(draw=Draw(2, (one_of(0, amount=2),)))
        assert not taken_back(draw=Draw(2, (one_of(0, amount=1), one_of(0, amount=2))))
        assert not taken_back(draw=Draw(2, (DrawGroup((0,), ((0, 1),), (2, 1)),)))
        assert not taken_back(draw=Draw(2, (DrawGroup((0,), ((0, 1),), (1, 3)),)))
        assert taken_back(draw=Draw(2, (DrawGroup((0,), ((0, 1),), (1, 2)),)))

    def test_a_gang_needs_enough_for_as_many_as_come(self):
        gang: dict[str, Any] = {"gang": [-1, 0], "count": 3}
        assert taken_back(**gang, gang_need=[1])
        assert not taken_back(**gang, gang_need=[2])
        assert taken_back(**gang, gang_need=[2], used=(4, 0))
        assert not taken_back(**gang, gang_need=[9], used=(4, 0)), "all three of it"
        assert taken_back(gang=[-1, 0], count=2, gang_need=[9], used=(4, 0))
        assert taken_back(**gang, gang_need=[0])
        assert taken_back(gang=[0, -1], count=3, gang_need=[9])

    def test_of_several_victims_the_most_important_counts(self):
        now = scene(standing=6)
        high = replace(now.preemption, victim_priority=np.array([5, 7]))
        now.preemption = high
        both = np.array([2, 2])
        assert is_taken_back(now, both, CAME, [0, 1])
        assert is_taken_back(now, both, CAME, [1, 0])
        assert not is_taken_back(now, both, CAME, [0])


class TestDeepTrees:
    """0 is above 1 and 2; 3 and 4 are below 2. Only what 2 has as a whole counts, unless fair shares decide."""

    def taken_back(self, sibling: int, *, fair: bool) -> bool:
        terms = pose(
            [[0], [2], [0], [2], [0]],
            [Draw(1, (one_of(0),)), Draw(3, (one_of(0),))],
            parent=[-1, 0, 0, 2, 2],
            covers=[[True], [False]],
            own=[[0], [3], [0], [0], [sibling]],
            within=np.array([0, 0, 0, 1, 0]),
            reclaim=np.array([0, 0, 0, 2, 0]),
            fair=np.array([False, False, False, fair, False]),
        )
        now = quota_state(terms, [Waiting((1,), 4), Waiting((1,), 3)], [[0]], [Victim(0, (1,), 5)], draws=[1])
        return is_taken_back(now, np.array([3]), CAME, [0])

    def test_what_a_sibling_has_borrowed_counts(self):
        assert self.taken_back(1, fair=False)
        assert not self.taken_back(2, fair=False)

    def test_but_not_with_fair_shares(self):
        assert self.taken_back(2, fair=True)


class TestRoom:
    def state(self, **of: Any) -> PreemptionState:
        now = scene(**{"used": (2, 2), "free": 0, **of})
        now.evict([0])
        return now

    def test_who_comes_by_borrowing_would_lose_the_room(self):
        assert is_room_taken_back(self.state(), 0, 0, [0])
        assert is_room_taken_back(self.state(within=NOTHING), 0, 0, [0])

    def test_who_need_not_borrow_would_not(self):
        assert not is_room_taken_back(self.state(used=(1, 2)), 0, 0, [0])

    def test_victims_of_the_own_queue_or_of_none_do_not_matter(self):
        assert not is_room_taken_back(self.state(), 0, 0, [1])
        assert not is_room_taken_back(self.state(), 0, 0, [])
        assert is_room_taken_back(self.state(), 0, 0, [1, 0])

    def test_victims_of_another_tree_do_not_matter(self):
        apart = self.state()
        apart.drawn = np.array([3, 1])
        assert not is_room_taken_back(apart, 0, 0, [0])
        none = self.state()
        none.drawn = np.array([-1, 1])
        assert not is_room_taken_back(none, 0, 0, [0])

    def test_somebody_must_wait_who_may_evict(self):
        served = self.state()
        served.remaining[:] = 0
        assert not is_room_taken_back(served, 0, 0, [0])
        unable = self.state()
        unable.preemption = replace(unable.preemption, reclaims=np.zeros(2, np.bool_))
        assert not is_room_taken_back(unable, 0, 0, [0])

    def test_the_state_stays(self):
        now = self.state()
        before = now.room.tolist(), now.taken, now.remaining.tolist()
        is_room_taken_back(now, 0, 0, [0])
        assert (now.room.tolist(), now.taken, now.remaining.tolist()) == before
        assert now.quotas is not None
        assert now.quotas.use.own[:, 0].tolist() == [0, 2, 2, 0]

    def test_without_quota_nobody_takes_it_back(self):
        now = self.state()
        now.drawn = np.empty(0, dtype=np.int64)
        assert not is_room_taken_back(now, 0, 0, [0])
        bare = self.state()
        bare.quotas = None
        assert not is_room_taken_back(bare, 0, 0, [0])
        free = self.state()
        assert free.problem.quotas is not None
        free.problem = replace(free.problem, quotas=replace(free.problem.quotas, draw=np.array([-1, 1])))
        assert not is_room_taken_back(free, 0, 0, [0])
