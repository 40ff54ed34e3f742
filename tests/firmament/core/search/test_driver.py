"""The driver keeps what a move accepts, takes back the rest, and ends with the budget or with patience."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.constraints.ruleset import RuleSet
from firmament.core.flow.problem import PlacementProblem
from firmament.core.results import RoundResult
from firmament.core.search.driver import (
    SearchBudget,
    SearchFigures,
    SearchLog,
    Unsupported,
    count_unsupported,
    search,
)
from firmament.core.search.moves.exchange import exchange_sizes
from firmament.core.search.relocation import relocate_tasks
from firmament.server.metrics import Metrics
from tests.firmament.core.placement.rules import apart, proposed, ruled
from tests.firmament.core.search.test_levelling import UNEVEN, Books
from tests.firmament.core.search.test_levelling import given as levelling
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.rules import counter, ints
from tests.support.tuning import PLACING


class Climb:
    """A move on numbers: each step is added to ``height``, and kept if it goes up."""

    name = "climb"

    def __init__(self, steps: list[int], cost: int = 1) -> None:
        self.height, self._steps, self._cost = 0, iter(steps), cost

    def evaluate(self, budget: SearchBudget) -> int | None:
        budget.spend(self._cost)
        step = next(self._steps, None)
        self.height += step or 0
        return step

    def accepts(self, change: int) -> bool:
        return change > 0

    def apply(self, change: int) -> None:
        pass

    def undo(self, change: int) -> None:
        self.height -= change


STEPS = st.lists(st.integers(-3, 3), max_size=12)


@settings(max_examples=examples(100))
@given(STEPS, st.integers(0, 14), st.integers(-1, 3))
def test_what_is_kept_is_what_was_accepted_until_the_end(steps: list[int], left: int, patience: int):
    move = Climb(steps)
    figures = search(move, SearchBudget(left), patience=patience)
    tried: list[int] = []
    for step in steps[:left]:
        idle = tried[-patience:] if patience > 0 else []
        if patience == 0 or (len(idle) == patience > 0 and max(idle) <= 0):
            break
        tried.append(step)
    assert figures == SearchFigures("climb", len(tried), sum(step > 0 for step in tried))
    assert move.height == sum(step for step in tried if step > 0)


def test_nothing_is_begun_that_the_budget_does_not_cover():
    budget = SearchBudget(7)
    assert search(Climb([1] * 9, cost=3), budget, needs=3).tried == 2
    assert budget.left == 1


def test_a_task_counts_for_the_first_reason_that_keeps_it():
    reasons = {Unsupported.RULES: np.array([True, False]), Unsupported.PINS: np.array([True, True])}
    assert count_unsupported(reasons, ints(0, 1, 0), ints(2, 5, 1)) == {
        Unsupported.RULES: 3,
        Unsupported.PINS: 5,
    }


# --- what searches cannot do is said ---------------------------------------------------------------------------------


def unsupported(log: SearchLog) -> dict[tuple[str, str], int]:
    return {(each.move, reason): tasks for each in log for reason, tasks in each.unsupported.items()}


def relocated(made: PlacementProblem, *placed: tuple[int, int]) -> dict[tuple[str, str], int]:
    log: SearchLog = []
    relocate_tasks(made, proposed(*placed), 0, PLACING.relocation, log)
    return unsupported(log)


def test_tasks_left_over_whom_nobody_looks_for_a_place_are_counted():
    given_problem = problem(tasks=[1, 3], requests=[[4], [6]], free=[[6], [5]])
    assert relocated(replace(given_problem, ledgers=(Books(5),)), (0, 0)) == {("eject", "ledgers"): 3}
    many = ruled([], {}, tasks=[PLACING.relocation.most_tasks, 1], requests=[[0], [6]], free=[[6], [5]])
    assert relocated(many, (0, 0)) == {("eject", "size"): PLACING.relocation.most_tasks}
    assert relocated(given_problem, (0, 0)) == {}


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (levelling(), {}),
        (levelling(pins={0: ints(0)}), {("exchange", "pins"): 1}),
        (replace(levelling(), rules=RuleSet([counter([0, 1])], {0: apart(0)})), {("exchange", "rules"): 1}),
        (replace(levelling(), ledgers=(Books(5),)), {("exchange", "ledgers"): 1}),
        (replace(levelling(), most={1: 1}), {("exchange", "limits"): 1}),
    ],
)
def test_tasks_that_may_not_change_places_are_counted(
    case: PlacementProblem, found: dict[tuple[str, str], int]
):
    log: SearchLog = []
    exchange_sizes(case, UNEVEN, PLACING.exchange, log)
    assert unsupported(log) == found


def test_the_metrics_say_what_searches_did():
    metrics = Metrics()
    figures = SearchFigures("exchange", 5, 2), SearchFigures("exchange", unsupported={Unsupported.PINS: 3})
    metrics.round_done(RoundResult(1, searches=figures), 0.1)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"firmament_search_{name}_total", labels)

    assert value("changes", move="exchange", outcome="kept") == 2
    assert value("changes", move="exchange", outcome="dropped") == 3
    assert value("unsupported_tasks", move="exchange", reason="pins") == 3
