"""Limits and constraints of models: what is left, which machines they close and why, and where they do not apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from cost_models.interface import Bool, Int64, JointRows, Returned
from firmament.core.constraints.constraint import Constraints
from firmament.core.constraints.model_limits import ModelConstraint, ModelLimits, RemainingJointCapacity
from firmament.core.constraints.quota_terms import Draw
from firmament.core.reasons import AnyReason, CuredBy, Severity
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.constraints.team_isolation import REASON, Teams
from tests.support.rules import ints

ROWS = JointRows(
    row_of=ints(0, -1, 1, 0),
    amount=ints(2, 0, 3),
    limit=ints(5, 3),
    reason="full",
    returned=Returned(ints(0, 0)),
)
"""Machines 0 and 3 share a row of 5, machine 2 has one of 3, and 1 has none."""


def room(*left: int) -> RemainingJointCapacity:
    return RemainingJointCapacity(ROWS, ints(*left))


def open_to(left: RemainingJointCapacity, shape: int) -> list[bool]:
    machines = np.ones(4, dtype=np.bool_)
    left.close_full(machines, shape)
    return machines.tolist()


class TestJointRoom:
    def test_it_begins_with_the_limits_and_keeps_them(self):
        made = RemainingJointCapacity.from_rows(ROWS)
        made.add(0, 0, 1)
        assert made.left.tolist() == [3, 3]
        assert ROWS.limit.tolist() == [5, 3]
        twin = made.copy()
        twin.add(0, 3, 1)
        assert (made.left.tolist(), twin.left.tolist()) == ([3, 3], [1, 3])

    @pytest.mark.parametrize(
        ("left", "shape", "expected"),
        [
            ((2, 3), 0, [True, True, True, True]),
            ((1, 3), 0, [False, True, True, False]),
            ((2, 1), 0, [True, True, False, True]),
            ((2, 2), 2, [False, True, False, False]),
            ((-9, -9), 1, [True, True, True, True]),
        ],
    )
    def test_machines_with_room(self, left: tuple[int, int], shape: int, expected: list[bool]):
        made = room(*left)
        assert open_to(made, shape) == expected
        assert [made.fits(shape, machine) for machine in range(4)] == expected

    def test_closed_machines_stay_closed(self):
        machines = np.zeros(4, dtype=np.bool_)
        room(9, 9).close_full(machines, 0)
        assert not machines.any()

    def test_units_are_limited_by_what_is_left(self):
        units = np.full(6, 9)
        room(5, 3).limit_units(units, ints(0, 0, 0, 1, 2, 2), ints(0, 1, 2, 0, 3, 2))
        assert units.tolist() == [2, 9, 1, 9, 1, 1]
        few = np.array([1])
        room(5, 3).limit_units(few, ints(0), ints(0))
        assert few.tolist() == [1]

    def test_tasks_are_booked_and_released(self):
        made = room(5, 3)
        made.book(ints(0, 2, 0, 1), ints(0, 3, 1, 2), ints(1, 1, 7, 7))
        assert made.left.tolist() == [0, 3]
        made.book(ints(0), ints(3), ints(-2))
        assert made.left.tolist() == [4, 3]
        made.add(0, 1, 5)
        made.add(0, 2, -1)
        assert made.left.tolist() == [4, 5]

    def test_parts_are_renumbered(self):
        part = room(4, 2).part(ints(2, 0), ints(3, 2))
        assert part.rows.row_of.tolist() == [0, 1]
        assert part.rows.amount.tolist() == [3, 2]
        part.left[0] = 9
        assert room(4, 2).left.tolist() == [4, 2]
        assert room(4, 2).get_per_machine(99).tolist() == [4, 99, 2, 4]

    def test_as_limits_they_give_nothing_back(self):
        limit = room(4, 2).as_limit()
        assert limit.limit.tolist() == [4, 2]
        assert limit.returned is None
        assert limit.reason == "full"


@dataclass
class Seats:
    """A ledger of seats by machine, with reasons."""

    seats: Int64
    fault: str = ""
    faults: Sequence[tuple[str, Bool]] = ()
    reason: str = "no seat"
    asked: list[int] = field(default_factory=list)

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        return np.zeros(len(shapes), dtype=np.bool_)

    def count_room(self, shape: int) -> Int64:
        return self.seats.copy()

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        self.asked += shapes.tolist()
        return self.seats[machines]

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        taken = []
        for machine, count in zip(machines.tolist(), counts.tolist(), strict=True):
            taken.append(min(count, int(self.seats[machine])))
            self.seats[machine] -= taken[-1]
        return np.array(taken)

    def copy(self) -> Seats:
        return replace(self, seats=self.seats.copy())

    def find_fault(self, shape: int) -> str:
        return self.fault

    def list_faults(self, shape: int) -> Sequence[tuple[str, Bool]]:
        return self.faults

    def find_full(self, shapes: Int64, machines: Int64) -> Bool:
        return np.zeros(len(shapes), dtype=np.bool_)


SHAPE = ints(2, -1, 0)
"""Class 0 has shape 2, class 1 none, class 2 shape 0."""


def told(found: list[tuple[AnyReason, Bool]]) -> list[tuple[str, list[bool]]]:
    return [(reason.text, refused.tolist()) for reason, refused in found]


class TestModelLimits:
    def test_every_limit_gives_its_reason(self):
        limits = ModelLimits([ROWS], [Seats(ints(1, 0, 1, 0))], SHAPE)
        assert told(limits.refusals(2)) == [("full", [False] * 4), ("no seat", [False, True, False, True])]
        limits.add(2, 0, 1)
        assert told(limits.refusals(2)) == [("full", [False] * 4), ("no seat", [True, True, False, True])]
        assert told(limits.refusals(0)) == [("full", [False] * 4), ("no seat", [True, True, False, True])]
        limits.add(2, 3, 1)
        assert told(limits.refusals(0, ints(2, 3))) == [("full", [False, True]), ("no seat", [False, True])]
        assert all(reason.severity is Severity.UNSCHEDULABLE for reason, _ in limits.refusals(0))

    def test_more_exact_reasons_come_first_and_only_once_for_each_machine(self):
        far = np.array([True, True, False, False])
        limits = ModelLimits([], [Seats(ints(1, 0, 0, 1), faults=[("far", far)])], SHAPE)
        assert told(limits.refusals(0)) == [
            ("far", [False, True, False, False]), ("no seat", [False, False, True, False]),
        ]  # fmt: skip
        assert told(limits.refusals(0, ints(2, 1))) == [("far", [False, True]), ("no seat", [True, False])]

    def test_a_fault_of_the_task_is_the_only_reason(self):
        limits = ModelLimits([], [Seats(ints(0, 0, 1, 0), fault="bad claim")], SHAPE)
        ((reason, refused),) = limits.refusals(0)
        assert (reason.text, reason.of_task, reason.cured_by) == ("bad claim", True, CuredBy.CHANGE)
        assert refused.tolist() == [True, True, False, True]
        assert told(limits.refusals(0, ints(2))) == [("bad claim", [False])]

    def test_classes_without_a_shape_are_not_concerned(self):
        limits = ModelLimits([ROWS], [Seats(ints(0, 0, 0, 0))], SHAPE)
        assert [limits.involves(cls) for cls in range(3)] == [True, False, True]
        assert limits.refusals(1) == []
        assert limits.allows(1, 0)

    def test_one_machine_is_allowed_if_every_limit_has_room(self):
        seats = Seats(ints(1, 1, 0, 1))
        limits = ModelLimits([ROWS], [seats], SHAPE)
        assert [limits.allows(0, machine) for machine in range(4)] == [True, True, False, True]
        limits.add(0, 0)
        assert [limits.allows(0, machine) for machine in range(4)] == [False, True, False, False]
        assert seats.seats.tolist() == [1, 1, 0, 1], "what is given is not changed"
        assert {*seats.asked} == {2}, "it is asked by shape"

    def test_quotas_limit_too(self):
        terms = pose(
            [[2, 0]],
            [Draw(0, (one_of(0),)), Draw(-1), Draw(0, (one_of(1),))],
            kind=(0, 1),
            covers=[[True, True], [False, True], [False, False]],
        )
        limits = ModelLimits([], [], SHAPE, terms)
        assert [limits.allows(2, machine) for machine in (0, 1)] == [True, False]
        assert [limits.allows(0, machine) for machine in (0, 1)] == [False, False]
        assert [refused.tolist() for _, refused in limits.refusals(2)] == [[False, True]]
        assert [refused.tolist() for _, refused in limits.refusals(2, ints(1))] == [[True]]
        limits.add(2, 0, 2)
        assert not limits.allows(2, 0)
        limits.add(2, 0, -1)
        assert limits.allows(2, 0)
        assert limits.find_crowded(ints(2), ints(0)).tolist() == [False]
        assert limits.find_crowded(ints(2, 2), ints(0, 0)).tolist() == [True, True]

    def test_ledgers_give_nothing_back(self):
        with pytest.raises(ValueError, match="a ledger gives nothing back"):
            ModelLimits([], [Seats(ints(1))], SHAPE).add(0, 0, -1)

    def test_crowded_are_those_that_may_not_all_be_allowed(self):
        limits = ModelLimits([ROWS], [Seats(ints(9, 1, 9, 9))], SHAPE)
        assert limits.find_crowded(ints(2, 2), ints(0, 3)).tolist() == [False, False]
        assert limits.find_crowded(ints(2, 0), ints(0, 3)).tolist() == [False, False], "2 and 3 are 5"
        assert limits.find_crowded(ints(2, 2, 2, 2), ints(0, 3, 0, 2)).tolist() == [True, True, True, False]
        assert limits.find_crowded(ints(2, 0), ints(1, 1)).tolist() == [True, True]
        assert limits.find_crowded(ints(), ints()).tolist() == []

    def test_a_booking_in_what_is_shared_is_one_in_both(self):
        joint, seats = [RemainingJointCapacity.from_rows(ROWS)], Seats(ints(1, 1, 1, 1))
        limits = ModelLimits.sharing(joint, None, [seats], SHAPE)
        limits.add(2, 0, 1)
        assert joint[0].left.tolist() == [3, 3]
        assert seats.seats.tolist() == [0, 1, 1, 1]


class Part:
    """A constraint that allows some machines, and notes what is added."""

    def __init__(self, *allowed: int, of: int = 0) -> None:
        self.allowed, self.of = allowed, of
        self.added: list[tuple[int, int, int]] = []

    def involves(self, cls: int) -> bool:
        return cls == self.of

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        return []

    def allows(self, cls: int, machine: int) -> bool:
        return machine in self.allowed

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        self.added.append((cls, machine, count))


def test_several_constraints_are_one():
    one, other = Part(0, 1, of=0), Part(1, 2, of=2)
    both = Constraints([one, None, other])
    assert [both.involves(cls) for cls in range(3)] == [True, False, True]
    assert [both.allows(0, machine) for machine in range(3)] == [False, True, False]
    assert [both.admit(0, machine) for machine in range(3)] == [False, True, False]
    assert one.added == other.added == [(0, 1, 1)]
    both.add(2, 0, -3)
    assert one.added[-1] == other.added[-1] == (2, 0, -3)
    assert Constraints([]).admit(0, 0)
    assert not Constraints([]).involves(0)


class TestModelConstraint:
    def made(self) -> ModelConstraint:
        """Machines 0 and 1 are in a rack with a task of team 0; each rack is for one team. Class 1 is of no team."""
        teams = Teams(ints(0, 0, 1), np.array([[1, 0], [0, 0]]), 1)
        return ModelConstraint("teams", ints(0, -1, 1), teams)

    def test_refusals_are_those_of_the_kind(self):
        made = self.made()
        assert told(made.refusals(2)) == [(REASON, [True, True, False])]
        assert told(made.refusals(2, ints(2, 0))) == [(REASON, [False, True])]
        assert told(made.refusals(0)) == [(REASON, [False, False, False])]
        assert made.refusals(2)[0][0].severity is Severity.UNSCHEDULABLE

    def test_classes_of_no_kind_are_not_concerned(self):
        made = self.made()
        assert [made.involves(cls) for cls in range(3)] == [True, False, True]
        assert made.refusals(1) == []
        assert made.allows(1, 0)
        made.add(1, 2, 5)
        assert [made.allows(2, machine) for machine in range(3)] == [False, False, True]

    def test_tasks_that_come_and_go_count_in_one_copy_alone(self):
        made, twin = self.made(), self.made().copy()
        assert twin.model == "teams"
        twin = made.copy()
        twin.add(0, 2)
        assert (twin.allows(2, 2), made.allows(2, 2)) == (False, True)
        twin.add(0, 0, -1)
        assert (twin.allows(2, 0), made.allows(2, 0)) == (True, False)
