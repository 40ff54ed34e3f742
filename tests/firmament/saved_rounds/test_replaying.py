from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from firmament.core.flow.problem import Assignments
from firmament.core.placement.outcome import no_timer
from firmament.core.rounds import decide
from firmament.saved_rounds.replaying import differing_tasks, replay
from firmament.saved_rounds.saving import decode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.saved_rounds.rounds import files
from tests.support.effort import examples
from tests.support.histories.problems import SEEDS, placement_problem


def test_a_saved_round_comes_out_the_same():
    done = replay(decode_round(files()), OrToolsSolver(), no_timer)
    assert (done.same, done.moved) == (True, 0)
    assert done.cost_then == done.cost_now > 0
    assert (
        replace(done.now, solve_seconds=done.then.solve_seconds) == done.then
    )  # others: a timer that says 0
    assert done.placed == done.then.placed > 0


def test_another_outcome_is_told():
    saved = decode_round(files())
    closed = saved.problem.feasible.copy()
    closed[saved.problem.shape[saved.placed.cls[0]], saved.placed.machine[0]] = False
    done = replay(replace(saved, problem=replace(saved.problem, feasible=closed)), OrToolsSolver(), no_timer)
    assert not done.same
    assert done.moved > 0
    assert done.cost_now != done.cost_then
    assert done.document()["totalCost"]["then"] == done.cost_then / 100


@settings(max_examples=examples(25))
@given(seed=SEEDS)
def test_random_problems_come_out_the_same(seed):
    saved = decode_round(files())
    problem = placement_problem(seed, 5, 8, joint=True)
    options = saved.description.options
    placed = decide(problem, OrToolsSolver(), options, no_timer).assignments
    assert replay(replace(saved, problem=problem, placed=placed), OrToolsSolver(), no_timer).same


def assignments(*rows: tuple[int, int, int]) -> Assignments:
    cls, machine, count = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Assignments(cls, machine, count)


def test_tasks_that_change_machine_are_counted():
    before = assignments((0, 0, 3), (1, 2, 1))
    assert differing_tasks(before, assignments((1, 2, 1), (0, 0, 1), (0, 0, 2)), 3) == 0
    assert differing_tasks(before, assignments((0, 0, 1), (0, 1, 2), (1, 2, 1)), 3) == 2
    assert differing_tasks(before, assignments((0, 0, 3)), 3) == 1
    assert differing_tasks(Assignments.empty(), before, 3) == 4
    assert differing_tasks(Assignments.empty(), Assignments.empty(), 0) == 0
