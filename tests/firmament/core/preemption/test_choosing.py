"""Which tasks a machine loses: who is spared first, what budgets protect, ties, and gangs that leave along."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import LOWEST_WEIGHT, NOBODY
from firmament.core.preemption.victims.choosing import (
    bundles,
    describe,
    find_companion_evictions,
    list_choices,
    nth_of_its_kind,
    reprieve_order,
)
from firmament.core.preemption.victims.covering import CoverProblem, build_cover_problem
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, state
from tests.support.effort import examples


def pose(now: PreemptionState, *rows: int) -> CoverProblem:
    """What class 0 lacks on some machines, all of them unless told otherwise."""
    chosen = np.array(rows or range(now.problem.machines), dtype=np.int64)
    return build_cover_problem(now, 0, chosen, np.zeros(now.preemption.victims, np.bool_))


def go(now: PreemptionState, *rows: int) -> dict[int, list[int]]:
    """Who leaves each machine."""
    found = bundles(now, pose(now, *rows))
    return {machine: found.list_tasks(place) for place, machine in enumerate(found.rows.tolist())}


def one(victims: Sequence[Victim], *, need: int, free: int = 0, **more: Any) -> PreemptionState:
    """One machine, for a task of this size."""
    return state([Waiting((need,))], [[free]], victims, **more)


class TestSparing:
    def test_the_most_important_are_spared_as_long_as_the_rest_suffices(self):
        victims = [Victim(0, (1,), rank) for rank in (1, 2, 3)]
        assert go(one(victims, need=1)) == {0: [0]}
        assert go(one(victims, need=2)) == {0: [0, 1]}
        assert go(one(victims, need=2, free=1)) == {0: [0]}
        assert go(one(victims, need=3)) == {0: [0, 1, 2]}
        assert go(one(victims, need=4)) == {}

    def test_a_large_one_leaves_if_the_others_are_not_enough(self):
        victims = [Victim(0, (1,), 1), Victim(0, (4,), 2), Victim(0, (1,), 3)]
        assert go(one(victims, need=2)) == {0: [1]}
        assert go(one(victims, need=3)) == {0: [1]}
        assert go(one(victims, need=5)) == {0: [0, 1]}

    def test_of_equally_important_ones_the_one_that_started_first_is_spared(self):
        victims = [Victim(0, (1,), 1, started=9.0), Victim(0, (1,), 1, started=5.0)]
        assert go(one(victims, need=1)) == {0: [0]}

    def test_who_leaves_anyway_is_never_chosen(self):
        victims = [Victim(0, (1,), 1, leaving=True), Victim(0, (1,), 2)]
        assert go(one(victims, need=2)) == {0: [1]}
        assert pose(one(victims, need=2)).deficit.tolist() == [[1]]

    def test_every_resource_must_suffice(self):
        victims = [Victim(0, (3, 0), 1), Victim(0, (0, 3), 2), Victim(0, (1, 1), 3)]
        assert go(state([Waiting((3, 3))], [[0, 0]], victims)) == {0: [0, 1]}
        assert go(state([Waiting((3, 1))], [[0, 0]], victims)) == {0: [0, 1]}
        assert go(state([Waiting((4, 1))], [[0, 0]], victims)) == {0: [0, 2]}

    def test_machines_are_told_apart(self):
        victims = [Victim(0, (1,), 1), Victim(0, (1,), 2), Victim(2, (5,), 3)]
        now = state([Waiting((2,))], [[1], [0], [0]], victims)
        assert go(now) == {0: [0], 2: [2]}
        assert go(now, 2) == {2: [2]}


class TestEqualTasks:
    @pytest.mark.parametrize(("started", "expected"), [(5.0, [2]), (4.0, [0, 1])])
    def test_among_tasks_that_started_together_a_few_large_ones_leave(
        self, started: float, expected: list[int]
    ):
        victims = [
            Victim(0, (1,), started=5.0),
            Victim(0, (1,), started=5.0),
            Victim(0, (3,), started=started),
        ]
        assert go(one(victims, need=2)) == {0: expected}

    def test_not_among_those_of_other_priorities(self):
        victims = [Victim(0, (1,), 1), Victim(0, (1,), 1), Victim(0, (3,), 2)]
        assert go(one(victims, need=2)) == {0: [0, 1]}

    def test_the_first_attempt_stands_if_the_second_is_no_better(self):
        victims = [Victim(0, (2,)), Victim(0, (2,)), Victim(0, (3,))]
        assert go(one(victims, need=4)) == {0: [0, 1]}


class TestBudgets:
    @pytest.mark.parametrize(("allowed", "expected"), [(0, [1]), (1, [0]), (-1, [1])])
    def test_what_budgets_protect_is_spared_first(self, allowed: int, expected: list[int]):
        victims = [Victim(0, (1,), 1, budgets=(0,)), Victim(0, (1,), 2)]
        assert go(one(victims, need=1, allowed=[allowed])) == {0: expected}

    @pytest.mark.parametrize(
        ("allowed", "expected", "over"), [(0, [0, 1], 2), (1, [0, 1], 1), (2, [0, 1], 0)]
    )
    def test_they_are_exceeded_if_nothing_else_helps(self, allowed: int, expected: list[int], over: int):
        now = one(
            [Victim(0, (1,), 1, budgets=(0,)), Victim(0, (1,), 2, budgets=(0,))], need=2, allowed=[allowed]
        )
        found = bundles(now, pose(now))
        assert found.list_tasks(0) == expected
        assert found.over.tolist() == [over]

    def test_a_task_under_several_budgets_exceeds_them_once(self):
        now = one([Victim(0, (1,), budgets=(0, 1)), Victim(0, (1,), budgets=(1,))], need=2, allowed=[0, 1])
        assert bundles(now, pose(now)).over.tolist() == [2]

    def test_the_order_of_sparing(self):
        victims = [Victim(0, (1,), rank, budgets=(0,) if rank in (1, 3) else ()) for rank in (1, 2, 3, 4)]
        problem = pose(now := one(victims, need=1, allowed=[1]))
        places = np.arange(4)
        assert reprieve_order(now, problem, places).tolist() == [[2, 3, 1, 0]], (
            "the second under the budget first"
        )
        assert reprieve_order(one(victims, need=1, allowed=[2]), problem, places).tolist() == [3, 2, 1, 0]
        none = one([Victim(0, (1,), rank) for rank in (1, 2)], need=1)
        assert reprieve_order(none, pose(none), np.arange(2)).tolist() == [1, 0]
        turned = np.array([[3, 1, 2, 0]])
        assert reprieve_order(now, problem, turned).tolist() == [[0, 2, 1, 3]]


class TestFigures:
    VICTIMS = (
        Victim(0, (1,), 1, started=7.0),
        Victim(0, (1,), 3, started=6.0),
        Victim(0, (1,), 3, started=4.0),
        Victim(0, (1,), 3, started=2.0),
    )

    def figures(self, *which: bool) -> tuple[int, int, int, float]:
        now = one(self.VICTIMS, need=1)
        found = describe(now, pose(now), np.array([which]))
        (top,), (total,), (count,), (age,) = (
            each.tolist() for each in (found.top, found.total, found.count, found.age)
        )
        assert found.over.tolist() == [0]
        return top, total - count * LOWEST_WEIGHT, count, age

    def test_of_some_victims(self):
        assert self.figures(True, False, False, False) == (1, 1, 1, -7.0)
        assert self.figures(True, True, True, False) == (3, 7, 3, -4.0)
        assert self.figures(False, True, False, True) == (3, 6, 2, -2.0)

    def test_of_nobody(self):
        top, total, count, age = self.figures(False, False, False, False)
        assert (top, total, count) == (NOBODY, 0, 0)
        assert age == -np.inf


class TestGangs:
    """Two machines; a gang has a member on each, and the first machine another task."""

    def now(
        self, spare: int, *, priority: int = 1, other: int = 5, need: int = 1, **more: Any
    ) -> PreemptionState:
        victims = [
            Victim(0, (1,), priority, started=3.0, gang=0),
            Victim(0, (1,), other, started=2.0),
            Victim(1, (1,), priority, started=1.0, gang=0),
        ]
        return state([Waiting((need,))], [[0], [0]], victims, gangs=[Gang(spare, **more)])

    def test_a_member_that_can_be_spared_leaves_alone(self):
        now = self.now(1)
        assert go(now, 0) == {0: [0]}
        assert bundles(now, pose(now, 0)).count.tolist() == [1]
        assert len(list_choices(now, pose(now, 0))) == 1

    def test_all_of_it_leaves_if_none_can(self):
        now = self.now(0)
        found = bundles(now, pose(now, 0))
        assert found.list_tasks(0) == [0]
        assert (found.count.tolist(), found.top.tolist(), found.age.tolist()) == ([2], [1], [-1.0])
        assert found.total.tolist() == [2 * LOWEST_WEIGHT + 2]

    def test_another_task_leaves_if_the_gang_cannot_leave_as_a_whole(self):
        assert go(self.now(0, together=False), 0) == {0: [1]}
        equal = [Victim(0, (1,), 5), Victim(0, (1,), 10, gang=0), Victim(1, (1,), 10, gang=0)]
        assert go(state([Waiting((1,))], [[0], [0]], equal, gangs=[Gang(0)]), 0) == {0: [0]}

    def test_nobody_leaves_for_more_than_is_there(self):
        assert go(self.now(0, together=False, need=2), 0) == {}
        assert go(self.now(0, need=2), 0) == {0: [0, 1]}

    def test_who_leaves_along_is_counted_on_other_machines(self):
        now = self.now(0)
        problem = pose(now, 0)
        found = find_companion_evictions(now, problem, np.array([[True, False]]))
        assert (found.row.tolist(), found.task.tolist()) == ([0], [2])
        assert find_companion_evictions(now, problem, np.array([[False, True]])).task.tolist() == []
        spared = self.now(1)
        assert (
            find_companion_evictions(spared, pose(spared, 0), np.array([[True, False]])).task.tolist() == []
        )
        now.evict([2])
        assert find_companion_evictions(now, problem, np.array([[True, False]])).task.tolist() == []

    def test_a_machine_has_a_problem_for_each_gang_that_could_leave_and_one_for_all(self):
        victims = [Victim(0, (1,), rank, gang=gang) for rank, gang in ((1, 0), (2, 1), (3, -1))]
        now = state([Waiting((1,))], [[0]], victims, gangs=[Gang(0), Gang(0)])
        found = list_choices(now, pose(now))
        assert [each.forced.tolist() for each in found] == [
            [[False, False, False]],
            [[True, False, False], [False, True, False]],
            [[True, True, False]],
        ]
        assert [each.open.tolist() for each in found] == [
            [[False, False, True]],
            [[False, False, True]] * 2,
            [[False, False, True]],
        ]
        assert go(now) == {0: [0]}

    def test_those_that_a_gang_can_spare_may_be_others_than_its_first(self):
        victims = [Victim(0, (1,), 1, gang=0), Victim(0, (4,), 1, gang=0)]
        now = state([Waiting((3,))], [[0]], victims, gangs=[Gang(1)])
        assert go(now) == {0: [1]}

    def test_groups_of_a_tree_leave_alone_or_with_all_that_contains_them(self):
        for spare, count in ((1, 1), (0, 2)):
            victims = [Victim(0, (1,), 1, gang=1), Victim(1, (1,), 1, gang=2)]
            gangs = [Gang(spare), Gang(0, above=0), Gang(0, above=0)]
            now = state([Waiting((1,))], [[0], [0]], victims, gangs=gangs)
            found = bundles(now, pose(now, 0))
            assert found.list_tasks(0) == [0]
            assert found.count.tolist() == [count]

    def test_a_tree_that_cannot_leave_as_a_whole_keeps_its_groups(self):
        victims = [Victim(0, (1,), 1, gang=1), Victim(1, (1,), 1, gang=2)]
        gangs = [Gang(0, together=False), Gang(0, above=0), Gang(0, above=0)]
        assert go(state([Waiting((1,))], [[0], [0]], victims, gangs=gangs), 0) == {}


def test_places_among_equal_entries():
    kind = np.array([[5, 5, 2, 5], [1, 2, 2, 1]])
    assert nth_of_its_kind(kind).tolist() == [[0, 1, 0, 2], [0, 0, 1, 1]]
    turn = np.array([[3, 2, 1, 0], [1, 0, 3, 2]])
    assert nth_of_its_kind(kind, turn).tolist() == [[2, 1, 0, 0], [0, 0, 1, 1]]
    assert nth_of_its_kind(np.empty((2, 0), np.int64)).shape == (2, 0)


def spare_one_by_one(victims: Sequence[Victim], lacking: int, allowed: int) -> list[int]:
    """kube-scheduler's way: those whose budget is used up are spared first, then the most important."""
    left, protected = allowed, []
    for number, each in enumerate(victims):
        if each.budgets:
            left -= 1
            protected += [number] if left < 0 else []
    order = [*reversed(protected), *(n for n in reversed(range(len(victims))) if n not in protected)]
    going = set(range(len(victims)))
    for number in order:
        if sum(victims[other].size[0] for other in going - {number}) >= lacking:
            going.discard(number)
    return sorted(going)


def test_machines_are_chosen_from_as_one_by_one():
    for seed in range(examples(60, least=30)):
        draw = random.Random(seed)
        allowed, victims = draw.randint(0, 2), list[Victim]()
        ranks = itertools.count(1)
        counts = [draw.randint(0, 5) for _ in range(3)]
        for machine, count in enumerate(counts):
            victims += [
                Victim(
                    machine, (draw.randint(1, 4),), next(ranks), budgets=(0,) if draw.random() < 0.4 else ()
                )
                for _ in range(count)
            ]
        need = draw.randint(1, 8)
        free = [draw.randint(0, 3) for _ in counts]
        now = state([Waiting((need,), 99)], [[each] for each in free], victims, allowed=[allowed])
        found = go(now)
        for machine in range(3):
            own = [number for number, each in enumerate(victims) if each.machine == machine]
            lacking = need - free[machine]
            if sum(victims[number].size[0] for number in own) < lacking:
                assert machine not in found
                continue
            expected = spare_one_by_one([victims[number] for number in own], lacking, allowed)
            assert found[machine] == [own[place] for place in expected], seed
