"""What is left of a problem: which classes wait, where there is room, and what bookings take of it."""

from __future__ import annotations

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual, admit, machine_units
from tests.support.core import problem

ROWS = JointRows(row_of=np.array([0, -1]), amount=np.array([2, 1, 1]), limit=np.array([5]), reason="full")
"""A row of the first machine, from which tasks take 2, 1 and 1 of 5."""


def begin(*joint: JointRows) -> Residual:
    """Return what is left of a problem of three classes, of which the last has no tasks, and two machines."""
    return Residual(
        problem(
            tasks=[[0, 1, 0, 3], [2, 0, 0, 4], 0],
            requests=[[3, 0], [1, 2], [1, 1]],
            free=[[9, 4], [8, 3]],
            feasible=[[True, True], [False, True], [True, True]],
            priority=[0, 0, 9],
            joint=joint,
        )
    )


def test_classes_that_wait():
    residual = begin()
    assert residual.active().tolist() == [0, 1]
    assert residual.by_importance() == [1, 0], "the one that waits longest"


def test_one_task_is_booked_unless_a_number_is_given():
    residual = begin(ROWS)
    residual.add(1, 0)
    assert residual.free.tolist() == [[8, 8], [2, 3]]
    assert residual.placed.tolist() == [1, 0]
    assert residual.joint[0].left.tolist() == [4]
    residual.add(0, 1, 2)
    assert residual.free.tolist() == [[8, 2], [2, 3]]
    assert residual.placed.tolist() == [1, 2]
    residual.add(0, 1, -2)
    residual.add(1, 0, -1)
    assert residual.free.tolist() == begin().free.tolist()
    assert residual.joint[0].left.tolist() == [5]


def test_one_task_less_waits_of_the_oldest():
    residual = begin()
    for _ in range(3):
        residual.take_one(1)
    residual.take_one(0)
    assert residual.remaining.tolist() == [[0, 0, 0, 3], [0, 0, 0, 3], [0, 0, 0, 0]]


@pytest.mark.parametrize(("joint", "there"), [((), (3, 2, 4)), ((ROWS,), (2, 2, 4))])
def test_units(joint: tuple[JointRows, ...], there: tuple[int, int, int]):
    residual = begin(*joint)
    on_first = residual.units(np.arange(3), np.zeros(3, dtype=np.int64))
    assert on_first.tolist() == list(there)
    on_second = residual.units(np.arange(3), np.ones(3, dtype=np.int64))
    assert on_second.tolist() == [2, 1, 3]


@pytest.mark.parametrize("joint", [(), (ROWS,)])
def test_all_ways_to_ask_for_room_agree(joint: tuple[JointRows, ...]):
    for taken in range(4):
        residual = begin(*joint)
        for _ in range(taken):
            residual.add(0, 0)
        together = residual.fits_of(range(3))
        for shape in range(3):
            room = residual.has_room(shape)
            units = residual.units(np.array([shape] * 2), np.array([0, 1]))
            assert room.tolist() == (units > 0).tolist()
            assert room.tolist() == [residual.has_room_on(shape, machine) for machine in (0, 1)]
            assert residual.fits(shape).tolist() == (room & residual.problem.feasible[shape]).tolist()
            assert together[shape].tolist() == residual.fits(shape).tolist()


def test_a_copy_is_independent():
    residual = begin(ROWS)
    twin = residual.copy()
    twin.add(0, 0)
    twin.take_one(0)
    assert residual.free.tolist() == begin().free.tolist()
    assert residual.remaining.tolist() == begin().remaining.tolist()
    assert residual.joint[0].left.tolist() == [5]
    assert residual.placed.tolist() == [0, 0]


def test_a_bound_for_every_mix():
    residual = begin()
    assert machine_units(residual, np.array([0, 1])).tolist() == [9, 8]
    assert machine_units(residual, np.array([1])).tolist() == [2, 1]
    assert machine_units(residual, np.array([0])).tolist() == [3, 2]


def test_proposals_are_admitted_as_far_as_they_fit_together():
    residual = begin(ROWS)
    proposed = Assignments(np.array([0, 1, 0]), np.array([0, 0, 1]), np.array([2, 2, 3]))
    admitted = admit(residual, proposed)
    taken = {(cls, machine): count for cls, machine, count in admitted.entries()}
    assert taken == {(1, 0): 2, (0, 0): 1, (0, 1): 2}, (
        "the one that waits longest first, then what the row lets in"
    )
    assert residual.free.tolist() == [[4, 2], [0, 3]]
    assert residual.remaining.sum() == 10 - 5
