"""A wave's problem: parts of classes, and bundles of parts that nothing tells apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, JointRows
from firmament.core.constraints.ruleset import NO_RULES
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.flow.residual import Residual
from firmament.core.placement.subclasses import LARGEST_COST, ClassPart, derive
from tests.firmament.core.placement.rules import proposed, units
from tests.support.core import problem
from tests.support.rules import ints
from tests.support.tuning import PLACING

MANY = PLACING.pinned_up_to + 50


def mask(machines: int, *rows: int) -> Bool:
    found = np.zeros(machines, dtype=np.bool_)
    found[list(rows)] = True
    return found


def test_whole_classes_stay_as_they_are():
    given = problem(
        tasks=[[1, 0, 2, 0], 4],
        requests=[[1], [2]],
        free=[[9]] * 3,
        cost=[[1, 2, 3], [4, 5, 6]],
        priority=[0, 1],
    )
    wave = derive(Residual(given), [ClassPart(1, 4), ClassPart(0, 3)], pinned_up_to=PLACING.pinned_up_to)
    made = wave.residual.problem
    assert made.counts.tolist() == [[0, 0, 0, 4], [1, 0, 2, 0]]
    assert made.priority.tolist() == [1, 0]
    assert made.requests[made.shape].tolist() == [[2], [1]]
    assert made.cost[made.shape].tolist() == [[4, 5, 6], [1, 2, 3]]
    assert (dict(made.pins), dict(made.most), made.rules) == ({}, {}, NO_RULES)
    assert units(wave.in_round(proposed((0, 2, 2), (1, 0)))) == [(1, 2), (1, 2), (0, 0)]


def test_what_is_left_is_carried_over():
    rows = JointRows(ints(0, 0), ints(1, 3), ints(7), "full")
    residual = Residual(problem(tasks=[2, 2], requests=[[1], [2]], free=[[9]] * 2, joint=[rows]))
    residual.book_assignments(proposed((0, 1)))
    made = derive(residual, [ClassPart(1, 2), ClassPart(0, 1)], pinned_up_to=PLACING.pinned_up_to).residual
    assert made.free.tolist() == [[9, 8]]
    assert made.placed.tolist() == [0, 1]
    assert made.joint[0].left.tolist() == [6]
    assert made.problem.joint[0].amount[made.problem.shape].tolist() == [3, 1]
    made.book_assignments(proposed((0, 0)))
    assert residual.free.tolist() == [[9, 8]]
    assert residual.joint[0].left.tolist() == [6]


def test_the_parts_of_a_class_share_its_waiting_tasks_oldest_first():
    given = problem(tasks=[[1, 2, 0, 3]], requests=[[1]], free=[[9]] * 4)
    parts = [ClassPart(0, 2, mask(4, 0, 1)), ClassPart(0, 3, mask(4, 2)), ClassPart(0, 1, mask(4, 3))]
    made = derive(Residual(given), parts, pinned_up_to=PLACING.pinned_up_to).residual.problem
    assert made.counts.tolist() == [[1, 1, 0, 0], [0, 1, 0, 2], [0, 0, 0, 1]]
    assert {cls: rows.tolist() for cls, rows in made.pins.items()} == {0: [0, 1], 1: [2], 2: [3]}
    assert len(made.cost) == 1, "pinned parts share the rows of their shape"


def test_many_machines_are_a_mask():
    given = problem(tasks=[3], requests=[[1]], free=[[9]] * MANY)
    few, many = mask(MANY, *range(PLACING.pinned_up_to)), mask(MANY, *range(PLACING.pinned_up_to + 1))
    made = derive(
        Residual(given), [ClassPart(0, 1, few), ClassPart(0, 2, many)], pinned_up_to=PLACING.pinned_up_to
    ).residual.problem
    assert {cls: len(rows) for cls, rows in made.pins.items()} == {0: PLACING.pinned_up_to}
    assert made.feasible[made.shape].sum(axis=1).tolist() == [MANY, PLACING.pinned_up_to + 1]


def test_a_mask_opens_nothing_that_was_closed():
    closed = [index % 2 == 0 for index in range(2 * MANY)]
    given = problem(tasks=[1], requests=[[1]], free=[[9]] * (2 * MANY), feasible=[closed])
    many = mask(2 * MANY, *range(MANY))
    made = derive(
        Residual(given), [ClassPart(0, 1, many)], pinned_up_to=PLACING.pinned_up_to
    ).residual.problem
    assert made.feasible[0].tolist() == [each and row < MANY for row, each in enumerate(closed)]


def test_pins_of_the_class_stay_within_the_mask():
    given = problem(tasks=[2], requests=[[1]], free=[[9]] * 4, pins={0: [0, 2, 3]})
    made = derive(
        Residual(given),
        [ClassPart(0, 1, mask(4, 1, 2, 3)), ClassPart(0, 1)],
        pinned_up_to=PLACING.pinned_up_to,
    ).residual.problem
    assert [made.pins[cls].tolist() for cls in (0, 1)] == [[2, 3], [0, 2, 3]]


def test_points_are_added_to_the_cost_and_cut_off():
    given = problem(
        tasks=[1, 1], requests=[[1], [1]], free=[[9]] * 3, cost=[[7, 0, LARGEST_COST - 5], [0, 0, 0]]
    )
    made = derive(
        Residual(given),
        [ClassPart(0, 1, points=np.array([1.5, 0.004, 9.0])), ClassPart(1, 1)],
        pinned_up_to=PLACING.pinned_up_to,
    ).residual.problem
    assert made.cost[made.shape].tolist() == [[7 + 150, 0, LARGEST_COST], [0, 0, 0]]
    assert COST_UNITS_PER_POINT == 100


# --- bundles ---------------------------------------------------------------------------------------------------------


def alike(count: int, **more: object) -> list[ClassPart]:
    return [ClassPart(cls, 2, most=1, **more) for cls in range(count)]  # type: ignore[arg-type]  # fields by name


def same_shape(classes: int, machines: int) -> Residual:
    made = problem(tasks=[2] * classes, requests=[[1]] * classes, free=[[9]] * machines)
    return Residual(replace(made, shape=np.zeros(classes, dtype=np.int64)))


def test_parts_that_nothing_tells_apart_are_one_class():
    wave = derive(same_shape(3, 4), alike(3), pinned_up_to=PLACING.pinned_up_to)
    assert wave.residual.problem.counts.tolist() == [[0, 0, 0, 6]]
    assert dict(wave.residual.problem.most) == {0: 3}


def test_other_machines_costs_limits_or_priorities_tell_parts_apart():
    residual = same_shape(6, 4)
    residual.problem.priority[5] = 1
    parts = [
        ClassPart(0, 2, most=1),
        ClassPart(1, 2, most=2),
        ClassPart(2, 2, mask(4, 0), most=1),
        ClassPart(3, 2, points=np.ones(4), most=1),
        ClassPart(4, 2, most=1),
        ClassPart(5, 2, most=1),
    ]
    wave = derive(residual, parts, pinned_up_to=PLACING.pinned_up_to)
    assert [[part.cls for part in bundle] for bundle in wave.bundles] == [[0, 4], [1], [2], [3], [5]]
    assert dict(wave.residual.problem.most) == {0: 2, 1: 2, 2: 1, 3: 1, 4: 1}


def test_the_parts_of_a_bundle_take_turns_so_that_no_machine_gets_more_of_one_than_it_may():
    wave = derive(same_shape(3, 4), alike(3), pinned_up_to=PLACING.pinned_up_to)
    # what the flow may do: at most three of the bundle on a machine
    found = units(wave.in_round(proposed((0, 3, 3), (0, 0, 1), (0, 1, 2))))
    assert sorted(cls for cls, _ in found) == [0, 0, 1, 1, 2, 2]
    assert sorted(machine for _, machine in found) == [0, 1, 1, 3, 3, 3]
    assert len(set(found)) == len(found), "no machine has two of one class"


def test_turns_when_parts_differ_in_size():
    sizes = [1, 4, 2]
    residual = same_shape(3, 9)
    residual.remaining[:, -1] = sizes
    wave = derive(
        residual,
        [ClassPart(cls, size, most=1) for cls, size in enumerate(sizes)],
        pinned_up_to=PLACING.pinned_up_to,
    )
    found = units(wave.in_round(proposed((0, 0, 3), (0, 1, 2), (0, 2, 1), (0, 3, 1))))
    assert [sum(cls == each for each, _ in found) for cls in range(3)] == sizes
    assert len(set(found)) == len(found)


def test_a_bundle_that_is_not_placed_whole_serves_all_its_parts_alike():
    wave = derive(same_shape(4, 4), alike(4), pinned_up_to=PLACING.pinned_up_to)
    found = units(wave.in_round(proposed((0, 0, 2), (0, 1, 3))))
    assert sorted(sum(cls == each for each, _ in found) for cls in range(4)) == [1, 1, 1, 2]
