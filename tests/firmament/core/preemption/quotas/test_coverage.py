"""Whether an eviction is worth it: what quotas cover before and after, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import Draw, QuotaTerms
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.coverage import QuotaCoverage, importance_of, rank_of
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.preemption.quotas.quota_states import quota_state
from tests.firmament.core.preemption.states import Gang, Victim, Waiting


def terms_of(nominal: list[int], parent: list[int], nodes: Sequence[int], **more: Any) -> QuotaTerms:
    """Quotas of one flavor; draw d takes 1 of quota ``nodes[d]``."""
    return pose(
        [[each] for each in nominal],
        [Draw(node, (one_of(0),)) for node in nodes],
        parent=parent,
        covers=[[True], [False]],
        **more,
    )


def move(before: PreemptionState, victims: Sequence[int], *classes: int) -> PreemptionState:
    """The state in which victims have left, and a task of each class has come."""
    after = before.copy()
    after.evict(victims)
    for cls in classes:
        after.put(cls, 0)
    return after


class Scene:
    """Queues 1 and 2 below a root, with 2 each; class 0 waits in queue 1; victims are given by (queue, priority)."""

    def __init__(
        self,
        victims: Sequence[tuple[int, int]],
        priority: int = 10,
        *,
        gangs: Any = (),
        gang: Any = (),
        **more: Any,
    ) -> None:
        terms = terms_of([0, 2, 2], [-1, 0, 0], [1, 2], **more)
        given = sorted(range(len(victims)), key=lambda number: victims[number][1])
        assert given == list(range(len(victims)))
        self.before = quota_state(
            terms,
            [Waiting((1,), priority, count=5), Waiting((1,), priority, count=5)],
            [[9]],
            [
                Victim(0, (1,), rank, gang=gang[number] if gang else -1)
                for number, (_, rank) in enumerate(victims)
            ],
            draws=[queue - 1 for queue, _ in victims],
            gangs=gangs,
        )
        self.node = np.array([queue for queue, _ in victims])

    def is_better(
        self, victims: Sequence[int], *classes: int, importance: tuple[int, int] | None = None
    ) -> bool:
        coverage = QuotaCoverage(self.before, self.node)
        after = move(self.before, victims, *(classes or (0,)))
        return coverage.is_better(self.before, after, 1, importance or rank_of(self.before, 0), victims)


class TestTwoQueues:
    def test_a_queue_may_take_back_what_another_borrows(self):
        assert Scene([(2, 1), (2, 2), (2, 3)]).is_better([0])

    def test_it_may_not_take_what_the_other_covers(self):
        assert not Scene([(2, 1), (2, 2), (2, 3)]).is_better([1])
        assert not Scene([(2, 1), (2, 2)]).is_better([0])

    @pytest.mark.parametrize(("priority", "expected"), [(0, False), (1, False), (2, True)])
    def test_where_no_quota_changes_the_more_important_task_has_the_place(
        self, priority: int, expected: bool
    ):
        # Queue 1 is full of more important tasks, so that the preemptor borrows; so does the victim.
        scene = Scene([(2, 1), (2, 2), (2, 3), (1, 20), (1, 20)], priority)
        assert scene.is_better([0]) is expected

    def test_older_tasks_of_equal_priority_are_more_important(self):
        scene = Scene([(2, 1), (2, 2), (2, 3), (1, 20), (1, 20)], 1)
        assert importance_of(scene.before, 0) == (1, 0)
        assert importance_of(scene.before, 3) == (20, -3)
        assert rank_of(scene.before, 0) == (1, -5)
        assert rank_of(scene.before, 1) == (1, -6)
        assert not scene.is_better([0], importance=(1, -5))
        assert scene.is_better([0], importance=(1, 1))
        assert not scene.is_better([0], importance=(1, 0))

    def test_less_important_tasks_of_the_own_queue_do_not_count(self):
        assert Scene([(1, 1), (1, 2)], 3).is_better([0])
        assert Scene([(1, 1), (1, 2)], 3).is_better([0, 1])
        assert not Scene([(1, 1), (1, 2)], 1).is_better([0]), "newer than the one it would replace"
        assert not Scene([(1, 1), (1, 2)], 2).is_better([0, 1])
        assert not Scene([(1, 1), (1, 2)], 0).is_better([0])

    def test_beside_them_others_do(self):
        assert Scene([(1, 1), (1, 2), (2, 3), (2, 4), (2, 5)], 6).is_better([0, 2])
        assert not Scene([(1, 1), (1, 2), (2, 3), (2, 4), (2, 5)], 6).is_better([0, 3])

    def test_nothing_counts_where_fair_shares_decide(self):
        fair = {"fair": np.array([False, True, False])}
        assert Scene([(2, 1), (2, 2)], 0, **fair).is_better([0])
        assert not Scene([(2, 1), (2, 2)], 0, fair=np.array([False, False, True])).is_better([0])

    def test_tasks_without_quota_are_no_users(self):
        scene = Scene([(2, 1), (2, 2), (2, 3)])
        scene.before.preemption.draw[0] = -1
        node = np.array([-1, 2, 2])
        coverage = QuotaCoverage(scene.before, node)
        assert not coverage.is_better(scene.before, move(scene.before, [1], 0), 1, (10, -3), [1])


class TestGangs:
    @pytest.mark.parametrize(("spare", "expected"), [(0, True), (1, False), (2, False)])
    def test_a_gang_that_its_queue_covers_in_part_does_not_count_if_it_leaves_whole(
        self, spare: int, expected: bool
    ):
        """Of three members the queue covers two. With one to spare the third could have left alone."""
        scene = Scene([(2, 1), (2, 2), (2, 3)], gangs=[Gang(spare)], gang=[0, 0, 0])
        assert scene.is_better([0, 1, 2]) is expected

    def test_one_that_it_covers_wholly_counts(self):
        scene = Scene([(2, 1), (2, 2)], gangs=[Gang(0)], gang=[0, 0])
        assert not scene.is_better([0, 1])


class TestLevels:
    """0 is the root, 1 and 2 are below it, 3 and 4 below 1."""

    PARENT = (-1, 0, 0, 1, 1)

    def compare(
        self,
        nominal: list[int],
        victims: list[tuple[int, int]],
        gone: list[int],
        preemptor: int,
        priority: int,
    ) -> bool:
        terms = terms_of(nominal, list(self.PARENT), [preemptor, *(queue for queue, _ in victims)])
        before = quota_state(
            terms,
            [Waiting((1,), priority)] * (1 + len(victims)),
            [[9]],
            [Victim(0, (1,), rank) for _, rank in victims],
            draws=[number + 1 for number in range(len(victims))],
        )
        node = np.array([queue for queue, _ in victims])
        coverage = QuotaCoverage(before, node)
        return coverage.is_better(before, move(before, gone, 0), preemptor, rank_of(before, 0), gone)

    def test_the_lowest_level_decides(self):
        # Queue 3 has 1, and their common quota 1 more: with the preemptor it covers one important task less.
        assert self.compare([0, 1, 0, 1, 0], [(4, 5), (4, 6)], [0], 3, 0)

    def test_the_next_one_decides_where_the_lowest_says_nothing(self):
        assert not self.compare([0, 2, 0, 0, 0], [(4, 5), (4, 6)], [0], 3, 0)
        assert self.compare([0, 2, 0, 0, 0], [(4, 5), (4, 6)], [0], 3, 7)

    def test_queues_of_different_heights_meet_at_the_same_depth(self):
        # Queue 2 covers its task; 3 has nothing, and 1 above it would cover the preemptor.
        assert not self.compare([0, 1, 1, 0, 0], [(2, 5)], [0], 3, 9)
        assert self.compare([0, 1, 0, 0, 0], [(2, 5)], [0], 3, 0)

    def test_a_gain_and_a_loss_at_one_depth_are_a_loss(self):
        assert not self.compare([0, 0, 0, 1, 1], [(4, 0)], [0], 3, 99)

    def test_the_root_itself_may_be_the_queue(self):
        assert self.compare([1, 0, 0, 0, 0], [(0, 1)], [0], 0, 2)
        assert not self.compare([1, 0, 0, 0, 0], [(0, 1)], [0], 0, 0)


def test_following_gives_the_same_answers_as_beginning_anew():
    scene = Scene([(2, 1), (2, 2), (2, 3), (2, 4), (1, 5)], 4)
    followed = QuotaCoverage(scene.before, scene.node)
    now, at = scene.before, rank_of(scene.before, 0)
    followed.follow(now, [])  # nothing has been compared yet
    for victims in ([3], [4], [0]):
        asked = [
            ([victim], move(now, [victim], cls), cls + 1)
            for victim in range(5)
            if not now.gone[victim]
            for cls in (0, 1)
        ]
        for gone, after, preemptor in asked:
            anew = QuotaCoverage(now, scene.node).is_better(now, after, preemptor, at, gone)
            assert followed.is_better(now, after, preemptor, at, gone) is anew
        following = move(now, victims, 0)
        followed.follow(following, victims)
        now = following
