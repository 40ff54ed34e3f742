"""Room by models after evictions: columns of joint rows, and machines whose ledgers keep tasks waiting."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Bool, Int64, JointRows, Returned
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from firmament.core.preemption.models_room import (
    ENDLESS,
    MachinesNeedingLedgerCheck,
    find_needing_check,
    list_amount_columns,
)
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionTuning
from firmament.core.preemption.tree_groups.slots import MANY, LeafSlots
from tests.firmament.core.preemption.states import Victim, Waiting, pose
from tests.support.core import problem
from tests.support.rules import ints


@dataclass
class Keeping:
    """A ledger: so much room on each machine, on some of which the order matters."""

    room: Int64
    ordered: Bool
    reason: str = "kept"

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        return self.ordered[machines]

    def count_room(self, shape: int) -> Int64:
        return self.room.copy()

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        return self.room[machines]

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        taken = np.minimum(counts, self.room[machines])
        self.room[machines] -= taken
        return taken

    def copy(self) -> Keeping:
        return Keeping(self.room.copy(), self.ordered)


class Reasoned(Keeping):
    """One that also says which machines are full."""

    def find_fault(self, shape: int) -> str:
        return ""

    def list_faults(self, shape: int) -> Sequence[tuple[str, Bool]]:
        return ()

    def find_full(self, shapes: Int64, machines: Int64) -> Bool:
        return self.room[machines] <= 0

    def copy(self) -> Reasoned:
        return Reasoned(self.room.copy(), self.ordered)


@dataclass
class Opens:
    """A machine opens once a number of tasks (rows) of its own have left."""

    needed: dict[int, set[int]]
    held: Bool = field(default_factory=lambda: np.zeros((1, 3), np.bool_))
    asked: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)

    def find_possible(self, shape: int, tasks: Int64) -> Bool:
        return np.array([at in self.needed and self.needed[at] <= {*tasks.tolist()} for at in range(3)])

    def admits(self, shape: int, machine: int, tasks: Collection[int]) -> bool:
        self.asked.append((shape, machine, tuple(sorted(tasks))))
        return machine in self.needed and self.needed[machine] <= {*tasks}


class SharedOpens(Opens):
    """One that can answer for several tasks."""

    def concerns(self, shape: int) -> bool:
        return shape == 0

    def admits_all(self, shapes: Sequence[int], machine: int, tasks: Collection[int]) -> bool:
        return self.admits(shapes[-1], machine, tasks) and len(shapes) <= 2


VICTIMS = (Victim(0, (1,), 1), Victim(0, (1,), 20), Victim(1, (1,), 1), Victim(2, (1,), 1, leaving=True))
"""Their rows are 100 to 103."""


def kept(
    ledger: Keeping,
    opening: Opens | None,
    *,
    placed: Sequence[tuple[int, int]] = (),
    feasible: Any = None,
    held: Any = None,
) -> MachinesNeedingLedgerCheck:
    posed = problem(tasks=[3, 3], requests=[[1], [1]], free=[[9]] * 3, priority=[10, 30], feasible=feasible)
    posed = replace(
        posed,
        ledgers=(ledger,),
        rooms_after_eviction=(opening,),
        held=None if held is None else np.array(held),
    )
    given = pose([Waiting((1,), 10), Waiting((1,), 30)], VICTIMS)
    return MachinesNeedingLedgerCheck(posed, given, Assignments.from_single_tasks(list(placed)))


ALL, NONE = np.ones(3, np.bool_), np.zeros(3, np.bool_)


class TestKeptMachines:
    def test_a_ledger_keeps_machines_where_the_order_matters_or_that_are_full(self):
        plain = Keeping(ints(1, 0, 2), np.array([True, False, False]))
        assert find_needing_check(plain, ints(0, 0, 0), np.arange(3)).tolist() == [True, False, False]
        full = Reasoned(ints(1, 0, 2), np.array([True, False, False]))
        assert find_needing_check(full, ints(0, 0, 0), np.arange(3)).tolist() == [True, True, False]
        made = kept(full, None)
        assert [made.list_closing(0, machine) for machine in range(3)] == [[True], [True], [False]]
        assert [made.closes(0, machine) for machine in range(3)] == [True, True, False]

    @pytest.mark.parametrize(("cls", "expected"), [(0, [False, True, True]), (1, [True, True, True])])
    def test_they_may_open_if_all_less_important_tasks_left(self, cls: int, expected: list[bool]):
        opening = Opens({0: {100, 101}, 1: {102}, 2: {103}})
        assert kept(Keeping(ints(0, 0, 0), ALL), opening).openable(cls).tolist() == expected

    def test_only_kept_machines_that_filters_open_or_tasks_hold(self):
        opening = Opens({0: set(), 1: set(), 2: set()})
        some = np.array([True, True, False])
        assert kept(Keeping(ints(0, 0, 5), some), opening).openable(0).tolist() == [True, True, False]
        closed = [[False, True, True], [True] * 3]
        assert kept(Keeping(ints(0, 0, 5), some), opening, feasible=closed).openable(0).tolist() == [
            False,
            True,
            False,
        ]
        held = [[True, False, False], [False] * 3]
        assert kept(Keeping(ints(0, 0, 5), some), opening, feasible=closed, held=held).openable(0).tolist() == [
            True, True, False,
        ]  # fmt: skip

    def test_nobody_is_waited_for_where_others_of_the_round_go_or_no_model_can_say(self):
        opening = Opens({0: set(), 1: set(), 2: set()})
        assert kept(Keeping(ints(0, 0, 0), ALL), opening, placed=[(0, 1)]).openable(0).tolist() == [
            True,
            False,
            True,
        ]
        assert kept(Keeping(ints(0, 0, 0), ALL), None).openable(0).tolist() == [False] * 3


class TestPreemptors:
    def test_a_machine_opens_for_one_preemptor(self):
        opening = Opens({0: {100}})
        made = kept(Keeping(ints(0, 0, 0), ALL), opening)
        assert made.admits(0, 0, [0])
        assert not made.admits(0, 0, [2])
        assert opening.asked[0] == (0, 0, (100,)), "tasks are named by their rows"
        made.add_preemptor(0, 0)
        assert not made.admits(0, 0, [0])
        assert made.openable(0).tolist()[0] is False
        assert (made.stays_open(0, [0]), made.stays_open(0, []), made.stays_open(1, [])) == (
            True,
            False,
            True,
        )

    def test_shared_capacity_takes_several(self):
        opening = SharedOpens({0: {100}})
        made = kept(Keeping(ints(0, 0, 0), ALL), opening)
        made.add_preemptor(0, 0)
        assert made.openable(0).tolist() == [True, False, False]
        assert made.admits(0, 0, [0])
        made.add_preemptor(1, 0)
        assert not made.admits(0, 0, [0]), "no more than two"
        assert [made.shares(cls) for cls in (0, 1)] == [True, False]
        assert [made.meets_preemptors(cls, machine) for cls in (0, 1) for machine in (0, 1)] == [
            True,
            False,
            False,
            False,
        ]

    def test_a_copy_has_preemptors_of_its_own(self):
        made = kept(Keeping(ints(0, 0, 0), ALL), Opens({}))
        made.add_preemptor(0, 0)
        twin = made.copy()
        twin.add_preemptor(1, 0)
        twin.add_preemptor(1, 2)
        assert (made.preemptors, twin.preemptors) == ({0: [0]}, {0: [0, 1], 2: [1]})

    def test_machines_of_the_round_or_without_an_opening_never_open(self):
        opening = Opens({0: set(), 1: set()})
        assert not kept(Keeping(ints(0, 0, 0), ALL), opening, placed=[(0, 0)]).admits(0, 0, [])
        assert not kept(Keeping(ints(0, 0, 0), ALL), None).admits(0, 0, [])
        assert kept(Keeping(ints(0, 0, 0), NONE), None).admits(0, 0, []), "it keeps nobody waiting"


ROWS = JointRows(
    ints(0, 1, -1), ints(2, 0), ints(5, 1), "full", Returned(ints(0, 3), barred=np.array([False, True]))
)


class TestColumns:
    def test_joint_rows_that_get_something_back_are_columns(self):
        posed = problem(tasks=[1, 1], requests=[[1, 0], [0, 2]], free=[[4, 5], [6, 7], [8, 9]], joint=[ROWS])
        given = replace(
            pose([Waiting((1, 0)), Waiting((0, 2))], [Victim(0, (1, 2)), Victim(1, (3, 4))]),
            returning=(0,),
            returns=np.array([[7], [8]]),
        )
        residual = Residual(posed)
        residual.book_assignments(Assignments.from_single_tasks([(0, 0)]))
        requests, heeded, sizes, room = list_amount_columns(posed, given, residual)
        assert requests.tolist() == [[1, 0, 2], [0, 2, 0]]
        assert heeded.tolist() == [[True, False, True], [False, True, True]]
        assert sizes.tolist() == [[1, 2, 7], [3, 4, 8], [0, 0, 0]]
        assert room.tolist() == [[3, 5, 3], [6, 7, -2], [8, 9, ENDLESS]]

    def test_other_joint_rows_are_not(self):
        posed = problem(
            tasks=[1], requests=[[1]], free=[[4], [5], [6]], joint=[replace(ROWS, amount=ints(2))]
        )
        requests, _, sizes, room = list_amount_columns(
            posed, pose([Waiting((1,))], [Victim(0, (1,))]), Residual(posed)
        )
        assert (requests.tolist(), sizes.tolist(), room.tolist()) == ([[1]], [[1], [0]], [[4], [5], [6]])


class TestSlots:
    def slots(
        self,
        victims: list[int],
        *,
        free: Sequence[Sequence[int]] = ((1,), (5,), (0,)),
        leaves: Sequence[int] = (2, 0, 1),
        ledger: Keeping | None = None,
        opening: Opens | None = None,
        joint: Sequence[JointRows] = (),
        **more: Any,
    ) -> list[int]:
        """Slots of the leaves for tasks of 2, after victims of 1, 2 and 4 on the three machines have left."""
        posed = problem(tasks=[9], requests=[[2]], free=free, priority=[10], joint=joint, **more)
        if ledger is not None:
            posed = replace(posed, ledgers=(ledger,), rooms_after_eviction=(opening,))
        given = pose([Waiting((2,), count=9)], [Victim(0, (1,)), Victim(1, (2,)), Victim(2, (4,))])
        now = PreemptionState(posed, given, Assignments.empty(), PreemptionTuning())
        return LeafSlots(now, ints(0), ints(*leaves)).count_after(ints(*victims))[0].tolist()

    def test_what_is_free_and_what_victims_give_back(self):
        assert self.slots([]) == [0, 0, 2]
        assert self.slots([0]) == [0, 1, 2]
        assert self.slots([0, 1, 2]) == [2, 1, 3]
        assert self.slots([2], leaves=(0, 1)) == [0, 2], "victims elsewhere do not matter"

    def test_machines_that_filters_or_pins_close_have_none(self):
        assert self.slots([], free=[[9]] * 3, feasible=[[True, True, False]]) == [0, 4, 4]
        assert self.slots([], free=[[9]] * 3, pins={0: [1]}) == [0, 0, 4]

    def test_limits_of_models(self):
        rows = JointRows(ints(0, 1, -1), ints(1), ints(3, 0), "full")
        assert self.slots([], free=[[9]] * 3, joint=[rows]) == [4, 3, 0]
        assert self.slots([], free=[[9]] * 3, ledger=Keeping(ints(1, 9, 2), NONE)) == [2, 1, 4]

    def test_a_kept_machine_takes_one_once_it_opens_and_has_the_resources(self):
        ledger, opening = Keeping(ints(9, 9, 9), np.array([True, False, True])), Opens({0: {100}, 2: {102}})
        kept_there: dict[str, Any] = {"ledger": ledger, "opening": opening}
        assert self.slots([], free=[[9]] * 3, **kept_there) == [0, 0, 4]
        assert self.slots([0], free=[[9]] * 3, **kept_there) == [0, 1, 4]
        assert self.slots([0, 2], free=[[9]] * 3, **kept_there) == [1, 1, 4]
        assert self.slots([0], free=[[0]] * 3, **kept_there) == [0, 0, 0]

    def test_nothing_limits_who_asks_for_nothing(self):
        posed = problem(tasks=[9], requests=[[0]], free=[[0], [-1]], priority=[10])
        given = pose([Waiting((0,), count=9)], [])
        now = PreemptionState(posed, given, Assignments.empty(), PreemptionTuning())
        assert LeafSlots(now, ints(0), ints(1, 0)).count_after(ints())[0].tolist() == [MANY, MANY]


class TestTakes:
    """What a state says of one machine, resources aside."""

    def state(self, ledger: Keeping, opening: Opens | None, **more: Any) -> PreemptionState:
        posed = problem(tasks=[9, 9], requests=[[2], [2]], free=[[0]] * 3, priority=[10, 10], **more)
        posed = replace(posed, ledgers=(ledger,), rooms_after_eviction=(opening,))
        given = pose([Waiting((2,), count=9)] * 2, [Victim(0, (1,)), Victim(1, (2,)), Victim(2, (4,))])
        return PreemptionState(posed, given, Assignments.empty(), PreemptionTuning())

    def test_a_ledger_that_keeps_nobody_waiting_must_have_room(self):
        now = self.state(Keeping(ints(1, 0, 2), NONE), None)
        assert [now.allows(0, machine) for machine in range(3)] == [True, False, True]
        now.put(0, 0)
        assert not now.allows(0, 0)

    def test_one_that_does_must_open_once_the_victims_have_left(self):
        now = self.state(Keeping(ints(9, 9, 9), np.array([True, False, False])), Opens({0: {100}}))
        assert [now.allows(0, machine) for machine in range(3)] == [False, True, True]
        now.evict([0])
        assert now.allows(0, 0)
        now.put(0, 0)
        assert not now.allows(0, 0), "one at a time"
        assert now.ledger_closed.preemptors == {0: [0]}

    def test_a_task_that_shares_with_a_preemptor_is_asked_about_too(self):
        opening = SharedOpens({})
        now = self.state(Keeping(ints(9, 9, 9), NONE), opening)
        assert now.allows(0, 1)
        assert opening.asked == []
        now.put(0, 1)
        assert not now.allows(0, 1)
        assert now.allows(1, 1), "a class that shares nothing is not"

    def test_limits_count_first(self):
        rows = JointRows(ints(0, 1, -1), ints(1, 1), ints(0, 1), "full")
        now = self.state(Keeping(ints(9, 9, 9), NONE), None, joint=[rows])
        assert [now.allows(0, machine) for machine in range(3)] == [False, True, True]

    def test_what_is_usable_leaves_out_machines_that_keep_tasks_waiting(self):
        now = self.state(Keeping(ints(9, 0, 9), np.array([True, False, False])), Opens({0: {100}}))
        assert now.usable(0).tolist() == [False, False, True]
        assert now.openable(0).tolist() == [True, False, False]
        now.confined = {0: np.array([False, True, True])}
        assert now.usable(0).tolist() == [False, False, True]
        assert now.openable(0).tolist() == [False, False, False]
        assert now.openable(1).tolist() == [True, False, False]
