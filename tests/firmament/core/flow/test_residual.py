"""What is left of a problem: which classes wait, where there is room, and what bookings take of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.constraints.quota_terms import Draw
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual, machine_units
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.support.core import problem
from tests.support.histories.holding import SeatLedger

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
    on_first = residual.count_fitting(np.arange(3), np.zeros(3, dtype=np.int64))
    assert on_first.tolist() == list(there)
    on_second = residual.count_fitting(np.arange(3), np.ones(3, dtype=np.int64))
    assert on_second.tolist() == [2, 1, 3]


@pytest.mark.parametrize("joint", [(), (ROWS,)])
def test_all_ways_to_ask_for_room_agree(joint: tuple[JointRows, ...]):
    for taken in range(4):
        residual = begin(*joint)
        for _ in range(taken):
            residual.add(0, 0)
        together = residual.find_fitting_by_shape(range(3))
        for shape in range(3):
            room = residual.has_room(shape)
            units = residual.count_fitting(np.array([shape] * 2), np.array([0, 1]))
            assert room.tolist() == (units > 0).tolist()
            assert room.tolist() == [residual.has_room_on(shape, machine) for machine in (0, 1)]
            assert residual.find_fitting(shape).tolist() == (room & residual.problem.feasible[shape]).tolist()
            assert together[shape].tolist() == residual.find_fitting(shape).tolist()


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


class TestQuotasAndLedgers:
    """Seats of machines and quotas of queues limit tasks beside what machines have; both take what is booked."""

    SHAPES = np.array([0, 1, 2, 0, 1, 2])
    MACHINES = np.array([0, 0, 0, 1, 1, 1])

    def residual(
        self, *, seats: tuple[int, int] = (2, 0), quota: int = 3, numbered: bool = False
    ) -> Residual:
        """Class 0 takes a seat, class 1 two of the quota, class 2 neither; ``numbered``: ledgers know 2 as 1."""
        posed = problem(tasks=[9] * 3, requests=[[1]] * 3, free=[[9], [9]])
        draws = pose([[quota]], [Draw(0, (one_of(0, amount=2),))], kind=[0, 0])
        seated = np.array([True, False] if numbered else [True, False, False])
        return Residual(
            replace(
                posed,
                quotas=replace(draws, draw=np.array([-1, 0, -1])),
                ledgers=(SeatLedger(np.array(seats), seated),),
                model_shape=np.array([0, 1, 1]) if numbered else None,
            )
        )

    @pytest.mark.parametrize("numbered", [False, True])
    def test_all_ways_to_ask_agree(self, numbered: bool):
        residual = self.residual(numbered=numbered)
        assert residual.count_fitting(self.SHAPES, self.MACHINES).tolist() == [2, 1, 9, 0, 1, 9]
        assert [residual.has_room_on(shape, 0) for shape in range(3)] == [True, True, True]
        assert [residual.has_room_on(shape, 1) for shape in range(3)] == [False, True, True]
        for shape in range(3):
            assert residual.has_room(shape).tolist() == [residual.has_room_on(shape, each) for each in (0, 1)]
        residual.add(0, 0, 2)
        residual.add(1, 1)
        assert residual.count_fitting(self.SHAPES, self.MACHINES).tolist() == [0, 0, 7, 0, 0, 8]
        assert [residual.has_room_on(shape, 0) for shape in range(3)] == [False, False, True]

    @pytest.mark.parametrize("numbered", [False, True])
    @pytest.mark.parametrize("at_once", [False, True])
    def test_bookings_take_seats_and_quota(self, numbered: bool, at_once: bool):
        residual = self.residual(seats=(5, 5), quota=9, numbered=numbered)
        shapes, machines, counts = np.array([0, 1, 2]), np.array([0, 1, 1]), np.array([3, 2, 4])
        if at_once:
            residual.book(shapes, machines, counts)
        else:
            for entry in zip(shapes.tolist(), machines.tolist(), counts.tolist(), strict=True):
                residual.add(*entry)
        assert residual.placed.tolist() == [3, 6]
        assert residual.free.tolist() == [[6, 3]]
        assert residual.count_fitting(self.SHAPES, self.MACHINES).tolist() == [2, 2, 6, 3, 2, 3]
        (ledger,) = residual.ledgers
        assert isinstance(ledger, SeatLedger)
        assert ledger.seats.tolist() == [2, 5]

    def test_a_ledger_gives_nothing_back(self):
        residual = self.residual()
        residual.add(2, 0, 0)
        with pytest.raises(ValueError, match="a ledger gives nothing back"):
            residual.add(2, 0, -1)

    def test_a_copy_for_another_problem_keeps_what_is_taken(self):
        residual = self.residual(seats=(5, 5), quota=9)
        residual.add(0, 0, 2)
        residual.add(1, 0, 3)
        assert residual.problem.quotas is not None
        turned = replace(residual.problem.quotas, draw=np.array([0, -1, -1]))
        twin = residual.from_problem(
            replace(residual.problem, quotas=turned, requests=np.array([[2], [1], [1]]))
        )
        assert twin.count_fitting(np.arange(3), np.zeros(3, np.int64)).tolist() == [1, 4, 4], (
            "class 0 draws two of three"
        )
        assert twin.has_room_on(0, 0)
        twin.add(0, 0)
        assert twin.free.tolist() == [[2, 9]]
        assert residual.free.tolist() == [[4, 9]]
        assert residual.count_fitting(np.arange(3), np.zeros(3, np.int64)).tolist() == [3, 1, 4]
        without = residual.from_problem(replace(residual.problem, quotas=None))
        assert without.quotas is None
        assert without.count_fitting(np.array([1]), np.array([0])).tolist() == [4]
