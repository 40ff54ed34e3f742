"""The tasks of a round while a search places and removes them, and the moves that do so."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from firmament.core.constraints.ruleset import ClassRules, Exclusion, RuleSet
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.reasons import Reason
from firmament.core.search.arrangement import Step, TaskArrangement
from firmament.core.search.driver import SearchBudget, SearchLog, Unsupported
from firmament.core.search.moves.eject import EjectTasks
from firmament.core.search.moves.rebuild import RebuildAll
from firmament.core.search.relocation import (
    _checks_of_a_move,
    cannot_be_bettered,
    most_placed,
    relocate_tasks,
)
from firmament.core.search.tuning import RelocationTuning
from tests.firmament.core.placement.rules import proposed
from tests.support.core import problem
from tests.support.rules import counter, ints


def made(**more: object) -> PlacementProblem:
    """Three classes of sizes 4, 6 and 9 on machines with 6, 5 and 0 free; the second is more important."""
    given: dict[str, object] = {
        "tasks": [2, 1, 1],
        "requests": [[4], [6], [9]],
        "free": [[6], [5], [0]],
        "priority": [0, 1, 0],
        **more,
    }
    return problem(**given)  # type: ignore[arg-type]  # fields by name


def arranged(placed: Assignments | None = None, seed: int = 0, **tuning: float) -> TaskArrangement:
    return TaskArrangement(made(), placed or proposed((0, 0)), seed, RelocationTuning(**tuning))  # type: ignore[arg-type]


def test_places_are_those_on_an_empty_cluster():
    now = arranged()
    assert [now.list_places(cls).tolist() for cls in range(3)] == [[0, 1], [0], []]
    assert now.list_hopeful() == [0, 1]
    now.put(0, 1, [])
    assert now.list_hopeful() == [1]


def test_waiting_tasks_are_valued_by_priority():
    now = arranged()
    assert now.waiting == Counter({0: 1, 1: 1, 2: 1})
    assert now.value == now.compute_value() == (-1, -2)
    assert not now.is_best((-1, -2))
    assert now.is_best((-1, -1))
    assert now.is_best((0, -9))
    assert not now.is_best((-2, 0))


def test_steps_are_undone_in_reverse():
    now = arranged()
    step: Step = []
    now.withdraw(0, 0, step)
    now.put(1, 0, step)
    now.put(0, 1, step)
    assert step == [(0, 0, False), (1, 0, True), (0, 1, True)]
    assert now.on == [[1], [0], []]
    assert now.compute_value() == (0, -2)
    now.undo(step)
    assert now.on == [[0], [], []]
    assert now.waiting == Counter({0: 1, 1: 1, 2: 1})
    assert now.board.residual.free.T.tolist() == [[2], [5], [0]]


def test_what_came_and_went_in_one_step_is_undone_too():
    now = arranged()
    step: Step = []
    now.put(0, 1, step)
    now.withdraw(0, 1, step)
    now.undo(step)
    assert now.on == [[0], [], []]
    assert now.waiting == Counter({0: 1, 1: 1, 2: 1})
    assert now.board.residual.free.T.tolist() == [[2], [5], [0]]


def test_all_tasks_are_removed_at_once():
    now = arranged()
    now.clear()
    assert now.on == [[], [], []]
    assert now.waiting == Counter({0: 2, 1: 1, 2: 1})
    assert now.board.residual.free.T.tolist() == [[6], [5], [0]]


@pytest.mark.parametrize(("share", "machines"), [(1.0, {1}), (0.0, {0, 1, 2})])
def test_tasks_go_where_they_cost_least_or_anywhere(share: float, machines: set[int]):
    given = problem(tasks=[1], requests=[[1]], free=[[1]] * 3, cost=[[5, 3, 4]])
    found = set()
    for seed in range(30):
        now = TaskArrangement(given, Assignments.empty(), seed, RelocationTuning(cheapest=share))
        budget, step = SearchBudget(3), Step()
        assert now.settle(0, step, budget)
        assert budget.left == 2
        found.add(step[0][1])
    assert found == machines


def test_crowding_counts_for_what_a_place_costs():
    given = problem(tasks=[3], requests=[[1]], free=[[3]] * 2, cost=[[0, 5]], crowd=[3, 0])
    now = TaskArrangement(given, Assignments.empty(), 0, RelocationTuning(cheapest=1.0))
    for _ in range(3):
        now.settle(0, [], SearchBudget(1))
    assert now.on == [[0, 0], [0]]


def test_no_place_is_no_place():
    now = arranged()
    budget = SearchBudget(2)
    assert not now.settle(2, [], budget)
    assert budget.left == 1
    assert now.on == [[0], [], []]


def test_the_present_placement_is_kept_if_it_can_be_made():
    now = arranged()
    now.put(0, 1, [])
    assert now.keep_now((-1, -1))
    assert sorted(zip(now.best.cls.tolist(), now.best.machine.tolist(), strict=True)) == [(0, 0), (0, 1)]
    assert not now.is_best((-1, -1))


# --- moves -----------------------------------------------------------------------------------------------------------


def test_a_task_is_placed_and_those_in_its_way_elsewhere():
    for seed in range(10):
        now = arranged(seed=seed)
        now.waiting[0] = 0
        move = EjectTasks(now)
        budget = SearchBudget(100)
        change = move.evaluate(budget)
        assert change is not None
        assert now.on[0] == [1]
        assert change[1] == (0, -1)
        assert move.accepts(change)
        move.apply(change)
        assert now.value == (0, -1)
        assert sorted(zip(now.best.cls.tolist(), now.best.machine.tolist(), strict=True)) == [(0, 1), (1, 0)]
        assert budget.left < 100
        move.undo(change)
        assert now.on == [[0], [], []]


def test_a_move_that_makes_things_worse_or_does_nothing_is_not_accepted():
    move = EjectTasks(arranged())
    assert not move.accepts(([], None))
    assert not move.accepts(([], (-1, -3)))
    assert not move.accepts(([], (-2, 0)))
    assert move.accepts(([], (-1, -2)))


def test_nothing_is_tried_if_no_waiting_task_could_have_a_place():
    now = arranged()
    now.waiting = Counter({2: 1})
    assert EjectTasks(now).evaluate(SearchBudget(9)) is None
    assert RebuildAll(now).evaluate(SearchBudget(9)) is None


@pytest.mark.parametrize("most", [0, 1])
def test_a_machine_is_not_tried_if_too_many_tasks_are_in_the_way(most: int):
    now = arranged(most_in_the_way=most)
    now.waiting = Counter({1: 1})
    change = EjectTasks(now).evaluate(SearchBudget(9))
    assert change is not None
    assert (change[1] is None) is (most == 0)


def test_all_tasks_are_placed_anew_the_important_ones_first():
    for seed in range(10):
        now = arranged(seed=seed)
        move = RebuildAll(now)
        change = move.evaluate(SearchBudget(100))
        assert change is not None
        assert now.on == [[1], [0], []]
        assert change.value == (0, -2)
        assert sorted(change.left) == [0, 2]
        assert move.accepts(change)
        move.apply(change)
        assert now.value == (0, -2)
        assert [(cls, row) for cls, row, _ in now.best.entries()] == [(1, 0), (0, 1)]
        move.undo(change)
        assert now.on == [[0], [], []]
        assert now.waiting == Counter({0: 1, 1: 1, 2: 1})


def test_a_rebuilding_that_is_worse_is_not_accepted():
    now = arranged()
    move = RebuildAll(now)
    change = move.evaluate(SearchBudget(100))
    assert change is not None
    assert not move.accepts(replace(change, value=(-1, -3)))
    assert move.accepts(replace(change, value=(-1, -2)))


# --- when to search --------------------------------------------------------------------------------------------------


def test_the_bound_counts_tasks_of_the_smallest_request_where_any_of_them_fits():
    given = problem(
        tasks=[9, 9],
        requests=[[2], [5]],
        free=[[9], [4], [1], [9]],
        feasible=[[True, True, True, False], [True, False, False, False]],
    )
    assert most_placed(Residual(given), ints(0, 1)) == 4 + 2
    assert most_placed(Residual(given), ints(1)) == 1


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        ([(1, 0), (0, 1)], True),  # one on each machine
        ([(0, 0), (0, 1)], False),  # the more important one could have a place
        ([(1, 0)], False),
        ([(0, 0)], False),
    ],
)
def test_searching_is_useless_where_each_priority_is_at_its_bound(
    placed: list[tuple[int, int]], expected: bool
):
    given = made(tasks=[2, 1, 0])
    assert cannot_be_bettered(given, proposed(*placed)) is expected
    log = SearchLog()
    found = relocate_tasks(given, proposed(*placed), 0, RelocationTuning(), log)
    assert bool(log) is not expected
    assert found.count.sum() == 2


def test_classes_with_many_rules_take_more_checks():
    given = made()
    exclusions = tuple(Exclusion(0, Reason.TOO_NEAR) for _ in range(40))
    ruled = replace(given, rules=RuleSet([counter([0, 1, 2])], {1: ClassRules(exclusions=exclusions)}))
    assert _checks_of_a_move(given, Assignments.empty()) == 1
    checks = ruled.rules.rules(1).checks
    assert checks >= 40
    assert _checks_of_a_move(ruled, Assignments.empty()) == 1 + checks // (16 * 3)
    assert _checks_of_a_move(ruled, proposed((0, 0), (0, 1), (2, 0))) == 1 + checks // 16
    assert _checks_of_a_move(ruled, proposed((1, 0))) == 1


def test_too_many_tasks_are_not_searched():
    log = SearchLog()
    placed = proposed((0, 0))
    tuning = RelocationTuning(most_tasks=3)
    assert relocate_tasks(made(), placed, 0, tuning, log) is placed
    assert log[0].unsupported == {Unsupported.SIZE: 3}
    log.clear()
    relocate_tasks(made(), placed, 0, RelocationTuning(most_tasks=4), log)
    assert [each.move for each in log] == ["rebuild", "eject"]


def test_pinned_tasks_have_places_on_their_machines_only():
    pinned = made(pins={0: [1]})
    now = TaskArrangement(pinned, proposed(), 0, RelocationTuning())
    assert [now.list_places(cls).tolist() for cls in range(3)] == [[1], [0], []]


def test_all_tasks_of_an_entry_are_there_at_the_beginning():
    placed = Assignments(ints(0), ints(0), ints(2))
    now = TaskArrangement(made(free=[[8], [5], [0]]), placed, 0, RelocationTuning())
    assert (now.on[0], now.waiting[0]) == ([0, 0], 0)
    assert not now.board.fits(0, 0), "both take room"
