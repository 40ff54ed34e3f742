"""Cures found in a copy of a running scheduler: by the solver that is given, beside the tasks that are placed."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

import pytest

from firmament.core.changes import CureKind
from firmament.core.configuration import CoreConfiguration
from firmament.core.cures.running import find_cures_in_copy
from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import FlowProblem, SolverError
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import Clock, machine, task_class


class Unusable:
    """A solver that a copy must not use: the running scheduler needs it."""

    name = "unusable"

    def solve(self, problem: FlowProblem, time_limit: float | None = None) -> NoReturn:
        raise SolverError("the copy has used the solver of the running scheduler")


def core(*events: Event) -> Scheduler:
    """Two full machines with a task each; w waits for 2 cores."""
    made = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=Clock())
    made.apply(
        [
            machine("m", cpu=3000),
            machine("n", cpu=2000),
            ClassDefined(1, task_class(1000)),
            ClassDefined(2, task_class(2000)),
            ClassDefined(3, task_class(2500)),
            TasksBound("m", 2, ("a",), priority=9),
            TasksBound("n", 1, ("b",), priority=9),
            *events,
        ]
    )
    return made


def kinds(made: Scheduler, uid: str, fixed: Collection[str] = (), *, most: int = 20) -> set[CureKind]:
    known = made.list_events()
    made.become_trial(Unusable())
    found = find_cures_in_copy(made, known, OrToolsSolver(), uid, fixed, tries=50, most=most)
    return {change.kind for cure in found for change in cure.steps}


WAITS = TasksSubmitted(2, ("w",))


def test_cures_are_found_by_the_solver_that_is_given():
    found = kinds(core(WAITS), "w")
    assert CureKind.LOWER_REQUEST in found
    assert CureKind.MOVES in found, "b may go to m"


def test_tasks_that_may_not_move_stay():
    assert CureKind.MOVES not in kinds(core(WAITS), "w", ("a", "b"))


@pytest.mark.parametrize("uid", ["a", "nobody"])
def test_who_does_not_wait_needs_no_cure(uid: str):
    assert kinds(core(WAITS), uid) == set()


def test_others_that_wait_do_not_take_the_room():
    """Without v, which asks for 1 core, w still lacks a place; with it as a guest nobody could move."""
    assert CureKind.MOVES in kinds(core(WAITS, TasksSubmitted(1, ("v",), priority=50)), "w")


def test_tasks_whose_binding_is_in_progress_count_as_there():
    made = core(TasksSubmitted(1, ("soon",)))
    made.run_round()
    assert made.list_assumed() == {"soon"}
    made.apply([TasksSubmitted(3, ("w",))])
    assert CureKind.LOWER_REQUEST in kinds(made, "w")
