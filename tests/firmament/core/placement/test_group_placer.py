"""Where groups over a tree of machines go, one after another: by price, by what fits together, or nowhere and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.group_terms import LevelRule
from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.constraints.quota_terms import Draw
from firmament.core.constraints.ruleset import ClassRules, Exclusion
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.outcome import Means
from firmament.core.placement.tree_groups.placer import (
    IN_THE_WAY,
    UNLIKE_PLACES,
    GroupPlacer,
    leaf_cost,
)
from firmament.core.reasons import Reason
from firmament.core.tree_solver.groups import GroupTerms, TreeGroup
from firmament.core.tree_solver.solver import ExactSolver
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.placement.rules import proposed, ruled
from tests.firmament.core.tree_solver.trees import full_tree
from tests.support.core import problem
from tests.support.rules import counter, ints

SPREAD, PACK = LevelRule("spread"), LevelRule()


def placer(
    made: PlacementProblem,
    *sizes: int,
    rules: Sequence[LevelRule] = (PACK, PACK),
    racks: int = 1,
    orders: Sequence[Sequence[int]] = (),
    prices: Sequence[int] | None = None,
    held: Sequence[int] | None = None,
    **more: Any,
) -> GroupPlacer:
    """Group g has ``sizes[g]`` tasks of class g, unless ``orders`` says of which classes; racks are equally large."""
    machines = made.machines
    tree = full_tree(("rack", "node"), (racks, machines // racks))
    there = np.zeros(machines, dtype=np.int64) if held is None else np.array(held, dtype=np.int64)
    groups = {}
    for gang, size in enumerate(sizes):
        order = np.array(orders[gang] if orders else [gang] * size, dtype=np.int64)
        groups[gang] = TreeGroup(f"g{gang}", size + int(there.sum()), tuple(rules), there, order)
    terms = GroupTerms(tree, ExactSolver(), groups, np.arange(machines), **more)
    price = np.zeros(machines, dtype=np.int64) if prices is None else np.array(prices, dtype=np.int64)
    return GroupPlacer(terms, Board(made), price, Means(OrToolsSolver()))


def counts(found: Assignments, machines: int) -> list[int]:
    """Tasks per machine."""
    return np.bincount(found.machine, weights=found.count, minlength=machines).astype(int).tolist()


def one_class(free: Sequence[int], count: int, *, size: int = 1, **more: Any) -> PlacementProblem:
    return problem(tasks=[count], requests=[[size]], free=[[each] for each in free], **more)


class TestWhere:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"prices": [5, 1, 9]}, [0, 2, 0]),
            ({"prices": [9, 9, 1]}, [0, 0, 2]),
            ({"prices": [0, 0, 0]}, [2, 0, 0]),
        ],
    )
    def test_places_that_others_would_pay_least_for_are_taken(self, given: Any, expected: list[int]):
        made = placer(one_class([3, 3, 3], 2), 2, **given)
        assert counts(made.place(0), 3) == expected
        assert made.shortages == {}

    def test_the_cost_of_a_task_counts_like_prices(self):
        made = placer(one_class([3, 3], 2, cost=[[700, 200]]), 2, prices=[0, 400])
        assert counts(made.place(0), 2) == [0, 2]
        dear = placer(one_class([3, 3], 2, cost=[[700, 200]]), 2, prices=[0, 600])
        assert counts(dear.place(0), 2) == [2, 0]

    def test_tasks_placed_before_make_a_machine_dearer(self):
        posed = problem(tasks=[2, 1], requests=[[1], [1]], free=[[9], [9]], crowd=[100, 100])
        made = placer(posed, 2, 1, orders=[[0, 0], [1]])
        assert counts(made.place(0), 2) == [2, 0]
        assert counts(made.place(1), 2) == [0, 1]

    def test_as_few_racks_as_can_be_are_used(self):
        made = placer(one_class([1, 1, 2, 1], 3), 3, racks=2)
        assert counts(made.place(0), 4) == [0, 0, 2, 1]
        spread = placer(one_class([3, 3, 3, 3], 4), 4, racks=2, rules=(SPREAD, SPREAD))
        assert counts(spread.place(0), 4) == [1, 1, 1, 1]

    def test_what_is_placed_is_booked_and_the_next_group_finds_the_rest(self):
        posed = problem(tasks=[2, 2], requests=[[1], [1]], free=[[2], [2]])
        made = placer(posed, 2, 2)
        first, second = made.place(0), made.place(1)
        assert sorted([counts(first, 2), counts(second, 2)]) == [[0, 2], [2, 0]]
        assert made.board.residual.free.tolist() == [[0, 0]]
        assert made.board.residual.remaining.sum() == 0

    def test_tasks_that_are_there_already_count(self):
        """Two of the group are on machine 1, which has room for one more."""
        made = placer(one_class([5, 1, 5], 2), 2, rules=(PACK, SPREAD), held=[0, 2, 0])
        found = counts(made.place(0), 3)
        assert found == [1, 0, 1]

    def test_a_group_fits_by_the_counted_resources_of_each_unit(self):
        """What counts is named by column; a resource that the group does not request never counts."""
        posed = problem(tasks=[2], requests=[[1, 1]], free=[[2, 9], [0, 9], [9, 3], [9, 0]])
        for counted, expected in (([0], [2, 0, 9, 9]), ([0, 1], [2, 0, 3, 0]), ([1], [9, 9, 3, 0])):
            found = placer(posed, 2, racks=2, counted=ints(*counted))._count(0)
            assert found is not None
            assert found.tolist() == expected
        assert placer(posed, 2, racks=2)._count(0) is None
        idle = problem(tasks=[2], requests=[[0, 1]], free=[[2, 9]])
        assert placer(idle, 2, counted=ints(0))._count(0) is None


class TestRefusals:
    def test_too_little_room_leaves_everything_as_it_was(self):
        made = placer(one_class([1, 1], 3), 3)
        assert len(made.place(0).cls) == 0
        assert made.shortages.keys() == {0}
        assert made.board.residual.free.tolist() == [[1, 1]]

    def test_a_group_that_is_refused_is_told_why_and_not_tried(self):
        made = placer(one_class([9], 1), 1)
        group = made._terms.groups[0]
        refused = replace(made._terms, groups={0: replace(group, refused="bad rules")})
        again = GroupPlacer(refused, made.board, np.zeros(1, np.int64), Means(OrToolsSolver()))
        assert len(again.place(0).cls) == 0
        assert again.shortages == {0: "bad rules"}

    def test_groups_with_equal_needs_are_refused_alike_until_another_board_is_adopted(self):
        posed = problem(tasks=[3, 3], requests=[[1], [1]], free=[[1], [1]])
        posed = replace(posed, shape=ints(0, 0))
        made = placer(posed, 3, 3)
        made.place(0)
        made.place(1)
        assert made.shortages[0] == made.shortages[1]
        assert made.describe_needs(0) == made.describe_needs(1)
        wide = Board(replace(posed, free=np.array([[9], [9]])))
        made.adopt(wide, [1])
        assert made.shortages.keys() == {0}
        assert sum(counts(made.place(0), 2)) == 3
        assert made.shortages == {}

    @pytest.mark.parametrize(
        ("free", "size", "count", "lacks"),
        [
            ([2, 1], 1, 3, False),
            ([2, 0], 1, 3, True),
            ([3, -5], 1, 3, False),
            ([2, 1], 2, 2, True),
            ([2, 2], 2, 2, False),
        ],
    )
    def test_whether_all_machines_together_have_too_little(
        self, free: list[int], size: int, count: int, lacks: bool
    ):
        assert placer(one_class(free, count, size=size), count).lacks_room(0) is lacks

    def test_tasks_without_common_places_are_told_so(self):
        posed = problem(
            tasks=[2, 2], requests=[[1], [1]], free=[[1], [9]], feasible=[[True, False], [False, True]]
        )
        made = placer(posed, 4, orders=[[0, 0, 1, 1]])
        assert len(made.place(0).cls) == 0
        assert made.shortages[0] != IN_THE_WAY
        fits = placer(replace(posed, free=np.array([[2], [9]])), 4, orders=[[0, 0, 1, 1]])
        assert counts(fits.place(0), 2) == [2, 2]

    def test_one_rack_whose_machines_only_some_tasks_may_use(self):
        """Class 1 may only use machine 0; so the others must leave it a place."""
        posed = problem(
            tasks=[2, 1], requests=[[1], [1]], free=[[1], [2]], feasible=[[True, True], [True, False]]
        )
        found = placer(posed, 3, orders=[[0, 0, 1]]).place(0)
        assert {(c, m): n for c, m, n in found.entries()} == {(0, 1): 2, (1, 0): 1}
        full = placer(replace(posed, free=np.array([[0], [3]])), 3, orders=[[0, 0, 1]])
        assert len(full.place(0).cls) == 0
        assert full.shortages[0] == UNLIKE_PLACES or "1" in full.shortages[0]

    def test_tasks_that_exclude_each_other_take_machines_of_their_own(self):
        apart = ClassRules(adds=(0,), exclusions=(Exclusion(0, Reason.TOO_NEAR),))
        posed = ruled([counter([0, 1])], {0: apart}, tasks=[2], requests=[[1]], free=[[5], [5]])
        assert counts(placer(posed, 2).place(0), 2) == [1, 1]
        near = ruled([counter([0, 0])], {0: apart}, tasks=[2], requests=[[1]], free=[[5], [5]])
        made = placer(near, 2)
        assert len(made.place(0).cls) == 0
        assert made.shortages == {0: IN_THE_WAY} or "1 of" in made.shortages[0]
        assert not made.shares_machines_only()


class TestOtherBoards:
    def test_places_found_elsewhere_are_booked_if_all_fit(self):
        made = placer(one_class([2, 1], 3), 3)
        assert made.book_again(proposed((0, 0, 1), (0, 1, 2))) is None
        assert made.board.residual.free.tolist() == [[2, 1]]
        found = made.book_again(proposed((0, 1, 1), (0, 0, 2)))
        assert found is not None
        assert list(found.entries()) == [(0, 0, 2), (0, 1, 1)], "in the order of the tree"
        assert made.board.residual.free.tolist() == [[0, 0]]

    def test_a_placer_for_another_board_has_no_shortages_and_leaves_this_one_alone(self):
        made = placer(one_class([1, 1], 3), 3)
        made.place(0)
        other = made.copy_to(Board(one_class([3, 3], 3)))
        assert other.shortages == {}
        assert sum(counts(other.place(0), 2)) == 3
        assert made.board.residual.free.tolist() == [[1, 1]]

    def test_what_else_than_machines_tasks_share(self):
        assert placer(one_class([1], 1), 1).shares_machines_only()
        quotas = replace(one_class([1], 1), quotas=pose([[1]], [Draw(0, (one_of(0),))]))
        assert not placer(quotas, 1).shares_machines_only()


class TestQuotas:
    @pytest.mark.parametrize(
        ("draws", "count", "left"),
        [
            ((0,), 3, 2),
            ((0,), 2, None),
            ((-1,), 9, None),
            ((0, -1), 3, None),
            ((0, 0), 2, None),
            ((0, 0), 3, 2),
        ],
    )
    def test_how_many_tasks_quota_is_left_for(self, draws: tuple[int, ...], count: int, left: int | None):
        """Two units of quota are left; groups of two classes have so many tasks of the first and one of the second."""
        posed = problem(tasks=[9] * len(draws), requests=[[1]] * len(draws), free=[[99]])
        quotas = pose([[2]], [Draw(0, (one_of(0),))], covers=[[True], [False]])
        posed = replace(posed, quotas=replace(quotas, draw=ints(*draws)))
        order = [0] * (count - len(draws) + 1) + list(range(1, len(draws)))
        made = placer(posed, len(order), orders=[order])
        expected = "" if left is None else f"quota is left for {left} of its {len(order)} pods"
        assert made.explain_lack_of_quota(0) == expected
        assert made.explain_lack_of_quota(0) == expected, "also the second time"

    def test_of_one_task_the_word_is_singular(self):
        posed = replace(one_class([9], 1), quotas=pose([[0]], [Draw(0, (one_of(0),))]))
        assert placer(posed, 1).explain_lack_of_quota(0) == "quota is left for 0 of its 1 pod"


def test_the_cost_on_a_leaf_is_the_models_cost_there():
    posed = problem(tasks=[1, 1], requests=[[1], [1]], free=[[1]] * 3, cost=[[1, 2, 3], [4, 5, 6]])
    found: Int64 = leaf_cost(Board(posed), 1, ints(2, 0))
    assert found.tolist() == [6, 4]
