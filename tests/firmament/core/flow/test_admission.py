"""Joint admission: what was proposed separately must fit together."""

from __future__ import annotations

import numpy as np

from cost_models.interface import JointRows
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from tests.support.core import problem

Triples = list[tuple[int, int, int]]


def admitted(residual: Residual, proposed: Triples) -> Triples:
    """(class, machine, count) of what is admitted of ``proposed``, sorted."""
    cls, machine, count = np.array(proposed, dtype=np.int64).reshape(-1, 3).T
    result = admit(residual, Assignments(cls, machine, count))
    return sorted(zip(result.cls.tolist(), result.machine.tolist(), result.count.tolist(), strict=True))


def test_nothing_proposed():
    assert admitted(Residual(problem(tasks=[1], requests=[[1]], free=[[1]])), []) == []


def test_what_fits_is_admitted_and_booked():
    residual = Residual(problem(tasks=[3, [2, 0, 0, 2]], requests=[[2, 1], [1, 0]], free=[[9, 9], [3, 2]]))
    assert admitted(residual, [(0, 0, 2), (1, 1, 3), (0, 1, 0)]) == [(0, 0, 2), (1, 1, 3)]
    assert residual.free.T.tolist() == [[5, 7], [0, 2]]
    assert residual.placed.tolist() == [2, 3]
    # The two that have waited longest go first.
    assert residual.remaining.tolist() == [[0, 0, 0, 1], [0, 0, 0, 1]]


def test_two_classes_do_not_overfill_a_machine_together():
    residual = Residual(problem(tasks=[2, 2], requests=[[3], [3]], free=[[10]]))
    assert admitted(residual, [(0, 0, 2), (1, 0, 2)]) == [(0, 0, 2), (1, 0, 1)]
    assert residual.free.tolist() == [[1]]


def test_every_resource_counts():
    residual = Residual(problem(tasks=[2, 2], requests=[[1, 5], [5, 1]], free=[[10, 10]]))
    assert admitted(residual, [(0, 0, 2), (1, 0, 2)]) == [(0, 0, 2), (1, 0, 0)][:1]


def test_a_machine_that_is_overcommitted_admits_nothing():
    residual = Residual(problem(tasks=[1], requests=[[1]], free=[[-3]]))
    assert admitted(residual, [(0, 0, 1)]) == []


# --- order -----------------------------------------------------------------------------------------------------------


def test_the_more_important_go_first():
    residual = Residual(problem(tasks=[2, 2, 2], requests=[[1]] * 3, free=[[3]], priority=[0, 2, 1]))
    assert admitted(residual, [(0, 0, 2), (1, 0, 2), (2, 0, 2)]) == [(1, 0, 2), (2, 0, 1)]


def test_among_equals_the_longest_waiting_go_first():
    residual = Residual(
        problem(tasks=[[0, 0, 0, 2], [0, 1, 0, 1], [0, 0, 2, 0]], requests=[[1]] * 3, free=[[3]])
    )
    assert admitted(residual, [(0, 0, 2), (1, 0, 2), (2, 0, 2)]) == [(1, 0, 2), (2, 0, 1)]


def test_priority_outweighs_wait():
    residual = Residual(problem(tasks=[[2, 0, 0, 0], 2], requests=[[1]] * 2, free=[[2]], priority=[0, 1]))
    assert admitted(residual, [(0, 0, 2), (1, 0, 2)]) == [(1, 0, 2)]


def test_then_the_first_class_goes_first():
    residual = Residual(problem(tasks=[2, 2], requests=[[1]] * 2, free=[[2]]))
    assert admitted(residual, [(1, 0, 2), (0, 0, 2)]) == [(0, 0, 2)]


def test_a_smaller_task_may_fill_what_a_larger_one_leaves():
    residual = Residual(problem(tasks=[2, 2], requests=[[6], [2]], free=[[10]], priority=[1, 0]))
    assert admitted(residual, [(0, 0, 2), (1, 0, 2)]) == [(0, 0, 1), (1, 0, 2)]


# --- joint rows ------------------------------------------------------------------------------------------------------


def rows(row_of: list[int], amount: list[int], limit: list[int]) -> JointRows:
    return JointRows(np.array(row_of), np.array(amount), np.array(limit), "full")


def test_a_joint_row_of_one_machine():
    residual = Residual(
        problem(tasks=[4, 4], requests=[[1]] * 2, free=[[9], [9]], joint=[rows([0, -1], [2, 3], [7])])
    )
    assert admitted(residual, [(0, 0, 2), (1, 0, 2), (1, 1, 2)]) == [(0, 0, 2), (1, 0, 1), (1, 1, 2)]
    assert residual.joint[0].left.tolist() == [0]


def test_a_joint_row_over_several_machines():
    residual = Residual(
        problem(tasks=[9], requests=[[1]], free=[[9]] * 3, joint=[rows([0, 0, 1], [2], [7, 100])])
    )
    assert admitted(residual, [(0, 0, 2), (0, 1, 2), (0, 2, 2)]) == [(0, 0, 2), (0, 1, 1), (0, 2, 2)]
    assert residual.joint[0].left.tolist() == [1, 96]


def test_the_more_important_go_first_on_rows_over_several_machines():
    residual = Residual(
        problem(
            tasks=[2, 2, [1, 0, 0, 1]],
            requests=[[1]] * 3,
            free=[[9]] * 3,
            priority=[0, 1, 0],
            joint=[rows([0, 0, 0], [1, 1, 1], [3])],
        )
    )
    assert admitted(residual, [(0, 0, 2), (1, 1, 2), (2, 2, 2)]) == [(1, 1, 2), (2, 2, 1)]


def test_every_joint_row_holds():
    residual = Residual(
        problem(
            tasks=[9],
            requests=[[1]],
            free=[[9], [9]],
            joint=[rows([0, 1], [1], [5, 5]), rows([0, 0], [1], [6]), rows([-1, -1], [1], [0])],
        )
    )
    assert admitted(residual, [(0, 0, 9), (0, 1, 9)]) == [(0, 0, 5), (0, 1, 1)]


def test_tasks_that_take_nothing_of_a_row_are_not_held_up():
    residual = Residual(problem(tasks=[1, 3], requests=[[1]] * 2, free=[[9]], joint=[rows([0], [1, 0], [0])]))
    assert admitted(residual, [(0, 0, 1), (1, 0, 3)]) == [(1, 0, 3)]
