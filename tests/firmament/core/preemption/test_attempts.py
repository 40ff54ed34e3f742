"""What attempts are compared by, which ones are made, and which units may leave for a group over a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.problem import Assignments
from firmament.core.preemption.attempts import AttemptOutcome, preempt
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionDecision, PreemptionTuning
from firmament.core.preemption.tree_groups.groups import waiting_together
from firmament.core.preemption.tree_groups.leaving_units import Units, list_units
from firmament.core.preemption.tree_groups.slots import MANY, LeafSlots
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, state

OUTCOME = AttemptOutcome(left=1, over=1, tops=(5, 3), total=10, victims=2)


@pytest.mark.parametrize(
    "worse",
    [
        {"left": 2, "over": 0},
        {"over": 2, "tops": ()},
        {"tops": (6,), "total": 0},
        {"tops": (5, 3, 1), "total": 0},
        {"total": 11, "victims": 1},
        {"victims": 3},
    ],
    ids=str,
)
def test_the_first_figure_that_differs_decides(worse: dict[str, object]):
    assert OUTCOME._replace(**worse) > OUTCOME  # type: ignore[arg-type]  # fields by name


def decide(now: PreemptionState, *, attempts: int = 32, may: bool = True) -> list[PreemptionDecision]:
    """What preemption decides, from the problem that a state was made of."""
    decided, placed = preempt(
        now.problem,
        replace(now.preemption, may=np.full(now.problem.classes, may)),
        Assignments.empty(),
        OrToolsSolver(),
        None,
        {},
        PreemptionTuning(attempts=attempts),
    )
    assert not len(placed.cls)
    return list(decided)


def test_the_most_important_classes_come_first_and_some_may_not_evict():
    now = state([Waiting((1,), 5), Waiting((1,), 7)], [[0]], [Victim(0, (1,), 1)])
    assert [(each.cls, each.machine, each.evicts) for each in decide(now)] == [(1, 0, (0,))]
    assert decide(now, may=False) == []


def test_another_attempt_breaks_fewer_budgets():
    # The best bundle for each task uses up the budget for the other one.
    running = [
        Victim(0, (1,), 0, budgets=(0,)),
        Victim(0, (1,), 1),
        Victim(1, (1,), 0, budgets=(0,)),
        Victim(1, (1,), 2),
    ]
    now = state([Waiting((1,), count=2)], [[0], [0]], running, allowed=[1])
    decided = decide(now)
    assert len(decided) == 2
    assert not any(each.beyond for each in decided)
    victims = sorted(victim for each in decided for victim in each.evicts)
    assert victims == [0, 1], "both of one machine, of which only one is under the budget"


# --- units that may leave for a group --------------------------------------------------------------------------------


def listed(now: PreemptionState, gain: Sequence[float], *, lenient: bool = True) -> list[list[int]]:
    units = list_units(now, 0, np.array(gain), lenient=lenient)
    return [units.members(np.array([unit])).tolist() for unit in range(len(units))]


def test_units_are_kept_in_order_of_tasks():
    units = Units(np.array([4, 5, 6, 7, 8]), np.array([0, 2, 3, 5]))
    assert len(units) == 3
    assert units.members(np.array([2, 0])).tolist() == [7, 8, 4, 5]
    chosen = units.select(np.array([2, 1]))
    assert chosen.tasks.tolist() == [7, 8, 6]
    assert chosen.first.tolist() == [0, 2, 3]


def test_units_are_spared_by_priority_then_by_how_little_they_help_then_by_age():
    running = [
        Victim(0, (1,), 1, 9.0),
        Victim(0, (1,), 3, 9.0),
        Victim(1, (1,), 1, 9.0),
        Victim(1, (1,), 1, 5.0),
        Victim(1, (1,), 99),
    ]
    now = state([Waiting((1,))], [[0], [0]], running)
    assert listed(now, [1.0, 0.5]) == [[1], [3], [2], [0]]
    assert listed(now, [0.5, 1.0]) == [[1], [0], [3], [2]]


def test_gangs_are_units_if_all_of_them_may_leave():
    running = [
        Victim(0, (1,), 1, gang=0),
        Victim(0, (1,), 1, gang=1),
        Victim(0, (1,), 1, gang=2),
        Victim(0, (1,), 2),
        Victim(1, (1,), 4, gang=0),
        Victim(1, (1,), 50, gang=1),
    ]
    gangs = [Gang(0), Gang(0), Gang(0, together=False)]
    now = state([Waiting((1,))], [[0], [0]], running, gangs=gangs)
    assert listed(now, [1.0, 1.0]) == [[0, 4], [3]]


@pytest.mark.parametrize(("lenient", "expected"), [(True, [[3], [2], [1], [0]]), (False, [[2], [1], [0]])])
def test_protected_units_are_spared_first_or_take_no_part(lenient: bool, expected: list[list[int]]):
    running = [
        Victim(0, (1,), 0, budgets=(0,)),
        Victim(0, (1,), 0, started=-5.0),
        Victim(0, (1,), 1, budgets=(0,)),
        Victim(0, (1,), 2, budgets=(0, 1)),
    ]
    now = state([Waiting((1,))], [[0]], running, allowed=[2, 9])
    assert listed(now, [1.0], lenient=lenient) == expected


def test_nobody_may_leave():
    now = state([Waiting((1,), priority=0)], [[0]], [Victim(0, (1,))])
    assert listed(now, [1.0]) == []


def test_slots_of_machines_after_victims_have_left():
    running = [Victim(0, (3, 1)), Victim(1, (2, 0)), Victim(2, (9, 9))]
    now = state([Waiting((2, 0)), Waiting((2, 0))], [[1, 0], [4, -1], [0, 0]], running)
    slots = LeafSlots(now, np.array([0, 1]), np.array([1, 0]))
    assert slots.count_after(np.array([], dtype=np.int64)).tolist() == [[2, 0], [2, 0]]
    assert slots.count_after(np.array([0, 1, 2])).tolist() == [[3, 2], [3, 2]]
    free = LeafSlots(state([Waiting((0, 0))], [[1, 1]]), np.array([0]), np.array([0]))
    assert free.count_after(np.array([], dtype=np.int64)).tolist() == [[MANY]]


def test_decisions_of_tasks_without_gangs_are_left_as_they_are():
    now = state([Waiting((1,))], [[0]])
    decided = (PreemptionDecision(0, 0, (1,), (1, 2)),)
    assert waiting_together(now.problem, decided) == decided
