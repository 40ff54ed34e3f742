"""The stages of preemption: whom tasks need not evict, whom they evict first, and when the search ends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from firmament.core.flow.problem import WAIT_BUCKETS
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionTuning
from firmament.core.preemption.stages import Stages
from firmament.solvers.base import FlowProblem, FlowSolution, SolverTimeoutError
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, state


@dataclass
class CountingSolver:
    """Solves as the usual solver does, and counts; stops at its time limit from the solve ``late`` on."""

    late: int = 10**9
    solves: int = 0
    limits: set[float | None] = field(default_factory=set)

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        self.solves += 1
        self.limits.add(time_limit)
        if self.solves >= self.late:
            raise SolverTimeoutError
        return OrToolsSolver().solve(problem, time_limit=time_limit)


def run(
    now: PreemptionState,
    *classes: int,
    solver: CountingSolver | None = None,
    blocked: tuple[int, ...] | None = None,
    gradually: bool = False,
) -> tuple[list[tuple[int, int]], list[int]]:
    """The places that all classes (or those named) get, in order, and the tasks that leave for them."""
    barred = None
    if blocked is not None:
        barred = np.isin(np.arange(now.preemption.victims), blocked)
    order = np.array(classes or range(now.problem.classes), dtype=np.int64)
    Stages(now, solver or CountingSolver(), None).run(now, order, barred, gradually=gradually)
    return now.taken, np.flatnonzero(now.gone).tolist()


def many(priorities: list[int], **more: object) -> PreemptionState:
    """As many machines as waiting tasks, full of one task each, of these priorities."""
    running = [Victim(machine, (1,), priority) for machine, priority in enumerate(priorities)]
    return state([Waiting((1,), count=len(running))], [[0]] * len(running), running, **more)  # type: ignore[arg-type]  # by name


def test_room_that_is_there_is_filled_before_anybody_leaves():
    solver = CountingSolver()
    now = state([Waiting((2,), count=2)], [[5], [0]], [Victim(1, (2,))])
    assert run(now, solver=solver) == ([(0, 0), (0, 0)], [])
    assert solver.solves == 0
    assert now.remaining.tolist() == [0]


def test_no_more_tasks_get_places_than_wait():
    now = state([Waiting((2,), count=2)], [[9], [9]], [Victim(1, (2,))])
    assert run(now) == ([(0, 0), (0, 0)], [])


def test_the_rest_evict():
    now = state([Waiting((2,), count=3)], [[5], [0]], [Victim(1, (2,))])
    assert run(now) == ([(0, 0), (0, 0), (0, 1)], [0])


def test_room_of_tasks_that_leave_anyway_is_filled():
    now = state([Waiting((2,))], [[0], [0]], [Victim(0, (2,)), Victim(1, (2,), leaving=True)])
    assert run(now) == ([(0, 1)], [1])


def test_only_the_classes_asked_for_get_places():
    now = state([Waiting((1,)), Waiting((1,))], [[0], [0]], [Victim(0, (1,)), Victim(1, (1,), 1)])
    assert run(now, 1) == ([(1, 0)], [0])
    assert now.remaining.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("blocked", "expected"),
    [(None, ([(0, 0)], [0])), ((), ([(0, 0)], [0])), ((0,), ([(0, 1)], [1])), ((0, 1), ([], []))],
)
def test_blocked_tasks_stay(blocked: tuple[int, ...] | None, expected: object):
    now = state([Waiting((1,))], [[0], [0]], [Victim(0, (1,), 1), Victim(1, (1,), 2)])
    assert run(now, blocked=blocked) == expected


def test_budgets_are_exceeded_only_when_nothing_else_is_left():
    running = [Victim(0, (1,), 0, budgets=(0,)), Victim(1, (1,), 5)]

    def waiting(count: int) -> PreemptionState:
        return state([Waiting((1,), count=count)], [[0], [0]], running, allowed=[0])

    assert run(waiting(1)) == ([(0, 1)], [1])
    assert run(waiting(2)) == ([(0, 1), (0, 0)], [0, 1])


def test_what_an_eviction_takes_from_a_budget_counts_for_the_next_in_the_same_pass():
    running = [Victim(0, (1,), 0, budgets=(0,)), Victim(1, (1,), 0, budgets=(0,)), Victim(2, (1,), 5)]
    now = state([Waiting((1,)), Waiting((1,))], [[0], [0], [0]], running, allowed=[1])
    places, gone = run(now)
    assert sorted(machine for _, machine in places) == [0, 2]
    assert gone == [0, 2]


def test_a_gang_that_has_lost_what_it_can_spare_is_left_alone():
    running = [Victim(0, (1,), 0, gang=0), Victim(1, (1,), 0, gang=0), Victim(2, (1,), 5)]
    now = state([Waiting((1,), count=2)], [[0], [0], [0]], running, gangs=[Gang(1, together=False)])
    places, gone = run(now)
    assert sorted(machine for _, machine in places) == [0, 2]
    assert gone == [0, 2]


def count_passes(priorities: list[int], *, gradually: bool = False, few: tuple[int, int] = (32, 128)) -> int:
    """How many passes it takes until all tasks have places."""
    for most in range(2 * len(priorities)):
        tuning = PreemptionTuning(most_passes=most, few_tasks=few[0], few_machines=few[1])
        if len(run(many(priorities, tuning=tuning), gradually=gradually)[0]) == len(priorities):
            return most
    pytest.fail("not all tasks have got a place")


def test_the_places_of_less_important_tasks_are_taken_first():
    assert run(many([3, 0, 3, 0])) == ([(0, 1), (0, 3), (0, 0), (0, 2)], [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("priorities", "passes"), [([0], 1), ([0, 0, 0], 1), ([0, 3, 0, 3], 2), ([1, 2, 3], 3)]
)
def test_a_pass_evicts_tasks_of_one_importance(priorities: list[int], passes: int):
    assert count_passes(priorities) == passes


@pytest.mark.parametrize(("tasks", "passes"), [(1, 1), (2, 2), (4, 4), (5, 4), (8, 6), (9, 6)])
def test_closely_evicts_a_quarter_at_a_time(tasks: int, passes: int):
    assert count_passes([0] * tasks, gradually=True) == passes


@pytest.mark.parametrize(("few", "passes"), [((5, 5), 4), ((4, 5), 1), ((5, 4), 1)])
def test_closely_is_for_few_tasks_and_few_machines(few: tuple[int, int], passes: int):
    assert count_passes([0] * 5, gradually=True, few=few) == passes


@pytest.mark.parametrize(("most", "expected"), [(0, []), (1, [0]), (2, [0, 1]), (9, [0, 1, 2])])
def test_passes_are_limited(most: int, expected: list[int]):
    now = many([0, 1, 2], tuning=PreemptionTuning(most_passes=most))
    assert [machine for _, machine in run(now)[0]] == expected


def test_passes_count_over_all_calls():
    now = state(
        [Waiting((1,)), Waiting((1,))],
        [[0], [0]],
        [Victim(0, (1,)), Victim(1, (1,))],
        tuning=PreemptionTuning(most_passes=1),
    )
    stages = Stages(now, OrToolsSolver(), None)
    stages.run(now, np.array([0]))
    stages.run(now, np.array([1]))
    assert [cls for cls, _ in now.taken] == [0]


def two_classes() -> PreemptionState:
    """Two classes that both want the place of the least important task, so that a network chooses."""
    running = [Victim(machine, (2,), priority) for machine, priority in enumerate((0, 1, 2))]
    return state([Waiting((2,), count=2), Waiting((1,))], [[0], [0], [0]], running)


def test_what_was_found_before_the_time_limit_stays():
    now, solver = two_classes(), CountingSolver()
    assert run(now, solver=solver)[1] == [0, 1, 2]
    assert solver.solves == 2
    now = two_classes()
    places, gone = run(now, solver=CountingSolver(late=2))
    assert len(places) == len(gone) > 0
    assert len(gone) < 3
    assert run(two_classes(), solver=CountingSolver(late=1)) == ([], [])


def test_the_time_limit_is_handed_on():
    solver, now = CountingSolver(), two_classes()
    Stages(now, solver, 2.5).run(now, np.array([0, 1]))
    assert solver.limits == {2.5}


@pytest.mark.parametrize("chunk", [1, 2, 3, 4096])
def test_machines_may_be_looked_at_in_parts(chunk: int):
    assert run(many([4, 0, 3, 1, 2], tuning=PreemptionTuning(chunk=chunk)))[0] == [
        (0, machine) for machine in (1, 3, 4, 2, 0)
    ]


def test_victims_that_are_no_longer_needed_stay():
    # The second task frees more than it needs, so that the first may join it.
    running = [Victim(0, (1,)), Victim(1, (4,))]
    places, gone = run(state([Waiting((1,)), Waiting((3,))], [[0], [0]], running))
    assert sorted(places) == [(0, 1), (1, 1)]
    assert gone == [1]


def test_places_of_earlier_calls_stay_where_they_are():
    running = [Victim(0, (1,)), Victim(1, (4,))]
    now = state([Waiting((1,)), Waiting((3,))], [[0], [0]], running)
    assert run(now, 0) == ([(0, 0)], [0])
    assert run(now, 1) == ([(0, 0), (1, 1)], [0, 1])


def test_tasks_that_find_a_place_within_budgets_do_not_make_way_for_more_beyond_them():
    # The large task and the small one could both come, if the small one went where a budget says no.
    running = [Victim(0, (1,)), Victim(0, (1,)), Victim(1, (1,), budgets=(0,))]
    now = state([Waiting((2,)), Waiting((1,))], [[0], [0]], running, allowed=[0])
    places, gone = run(now)
    assert places == [(1, 0)]
    assert len(gone) == 1
    assert gone != [2]


def test_the_class_that_has_waited_longest_is_served_first():
    buckets = [0] * WAIT_BUCKETS
    old, new = [1, *buckets[1:]], [*buckets[1:], 1]
    for first, second, winner in ((old, new, 0), (new, old, 1), (new, new, 0)):
        now = state([Waiting((1,), count=first), Waiting((1,), count=second)], [[1]])  # type: ignore[arg-type]  # by wait
        assert run(now) == ([(winner, 0)], [])


def test_machines_that_filters_close_are_no_places():
    now = state([Waiting((1,))], [[0], [0]], [Victim(0, (1,)), Victim(1, (1,), 9)], feasible=[[False, True]])
    assert run(now) == ([(0, 1)], [1])
    now = state([Waiting((1,))], [[0], [0]], [Victim(0, (1,)), Victim(1, (1,), 9)], pins={0: [1]})
    assert run(now) == ([(0, 1)], [1])


@pytest.mark.parametrize("priority", [9, 10, 11])
def test_only_less_important_tasks_leave(priority: int):
    now = state([Waiting((1,), 10)], [[0]], [Victim(0, (1,), priority)])
    assert run(now) == (([(0, 0)], [0]) if priority < 10 else ([], []))
