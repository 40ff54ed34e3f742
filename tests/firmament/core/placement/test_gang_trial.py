"""Gangs within one problem: bundles of like classes, packing, and what rejected gangs leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.reduction import merge_classes
from firmament.core.placement.gang_trial import GangTrial
from firmament.core.placement.outcome import Means, Placed
from firmament.core.placement.placing import WAYS_OF_PLACING, place_whole_gangs
from firmament.core.placement.tuning import PlacementTuning
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem


def with_gangs(base: PlacementProblem, gang: Sequence[int], need: Sequence[int]) -> PlacementProblem:
    return replace(base, gang=np.array(gang, dtype=np.int64), gang_need=np.array(need, dtype=np.int64))


def of_one_kind(tasks: Sequence[int], free: Sequence[int], **more: object) -> PlacementProblem:
    """Classes that share one shape of a task that takes 1."""
    base = problem(tasks=tasks, requests=[[1]] * len(tasks), free=[[each] for each in free], **more)  # type: ignore[arg-type]  # by name
    shared = np.zeros(len(tasks), dtype=np.int64)
    return replace(
        base, shape=shared, requests=base.requests[:1], feasible=base.feasible[:1], cost=base.cost[:1]
    )


def counts(base: PlacementProblem) -> tuple[list[int], Placed]:
    """Tasks placed per class; room is checked."""
    placing = place_whole_gangs(base, Means(OrToolsSolver()))
    placed = placing.assignments
    used = np.zeros_like(base.free)
    np.add.at(used, placed.machine, base.requests[base.shape[placed.cls]] * placed.count[:, None])
    assert (used <= base.free).all()
    found = np.bincount(placed.cls, weights=placed.count, minlength=base.classes)
    return found.astype(int).tolist(), placing


def test_gangs_of_one_kind_are_one_class_of_the_network():
    base = with_gangs(of_one_kind([3, 3, 2], [4, 4]), [0, 1, -1], [3, 3])
    found, placing = counts(base)
    assert found == [3, 3, 2]
    assert placing.about is not None
    assert placing.about.problem.classes == 1
    assert placing.figures.solves == 1


def test_what_a_bundle_gets_is_dealt_out_to_whole_gangs():
    base = with_gangs(of_one_kind([3, 3, 2], [8]), [0, 1, -1], [3, 3])
    dealt = merge_classes(base).distribute(Assignments(np.array([0]), np.array([0]), np.array([5])))
    assert dict(zip(dealt.cls.tolist(), dealt.count.tolist(), strict=True)) == {0: 3, 2: 2}


def test_a_gang_without_room_leaves_it_to_others():
    found, _ = counts(with_gangs(of_one_kind([3, 3, 2], [3, 2]), [0, 1, -1], [3, 3]))
    assert found == [3, 0, 2]


def test_members_beyond_the_need_do_not_hold_a_gang_up():
    found, _ = counts(with_gangs(of_one_kind([5], [3]), [0], [2]))
    assert found == [3]


def test_the_more_important_gang_goes_first():
    found, _ = counts(with_gangs(of_one_kind([3, 3], [3], priority=[0, 1]), [0, 1], [3, 3]))
    assert found == [0, 3]


def test_pins_keep_classes_apart():
    base = with_gangs(of_one_kind([2, 2], [2, 2], pins={0: [0], 1: [1]}), [0, 1], [2, 2])
    assert merge_classes(base).problem.classes == 2
    assert counts(base)[0] == [2, 2]


def test_classes_with_few_places_come_first_within_a_gang():
    base = problem(tasks=[2, 1], requests=[[1], [3]], free=[[3], [2]], cost=[[0, 900], [0, 0]])
    assert counts(with_gangs(base, [0, 0], [3]))[0] == [2, 1]


def test_easy_members_suffice_if_the_hard_ones_are_beyond_the_need():
    base = problem(tasks=[2, 1], requests=[[1], [2]], free=[[2]])
    assert counts(with_gangs(base, [0, 0], [2]))[0] == [2, 0]


def test_many_gangs_of_one_kind_fill_the_room_for_whole_ones():
    found, _ = counts(with_gangs(of_one_kind([4] * 20, [7] * 6), list(range(20)), [4] * 20))
    assert sorted(found) == [0] * 10 + [4] * 10


def test_gangs_of_which_no_task_waits_are_not_tried():
    """As trees of groups that have places already, or gangs of another priority."""
    base = with_gangs(of_one_kind([0, 0, 5], [4]), [0, 1, 2], [0, 3, 5])
    board = Board(base)
    trial = GangTrial(board, PlacementTuning(), WAYS_OF_PLACING)
    assert list(trial.place_gangs(np.arange(3)).entries()) == []
    assert trial._board is board, "no copy was made to try one on"
