"""How many tasks a machine takes, and where one more may go, for each thing that may refuse it."""

from __future__ import annotations

import numpy as np

from firmament.core.board.board import Board
from firmament.core.constraints.ruleset import ClassRules, Exclusion
from firmament.core.reasons import Reason
from tests.firmament.core.placement.rules import ruled
from tests.support.core import problem
from tests.support.rules import counter, ints

EVERY = ints(0, 1, 2)


def test_of_tasks_that_exclude_each_other_a_machine_takes_one():
    apart = ClassRules(adds=(0,), exclusions=(Exclusion(0, Reason.TOO_NEAR),))
    board = Board(ruled([counter([0, 1, 2])], {0: apart}, tasks=[9], requests=[[1]], free=[[5], [0], [1]]))
    assert board.count_fitting(0, EVERY).tolist() == [1, 0, 1]
    assert board.count_fitting(0, EVERY, together=True).tolist() == [1, 0, 1]
    board.place(0, 0)
    assert board.count_fitting(0, EVERY).tolist() == [0, 0, 1]
    assert not board.fits(0, 0)


def test_tasks_that_keep_away_from_others_take_as_many_as_there_is_room_for():
    shy = ClassRules(exclusions=(Exclusion(0, Reason.TOO_NEAR),))
    loud = ClassRules(adds=(0,))
    given = {0: shy, 1: loud}
    board = Board(ruled([counter([0, 1, 2])], given, tasks=[9, 9], requests=[[1], [1]], free=[[5], [0], [3]]))
    board.place(1, 2)
    assert board.count_fitting(0, EVERY).tolist() == [5, 0, 0]
    assert board.count_fitting(1, EVERY).tolist() == [5, 0, 2]


def test_pins_and_filters_close_machines_however_one_asks():
    posed = problem(
        tasks=[9], requests=[[1]], free=[[5], [5], [5]], pins={0: [0, 1]}, feasible=[[True, False, True]]
    )
    board = Board(posed)
    assert board.count_fitting(0, EVERY).tolist() == [5, 0, 0]
    assert board.count_fitting(0, ints(2, 0)).tolist() == [0, 5]
    assert np.asarray(board.find_fitting(0)).tolist() == [True, False, False]
    assert np.asarray(board.find_fitting(0, paired=False)).tolist() == [True, False, False]
    assert [board.fits(0, machine) for machine in range(3)] == [True, False, False]


def test_a_copy_changes_by_itself():
    board = Board(problem(tasks=[9], requests=[[1]], free=[[2]]))
    twin = board.copy()
    twin.place(0, 0, 2)
    assert (board.fits(0, 0), twin.fits(0, 0)) == (True, False)
    twin.give_back(0, 0)
    assert twin.fits(0, 0)
